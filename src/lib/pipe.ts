// A real pipe. Bun gives children socket pairs, on which `> /dev/stderr` fails and which cannot be shared by stdout and
// stderr; a pipe can, so that their text arrives in the order it was written.

import { dlopen, ptr } from "bun:ffi";

export interface Pipe {
  readFd: number;
  /** Not inherited by children unless passed to them. */
  writeFd: number;
}

const O_CLOEXEC = 0o2000000;
const LINUX_LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

let makePipe: ((fds: Int32Array) => number) | null | undefined;

/** Null where libc cannot be reached (Windows); callers then use what Bun gives. */
export function openPipe(): Pipe | null {
  makePipe ??= loadPipe();
  if (makePipe === null) return null;
  const fds = new Int32Array(2);
  if (makePipe(fds) !== 0) return null;
  const [readFd, writeFd] = fds;
  return { readFd: readFd!, writeFd: writeFd! };
}

function loadPipe(): ((fds: Int32Array) => number) | null {
  if (process.platform === "linux") {
    for (const library of LINUX_LIBRARIES) {
      try {
        const { symbols } = dlopen(library, { pipe2: { args: ["ptr", "i32"], returns: "i32" } });
        return (fds) => symbols.pipe2(ptr(fds), O_CLOEXEC);
      } catch {
        /* the other C library */
      }
    }
  }
  if (process.platform === "darwin") {
    try {
      // Bun spawns with POSIX_SPAWN_CLOEXEC_DEFAULT there, so nothing is inherited by accident.
      const { symbols } = dlopen("libSystem.B.dylib", { pipe: { args: ["ptr"], returns: "i32" } });
      return (fds) => symbols.pipe(ptr(fds));
    } catch {
      /* no libc, no pipe */
    }
  }
  return null;
}
