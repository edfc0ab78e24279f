// Throw-away repositories of our git engine, and the real git beside it where there is one.

import { accessSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { initRepository } from "@/store/git/repository.ts";
import type { Change, GitRepository, Identity } from "@/store/git/types.ts";
import { type TempDir, tempDir } from "./binary.ts";

export const ANN: Identity = { name: "Ann", email: "ann@example.com" };

/** Tests that compare with it skip where it is not installed; the engine itself never needs it. */
export const hasGit = Bun.which("git") !== null;

/** Real git, with nobody's settings. Throws when it fails. */
export function git(dir: string, args: string[], { input, ok = true }: { input?: string; ok?: boolean } = {}): string {
  const child = Bun.spawnSync(["git", ...args], {
    cwd: dir,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: "/nonexistent",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "Real",
      GIT_AUTHOR_EMAIL: "real@example.com",
      GIT_COMMITTER_NAME: "Real",
      GIT_COMMITTER_EMAIL: "real@example.com",
      LC_ALL: "C",
    },
    stdin: input === undefined ? "ignore" : Buffer.from(input),
  });
  const output = child.stdout.toString() + child.stderr.toString();
  if (ok && child.exitCode !== 0) throw new Error(`git ${args.join(" ")} failed: ${output}`);
  return output;
}

/** What real git finds wrong or unsaved; `""` when nothing. A change that failed or was killed leaves objects nothing
 *  names (`dangling`), which is no damage. */
export function complaints(dir: string, { dangling = false } = {}): string {
  return [
    git(dir, ["fsck", "--strict", "--no-progress", ...(dangling ? ["--no-dangling"] : [])], { ok: false }),
    git(dir, ["status", "--porcelain"], { ok: false }),
    git(dir, ["worktree", "prune", "-n"], { ok: false }),
  ].join("");
}

export interface TempRepo extends Disposable {
  /** Of the folder around it. */
  path: string;
  dir: string;
  repo: GitRepository;
}

/** In memory where the system has such a place: waiting for a disk hundreds of times proves nothing more. */
export function memoryDir(): TempDir {
  try {
    accessSync("/dev/shm", constants.W_OK);
  } catch {
    return tempDir("letta-git-");
  }
  const path = mkdtempSync("/dev/shm/letta-git-");
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export async function tempRepo(folder = memoryDir()): Promise<TempRepo> {
  const dir = join(folder.path, "memory");
  const repo = await initRepository(dir, { branch: "main" });
  return { path: folder.path, dir, repo, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Path → text; null deletes. */
export function changes(files: Record<string, string | null>): Change[] {
  return Object.entries(files).map(([path, text]) =>
    text === null ? { path, content: null } : { path, content: new TextEncoder().encode(text) },
  );
}

/** What a working tree holds, without git's own folder. */
export async function filesOf(dir: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const path of new Bun.Glob("**").scan({ cwd: dir, dot: true, onlyFiles: true })) {
    if (!path.startsWith(".git/") && path !== ".git") files[path] = await Bun.file(join(dir, path)).text();
  }
  return Object.fromEntries(Object.entries(files).sort());
}

export function scratchIsEmpty(dir: string): boolean {
  const folder = join(dir, ".git/letta/tmp");
  return !existsSync(folder) || [...new Bun.Glob("*").scanSync({ cwd: folder, onlyFiles: false })].length === 0;
}
