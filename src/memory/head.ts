// Which commit HEAD of a repository names, by reading the files git keeps it in: the question every turn asks, so it must
// not load a git engine.

import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** Null when there is no repository, or no commit yet. `dir` is a working tree. */
export function readHead(dir: string): string | null {
  const gitDir = findGitDir(dir);
  const head = gitDir && readText(join(gitDir, "HEAD"));
  if (!head) return null;
  const ref = /^ref: (refs\/[^\s]+)/.exec(head)?.[1];
  if (ref === undefined) return toOid(head);
  if (ref.split("/").includes("..")) return null;
  const common = readText(join(gitDir, "commondir"))?.trim();
  const refsDir = common ? (isAbsolute(common) ? common : join(gitDir, common)) : gitDir;
  return toOid(readText(join(refsDir, ref))) ?? findPacked(readText(join(refsDir, "packed-refs")), ref);
}

function findGitDir(dir: string): string | null {
  const path = join(dir, ".git");
  const link = readText(path);
  if (link === null) return path;
  const target = /^gitdir: (.+)/.exec(link)?.[1]?.trim();
  return target ? (isAbsolute(target) ? target : join(dir, target)) : null;
}

function findPacked(packed: string | null, ref: string): string | null {
  const line = packed?.split("\n").find((candidate) => candidate.slice(41).trimEnd() === ref);
  return toOid(line ?? null);
}

function toOid(text: string | null): string | null {
  return text === null ? null : (/^[0-9a-f]{40}/.exec(text)?.[0] ?? null);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null; // Not there, or a folder.
  }
}
