// Notices that nobody reads a pipe any more, also while there is nothing to write. A write would say so, but a program
// that waits for a model or a tool may not write for minutes.

import { fstatSync } from "node:fs";

/** How often the descriptor is looked at. Nothing is loaded before the first look. */
const INTERVAL_MS = 500;
const POLLERR = 8;
const POLLHUP = 16;
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1", "libSystem.B.dylib"];

/** Calls `onGone` once when the other end of a pipe or socket is closed. Returns the function that stops watching. Does
 *  nothing for files and terminals, and where libc cannot be reached. */
export function watchReader(fd: number, onGone: () => void): () => void {
  if (!isPipe(fd)) return () => {};
  let hasReader: ((fd: number) => boolean) | null = null;
  const timer = setInterval(async () => {
    hasReader ??= await loadHasReader();
    if (hasReader(fd)) return;
    clearInterval(timer);
    onGone();
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function isPipe(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false; // Closed: writing will say so.
  }
}

async function loadHasReader(): Promise<(fd: number) => boolean> {
  const { dlopen, ptr } = await import("bun:ffi");
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, { poll: { args: ["ptr", "u64", "i32"], returns: "i32" } });
      // struct pollfd { int fd; short events; short revents; } — errors are reported without being asked for.
      const entry = new Int16Array(4);
      return (fd) => {
        new Int32Array(entry.buffer, 0, 1)[0] = fd;
        entry[3] = 0;
        return symbols.poll(ptr(entry), 1, 0) <= 0 || (entry[3] & (POLLERR | POLLHUP)) === 0;
      };
    } catch {
      /* the other C library */
    }
  }
  return () => true;
}
