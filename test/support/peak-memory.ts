// Peak memory of one process. Linux hands a parent's peak on to what it starts (the child shares the parent's memory
// until it executes its program), so the plain rusage of a child of this large process says nothing. Here a shell, which
// is small, starts the program and leaves; we adopt the orphan and read its rusage.

import { dlopen, FFIType, ptr } from "bun:ffi";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;
/** `ru_maxrss` follows two `timeval`s; in KiB. */
const MAXRSS_WORD = 4;

export async function peakMemory(
  command: string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<{ bytes: number; exitCode: number }> {
  const folder = mkdtempSync(join(tmpdir(), "peak-"));
  try {
    return await (process.platform === "linux"
      ? adopted(command, options, join(folder, "pid"))
      : direct(command, options));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function adopted(command: string[], { cwd, env }: { cwd: string; env: Record<string, string> }, pidFile: string) {
  const libc = openLibc();
  try {
    libc.symbols.prctl(PR_SET_CHILD_SUBREAPER, 1n, 0n, 0n, 0n);
    // The pause keeps the program from ending before the shell, which would then be the one to collect it.
    const script = 'file=$1; shift; (sleep 0.1; exec "$@") >/dev/null 2>&1 </dev/null & echo $! > "$file"';
    const shell = Bun.spawn(["sh", "-c", script, "sh", pidFile, ...command], { cwd, env, stdin: "ignore" });
    await shell.exited;
    const pid = Number(readFileSync(pidFile, "utf8"));
    const status = new Int32Array(1);
    const usage = new BigInt64Array(18);
    for (;;) {
      const found = libc.symbols.wait4(pid, ptr(status), WNOHANG, ptr(usage));
      if (found === pid) break;
      if (found < 0) throw new Error(`process ${pid} was not ours to wait for`);
      await Bun.sleep(2);
    }
    const signal = status[0]! & 0x7f;
    const exitCode = signal === 0 ? (status[0]! >> 8) & 0xff : 128 + signal;
    return { bytes: Number(usage[MAXRSS_WORD]!) * 1024, exitCode };
  } finally {
    libc.symbols.prctl(PR_SET_CHILD_SUBREAPER, 0n, 0n, 0n, 0n);
    libc.close();
  }
}

function openLibc() {
  const names = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
  for (const [index, name] of names.entries()) {
    try {
      return dlopen(name, {
        prctl: { args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
        wait4: { args: [FFIType.i32, FFIType.ptr, FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
      });
    } catch (error) {
      if (index === names.length - 1) throw error;
    }
  }
  throw new Error("unreachable");
}

async function direct(command: string[], { cwd, env }: { cwd: string; env: Record<string, string> }) {
  const child = Bun.spawn(command, { cwd, env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const exitCode = await child.exited;
  return { bytes: Number(child.resourceUsage()?.maxRSS ?? 0), exitCode };
}
