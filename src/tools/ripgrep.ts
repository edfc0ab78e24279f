// Finds a ripgrep to run: the one inside this program, unpacked once and verified, else one on PATH. Callers have a
// built-in search for when there is none (tools/walk.ts).

import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256 } from "@/lib/hash.ts";
import type { Paths } from "@/store/paths.ts";
import { ripgrepBinary } from "./ripgrep-binary.ts";

export interface RipgrepRun {
  /** 0 matches, 1 none, 2 error. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** It was stopped because its output exceeded the buffer. */
  cut: boolean;
}

const NAME = process.platform === "win32" ? "rg.exe" : "rg";

/** Where the program is or will be unpacked, for PATH; undefined when this build has none. */
export function ripgrepDirectory(paths: Paths): string | undefined {
  if (!ripgrepBinary) return undefined;
  if (!ripgrepBinary.embedded) return dirname(ripgrepBinary.path);
  return join(paths.bin, `rg-${ripgrepBinary.sha256?.slice(0, 12)}`);
}

/** Path of a ripgrep, null when there is none. Verified once per process. */
export async function ensureRipgrep(paths: Paths, path: string | undefined): Promise<string | null> {
  const known = verified.get(paths.bin);
  if (known !== undefined) return known;
  const found = unpacked(paths) ?? Bun.which("rg", path === undefined ? {} : { PATH: path });
  if (found !== null) verified.set(paths.bin, found);
  return found;
}

/** Runs it in `cwd`. `--no-config` and an environment without `RIPGREP_CONFIG_PATH`: a repository must not add options. */
export async function runRipgrep(
  program: string,
  args: string[],
  options: { cwd: string; maxBytes: number; signal: AbortSignal },
): Promise<RipgrepRun> {
  const child = Bun.spawn([program, "--no-config", "--color=never", ...args], {
    cwd: options.cwd,
    env: { PATH: "", LC_ALL: "C.UTF-8" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    signal: options.signal,
    killSignal: "SIGKILL",
  });
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
  return { exitCode, stdout: Buffer.concat(chunks).toString("utf8"), stderr: await errors, cut };
}

/** By `paths.bin`: one process may serve several homes in tests. */
const verified = new Map<string, string>();

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
  const temporary = join(directory, `.${NAME}-${process.pid}-${crypto.randomUUID()}`);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const bytes = readFileSync(source);
    if (sha256(bytes) !== wanted) return null;
    writeFileSync(temporary, bytes, { mode: 0o755, flush: true });
    chmodSync(temporary, 0o755);
    renameSync(temporary, target);
    return target;
  } catch {
    return null; // Read-only or full: the caller falls back.
  } finally {
    if (existsSync(temporary)) rmSync(temporary);
  }
}

function hashOf(path: string): string | null {
  try {
    return sha256(readFileSync(path));
  } catch {
    return null; // Not unpacked yet.
  }
}
