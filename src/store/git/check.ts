// Looks at everything a repository's refs lead to, byte by byte, and mends what can be mended without guessing: an object
// whose file still lies in the working tree, an index that says nothing HEAD does not, a branch that was somewhere whole
// before. What is mended loses nothing; what cannot be is named.

import { lstatSync, readFileSync, readlinkSync, renameSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "@/lib/errors.ts";
import { readSmall } from "@/store/git-root.ts";
import type { GitContext } from "./context.ts";
import { removeQuietly } from "./folders.ts";
import { formatIndex, type IndexEntry } from "./index-file.ts";
import { prepareRepository } from "./init.ts";
import { maintain } from "./maintain.ts";
import { assertSafePath } from "./names.ts";
import { EMPTY_TREE, hashObject, isOid, type ObjectType, parseCommit, parseTag, parseTree } from "./object-format.ts";
import { openContext } from "./open.ts";
import { breathe } from "./status.ts";
import { listTree } from "./trees.ts";
import type { Identity, Oid } from "./types.ts";

export interface Finding {
  kind: "repository" | "object" | "ref" | "index";
  /** One line. */
  what: string;
  repaired: boolean;
}

export interface CheckResult {
  /** Looked at, each once. */
  objects: number;
  findings: Finding[];
}

export interface CheckOptions {
  repair: boolean;
  /** Whose reflog line a moved branch gets. */
  by: Identity;
}

/** Throws only what the disk does not allow; what is wrong with the repository is a finding. */
export async function checkRepository(dir: string, options: CheckOptions): Promise<CheckResult> {
  const findings: Finding[] = [];
  const opened = await open(dir, options, findings);
  if (!opened) return { objects: 0, findings };
  if (options.repair) await maintain(opened);
  await checkHead(opened, options, findings);
  const walk = new Walk(opened, { history: true });
  const { oid: detached, branch } = opened.refs.head();
  if (branch === null && detached !== null) await walk.from(detached, "HEAD");
  for (const { ref, oid } of opened.refs.list("refs/")) {
    await walk.from(oid, ref);
  }
  for (const bad of walk.bad.values()) {
    const repaired = options.repair && (await restoreObject(opened, bad));
    findings.push({ kind: "object", what: `${bad.oid.slice(0, 12)} ${bad.why} (${bad.where})`, repaired });
  }
  await checkIndex(opened, options, findings);
  return { objects: walk.seen.size, findings };
}

async function open(dir: string, { repair }: CheckOptions, findings: Finding[]): Promise<GitContext | null> {
  try {
    return openContext(dir);
  } catch (error) {
    findings.push({ kind: "repository", what: errorMessage(error), repaired: false });
  }
  // Only a repository that is there but lacks something.
  if (!repair || !lstatSync(join(dir, ".git"), { throwIfNoEntry: false })?.isDirectory()) return null;
  try {
    await prepareRepository(dir, { branch: "main" });
    const context = openContext(dir);
    findings[0]!.repaired = true;
    return context;
  } catch {
    return null; // The finding says what is wrong.
  }
}

/** The branch HEAD names must lead to a commit whose files are all there; what is missing further back is no reason to
 *  give up what came after it. */
async function checkHead(git: GitContext, { repair, by }: CheckOptions, findings: Finding[]): Promise<void> {
  const { branch, oid } = git.refs.head();
  const name = branch ?? "HEAD";
  const bad = oid === null ? [] : await badAtTip(git, oid, name);
  // Everything that is missing still lies in the working tree.
  const isFine = bad.every((object) => workingContent(git, object) !== null);
  if (oid === null ? reflog(git, name).length === 0 : isFine) return;
  const finding: Finding = {
    kind: "ref",
    what: oid === null ? `${name} is gone` : `${name} leads to ${oid.slice(0, 12)}, of which something is missing`,
    repaired: false,
  };
  findings.push(finding);
  if (!repair) return;
  for (const candidate of reflog(git, name)) {
    if (candidate === oid || !git.objects.has(candidate)) continue;
    if ((await badAtTip(git, candidate, name)).length > 0) continue;
    using lock = await git.refs.lock(name);
    await lock.set(candidate, "fsck: back to the last whole commit", by);
    finding.repaired = true;
    finding.what += `; it is at ${candidate.slice(0, 12)} again`;
    return;
  }
}

async function badAtTip(git: GitContext, oid: Oid, ref: string): Promise<BadObject[]> {
  return [...(await new Walk(git, { history: false }).from(oid, ref)).values()];
}

/** Where the ref has been, newest first. */
function reflog(git: GitContext, ref: string): Oid[] {
  const lines = (readSmall(join(git.commonDir, "logs", ref)) ?? "").trimEnd().split("\n");
  const oids = lines.map((line) => line.slice(41, 81)).filter((oid) => isOid(oid) && !/^0+$/.test(oid));
  return [...new Set(oids.reverse())];
}

interface BadObject {
  oid: Oid;
  why: string;
  /** The ref or commit that leads to it. */
  where: string;
  /** Of a file. */
  path?: string;
}

class Walk {
  readonly seen = new Set<Oid>();
  readonly bad = new Map<Oid, BadObject>();

  constructor(
    private readonly git: GitContext,
    /** Parents are followed. */
    private readonly options: { history: boolean },
  ) {}

  /** Everything the object leads to. */
  async from(start: Oid, where: string): Promise<ReadonlyMap<Oid, BadObject>> {
    const waiting: { oid: Oid; type: ObjectType | null; where: string; path?: string }[] = [
      { oid: start, type: null, where },
    ];
    let looked = 0;
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { oid, type: expected } = next;
      if (oid === EMPTY_TREE || this.seen.has(oid)) continue;
      this.seen.add(oid);
      if (++looked % 500 === 0) await breathe();
      try {
        const { type, content } = this.git.objects.read(oid);
        if (hashObject(type, content) !== oid) throw new Error("is damaged");
        if (expected !== null && type !== expected) throw new Error(`is a ${type}, not a ${expected}`);
        const links = followed(oid, type, content, next.where, next.path);
        waiting.push(...(this.options.history ? links : links.filter((link) => link.type !== "commit")));
      } catch (error) {
        const why = this.git.objects.has(oid) ? reason(error) : "is missing";
        const { path, where } = next;
        this.bad.set(oid, { oid, why, where: path ? `${path} of ${where}` : where, ...(path && { path }) });
      }
    }
    return this.bad;
  }
}

function followed(oid: Oid, type: ObjectType, content: Uint8Array, where: string, path = "") {
  const links: { oid: Oid; type: ObjectType | null; where: string; path?: string }[] = [];
  if (type === "tag") links.push({ oid: parseTag(oid, content), type: null, where });
  if (type === "commit") {
    const commit = parseCommit(oid, content);
    const name = `commit ${oid.slice(0, 12)}`;
    links.push({ oid: commit.tree, type: "tree", where: name });
    for (const parent of commit.parents) links.push({ oid: parent, type: "commit", where: name });
  }
  if (type === "tree") {
    for (const item of parseTree(oid, content)) {
      const below = path === "" ? item.name : `${path}/${item.name}`;
      assertSafePath(item.name);
      if (item.mode === "160000") continue;
      links.push({ oid: item.oid, type: item.mode === "40000" ? "tree" : "blob", where, path: below });
    }
  }
  return links;
}

function reason(error: unknown): string {
  const text = errorMessage(error);
  return /^is /.test(text) ? text : `is damaged: ${text}`;
}

/** From the working tree, where the file still is what it was. */
async function restoreObject(git: GitContext, bad: BadObject): Promise<boolean> {
  const content = workingContent(git, bad);
  if (content === null) return false;
  if (lstatSync(git.objects.loosePath(bad.oid), { throwIfNoEntry: false }))
    removeQuietly(git.disk, git.objects.loosePath(bad.oid));
  git.objects.put("blob", content);
  await git.objects.flush();
  return true;
}

function workingContent(git: GitContext, { oid, path }: BadObject): Uint8Array | null {
  if (path === undefined) return null;
  try {
    const file = join(git.dir, path);
    const stat = lstatSync(file);
    const content = stat.isSymbolicLink() ? Buffer.from(readlinkSync(file)) : stat.isFile() ? readFileSync(file) : null;
    return content && hashObject("blob", content) === oid ? content : null;
  } catch {
    return null; // Not there, or not ours to read.
  }
}

async function checkIndex(git: GitContext, { repair }: CheckOptions, findings: Finding[]): Promise<void> {
  try {
    git.index.load();
    return;
  } catch (error) {
    findings.push({ kind: "index", what: errorMessage(error), repaired: false });
  }
  if (!repair) return;
  const path = join(git.gitDir, "index");
  const { oid } = git.refs.head();
  const tree = oid === null ? null : git.objects.commit(oid).tree;
  const entries: IndexEntry[] = listTree(git.objects, tree).map((file) => ({ ...UNSEEN, ...file }));
  const temporary = git.scratch.path();
  // The old one stays beside it: nothing says what was staged there.
  if (lstatSync(path, { throwIfNoEntry: false })) renameSync(path, `${path}.damaged`);
  await git.disk.create(temporary, [formatIndex(entries)], { mode: 0o644, durable: true });
  git.disk.rename(temporary, path);
  findings.at(-1)!.repaired = true;
}

/** Of a file nobody has looked at: the next status does. */
const UNSEEN = {
  ...{ ctimeSeconds: 0, ctimeNanos: 0, mtimeSeconds: 0, mtimeNanos: 0, dev: 0, ino: 0, uid: 0, gid: 0, size: 0 },
  ...{ stage: 0, assumeValid: false, skipWorktree: false, intentToAdd: false },
};
