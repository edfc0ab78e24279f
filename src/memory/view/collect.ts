// Gathers what the page shows: the files of HEAD and the newest commits, with limits so that a page stays one that a
// browser opens at once, however large the memory and its history are.

import type { Commit, GitRepository } from "@/store/git/types.ts";
import { formatDiff, readPairs } from "../diff-text.ts";
import { descriptionOf, parseMarkdown } from "../frontmatter.ts";
import { isMarkdown, isSystemPath } from "../places.ts";
import { subjectOf } from "../revert.ts";
import type { AgentMemory } from "../service.ts";
import { countTokens } from "../tokens.ts";
import type { ContextShare, MemoryView, ViewCommit, ViewFile } from "./page.ts";

const MAX_COMMITS = 500;
const MAX_DIFFS = 50;
const MAX_DIFF_BYTES = 100 * 1024;
/** Of all diffs together. */
const MAX_DIFFS_BYTES = 5 * 1024 * 1024;
const MAX_TEXT_BYTES = 256 * 1024;
/** Of all files together. */
const MAX_TEXTS_BYTES = 8 * 1024 * 1024;
/** The reflections' own subjects, as in `fix(reflection): …` and `merge(reflection): …`. */
const REFLECTION = /^\w+\(reflection\)!?:/;

export async function collectView(
  memory: AgentMemory,
  context: { shares: ContextShare[]; window: number | null },
  now: Date,
): Promise<MemoryView> {
  const repository = await memory.ensure();
  const commits = await Array.fromAsync(repository.log({ firstParent: true, limit: MAX_COMMITS + 1 }));
  return {
    agent: memory.agent,
    createdAt: now.toISOString(),
    head: await repository.resolve("HEAD"),
    context: context.shares,
    contextWindow: context.window,
    files: await collectFiles(memory),
    commits: await collectCommits(repository, commits.slice(0, MAX_COMMITS)),
    hasMoreCommits: commits.length > MAX_COMMITS,
  };
}

async function collectFiles(memory: AgentMemory): Promise<ViewFile[]> {
  const files = await memory.files();
  let room = MAX_TEXTS_BYTES;
  const shown: ViewFile[] = [];
  for (const path of files.paths.toSorted(inOrder)) {
    const bytes = (await files.read(path)) ?? new Uint8Array();
    const text = bytes.byteLength <= Math.min(MAX_TEXT_BYTES, room) ? asText(bytes) : null;
    if (text !== null) room -= bytes.byteLength;
    shown.push({
      path,
      text,
      bytes: bytes.byteLength,
      tokens: countTokens([{ path, bytes: bytes.byteLength }]).total_tokens,
      description: text !== null && isMarkdown(path) ? (descriptionOf(parseMarkdown(text)) ?? "") : "",
    });
  }
  return shown;
}

/** What is always in the prompt first, then folder by folder. */
function inOrder(a: string, b: string): number {
  if (isSystemPath(a) !== isSystemPath(b)) return isSystemPath(a) ? -1 : 1;
  const folder = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);
  const [left, right] = [folder(a), folder(b)];
  if (left !== right) return left < right ? -1 : 1;
  return a < b ? -1 : 1;
}

function asText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null; // Not text.
  }
}

async function collectCommits(repository: GitRepository, commits: readonly Commit[]): Promise<ViewCommit[]> {
  let room = MAX_DIFFS_BYTES;
  const shown: ViewCommit[] = [];
  for (const [index, commit] of commits.entries()) {
    const changed = await repository.diffTrees(commit.parents[0] ?? null, commit.oid);
    const { diff, why } = index < MAX_DIFFS ? await diffOf(repository, commit, room) : OLDER;
    if (diff !== null) room -= Buffer.byteLength(diff);
    shown.push({
      oid: commit.oid,
      at: commit.author.at,
      author: commit.author.name,
      message: commit.message,
      paths: changed.map(({ path }) => path),
      isReflection: REFLECTION.test(subjectOf(commit.message)),
      diff,
      ...(why !== undefined && { noDiff: why }),
    });
  }
  return shown;
}

const OLDER = { diff: null, why: `Diffs are here for the newest ${MAX_DIFFS} commits.` };

async function diffOf(repository: GitRepository, { oid, parents }: Commit, room: number) {
  const pairs = await readPairs(repository, parents[0] ?? null, oid);
  const bytes = pairs.reduce((sum, { before, after }) => sum + size(before) + size(after), 0);
  // Comparing what will not be shown is not worth the time.
  const diff = bytes > 4 * MAX_DIFF_BYTES ? null : formatDiff(pairs);
  if (diff === null || Buffer.byteLength(diff) > Math.min(MAX_DIFF_BYTES, room)) {
    return { diff: null, why: "This diff is too large to show here." };
  }
  return { diff };
}

function size(version: { content: Uint8Array } | null): number {
  return version?.content.byteLength ?? 0;
}
