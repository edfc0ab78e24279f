// Finds a ripgrep to run: the one inside this program, unpacked once and verified, else one on PATH. Callers have a
// built-in search for when there is none (search.ts, grep-fallback.ts).

import { chmodSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256 } from "@/lib/hash.ts";
import { writeFileAtomic } from "@/store/atomic-file.ts";
import type { Paths } from "@/store/paths.ts";
import { SEARCH_TIMEOUT_MS } from "./limits.ts";
import { ripgrepBinary } from "./ripgrep-binary.ts";
import type { Shells } from "./shell.ts";

export interface RipgrepRun {
  /** 0 matches, 1 none, 2 error. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** It was stopped because its output exceeded the buffer, or after the time limit. */
  cut: boolean;
  timedOut: boolean;
}

export interface RipgrepOptions {
  cwd: string;
  /** An open file it reads where it is told `-`. */
  stdin?: number | undefined;
  maxBytes: number;
  signal: AbortSignal;
  shells: Pick<Shells, "guard">;
  timeoutMs?: number;
}

const NAME = process.platform === "win32" ? "rg.exe" : "rg";

/** Where the program is or will be unpacked, for PATH; undefined when this build has none. */
export function ripgrepDirectory(paths: Paths): string | undefined {
  if (!ripgrepBinary) return undefined;
  if (!ripgrepBinary.embedded) return dirname(ripgrepBinary.path);
  return join(paths.bin, `rg-${ripgrepBinary.sha256?.slice(0, 12)}`);
}

/** Path of a ripgrep that was unpacked or verified just now, or of one on `path`; null when there is none. */
export function findRipgrep(paths: Paths, path: string | undefined): string | null {
  return unpacked(paths) ?? Bun.which("rg", path === undefined ? {} : { PATH: path });
}

/** Runs it in `cwd`. `--no-config` and an environment without `RIPGREP_CONFIG_PATH`: a repository must not add options. */
export async function runRipgrep(program: string, args: string[], options: RipgrepOptions): Promise<RipgrepRun> {
  using guard = options.shells.guard();
  const timeout = AbortSignal.timeout(options.timeoutMs ?? SEARCH_TIMEOUT_MS);
  const child = Bun.spawn([program, "--no-config", "--color=never", ...args], {
    cwd: options.cwd,
    env: { PATH: "", LC_ALL: "C.UTF-8", ...guard.env },
    stdin: options.stdin ?? "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
    signal: AbortSignal.any([options.signal, timeout]),
    killSignal: "SIGKILL",
  });
  guard.started(child.pid);
  const errors = child.stderr.text();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let cut = false;
  for await (const chunk of child.stdout) {
    if (size + chunk.length > options.maxBytes) {
      cut = true;
      child.kill("SIGKILL");
      break;
    }
    chunks.push(chunk);
    size += chunk.length;
  }
  const exitCode = await child.exited;
  options.signal.throwIfAborted();
  const timedOut = timeout.aborted && child.signalCode === "SIGKILL";
  return {
    exitCode,
    stdout: Buffer.concat(chunks).toString("utf8"),
    stderr: await errors,
    cut: cut || timedOut,
    timedOut,
  };
}

function unpacked(paths: Paths): string | null {
  if (ripgrepBinary === null) return null;
  const { path, sha256: wanted, embedded } = ripgrepBinary;
  if (!embedded) return path;
  const directory = ripgrepDirectory(paths)!;
  return unpack({ source: path, sha256: wanted ?? "", directory });
}

/** Null when it cannot be unpacked (read-only home): searching then works without it. Two processes may do this at
 *  once: each renames a complete, verified copy. */
export function unpack({
  source,
  sha256: wanted,
  directory,
}: {
  source: string;
  sha256: string;
  directory: string;
}): string | null {
  const target = join(directory, NAME);
  if (hashOf(target) === wanted) return target;
  try {
    const bytes = readFileSync(source);
    if (sha256(bytes) !== wanted) return null;
    writeFileAtomic(target, bytes, { mode: 0o755 });
    chmodSync(target, 0o755); // whatever the umask, or the mode of what was there
    return target;
  } catch {
    return null; // Read-only or full: the caller falls back.
  }
}

function hashOf(path: string): string | null {
  try {
    return sha256(readFileSync(path));
  } catch {
    return null; // Not unpacked yet.
  }
}
