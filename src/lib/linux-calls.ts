// System calls by number, for what no library offers. Linux only.

import { dlopen, type Pointer, ptr, read } from "bun:ffi";

const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

export interface Libc {
  /** -1 when it failed. Buffers are passed by address and must stay referenced until it returns. */
  call(number: number, ...args: (number | NodeJS.TypedArray)[]): number;
  errno(): number;
  execvp(path: NodeJS.TypedArray, argv: NodeJS.TypedArray): void;
  restoreSignal(signal: number): void;
}

/** Throws when there is none that can be reached. */
export function openLibc(): Libc {
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, {
        syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64"], returns: "i32" },
        __errno_location: { args: [], returns: "ptr" },
        execvp: { args: ["ptr", "ptr"], returns: "i32" },
        signal: { args: ["i32", "ptr"], returns: "ptr" },
      });
      const address = (value: number | NodeJS.TypedArray): number => (typeof value === "number" ? value : ptr(value));
      return {
        call: (number, a = 0, b = 0, c = 0, d = 0, e = 0) =>
          symbols.syscall(number, address(a), address(b), address(c), address(d), address(e)),
        errno: () => read.i32(symbols.__errno_location() as Pointer),
        execvp: (path, list) => symbols.execvp(ptr(path), ptr(list)),
        restoreSignal: (signal) => symbols.signal(signal, null),
      };
    } catch {
      /* the other C library */
    }
  }
  throw new Error("the C library cannot be reached");
}

export function cString(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}
