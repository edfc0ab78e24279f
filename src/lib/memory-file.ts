// Bytes a child process reads from a descriptor: nothing on disk, nothing in argv, no limit like a pipe has. Linux only.

import { dlopen, ptr } from "bun:ffi";
import { writeSync } from "node:fs";

const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const MFD_CLOEXEC = 1;
const NAME = new TextEncoder().encode("letta\0");

let create: (() => number) | undefined;

/** An open descriptor, read from its start; the caller closes it. Not inherited unless passed on. Throws. */
export function openMemoryFile(bytes: Uint8Array): number {
  create ??= load();
  const fd = create();
  if (fd < 0) throw new Error("no memory file could be made");
  // With a position, so that reading starts at the beginning.
  for (let written = 0; written < bytes.length; )
    written += writeSync(fd, bytes, written, bytes.length - written, written);
  return fd;
}

function load(): () => number {
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, { memfd_create: { args: ["ptr", "u32"], returns: "i32" } });
      return () => symbols.memfd_create(ptr(NAME), MFD_CLOEXEC);
    } catch {
      /* the other C library */
    }
  }
  throw new Error("the C library cannot be reached");
}
