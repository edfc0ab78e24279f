// Swaps two names as fast as the kernel can (renameat2 with RENAME_EXCHANGE), in a process of its own, until its input
// ends: what a hostile background command does to a directory that a tool is about to use. Linux only.
//   bun test/support/exchanger.ts A B

import { dlopen, ptr } from "bun:ffi";
import { resolve } from "node:path";

const SYSCALL = process.arch === "arm64" ? 276 : 316;
const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;
const MAX_MS = 20_000;

export interface Exchanger extends AsyncDisposable {
  /** Ends after an even number of swaps: everything is under its first name again. */
  stop(): Promise<void>;
}

/** Resolves when it is swapping. */
export async function startExchanger(a: string, b: string): Promise<Exchanger> {
  const child = Bun.spawn([process.execPath, import.meta.path, a, b], {
    env: { PATH: process.env.PATH ?? "" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const stop = async (): Promise<void> => {
    child.stdin.end();
    if ((await child.exited) !== 0) throw new Error("the exchanger failed");
  };
  const { done } = await child.stdout.getReader().read();
  if (done) throw new Error("the exchanger could not start");
  return { stop, [Symbol.asyncDispose]: stop };
}

function exchangeUntilTold(a: string, b: string): void {
  const exchange = loadExchange();
  const [from, to] = [a, b].map((path) => new TextEncoder().encode(`${resolve(path)}\0`)) as [Uint8Array, Uint8Array];
  const swap = (): void => {
    if (exchange(from, to) !== 0) throw new Error(`cannot exchange ${a} and ${b}`);
  };
  let told = false;
  process.stdin.on("end", () => {
    told = true;
  });
  process.stdin.resume();
  process.stdout.write("swapping\n");
  const until = Date.now() + MAX_MS;
  const go = (): void => {
    for (let round = 0; round < 2_000; round++) swap();
    if (!told && Date.now() < until) setImmediate(go);
  };
  go();
}

function loadExchange(): (a: Uint8Array, b: Uint8Array) => number {
  for (const library of ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"]) {
    try {
      const { symbols } = dlopen(library, {
        syscall: { args: ["i64", "i32", "ptr", "i32", "ptr", "u32"], returns: "i64" },
      });
      return (a, b) => Number(symbols.syscall(SYSCALL, AT_FDCWD, ptr(a), AT_FDCWD, ptr(b), RENAME_EXCHANGE));
    } catch {
      /* the other C library */
    }
  }
  throw new Error("the C library cannot be reached");
}

if (import.meta.main) exchangeUntilTold(process.argv[2]!, process.argv[3]!);
