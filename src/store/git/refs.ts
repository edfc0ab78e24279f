// HEAD, branches and tags: loose files, packed-refs, reflogs. A change is compare-and-swap under the ref's lock. What
// belongs to one linked working tree (HEAD, bisect, rewritten) is in its own folder, everything else in the common one.

import { closeSync, fstatSync, lstatSync, openSync, readFileSync, readSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { readSmall } from "@/store/git-root.ts";
import type { Disk } from "./disk.ts";
import { assertRealParents, isFolder, listFolder, makeParents, removeEmptyFolders, removeQuietly } from "./folders.ts";
import { MAX_SYMREF_DEPTH, MAX_TABLE_BYTES } from "./limits.ts";
import { lockGitFile } from "./locks.ts";
import { assertRefName, compareNames, isRefName } from "./names.ts";
import { formatSignature, isOid, signatureNow } from "./object-format.ts";
import type { Scratch } from "./scratch.ts";
import type { Identity, Oid } from "./types.ts";

export interface RefLock extends Disposable {
  readonly ref: string;
  /** What it points to now. */
  readonly current: Oid | null;
  /** Null deletes. */
  set(to: Oid | null, reason: string, by: Identity): Promise<void>;
}

const NULL_OID = "0".repeat(40);

export class Refs {
  #packed: { stamp: string; refs: Map<string, Oid> } = { stamp: "", refs: new Map() };

  constructor(
    /** Of this working tree. */
    private readonly gitDir: string,
    private readonly commonDir: string,
    private readonly disk: Disk,
    private readonly scratch: Scratch,
    private readonly now: () => number,
  ) {}

  /** The branch HEAD names (it may not exist yet), or the commit it is at. */
  head(): { branch: string | null; oid: Oid | null } {
    const value = this.#readLoose("HEAD");
    if (value === null) throw new LettaError("invalid_data", `${join(this.gitDir, "HEAD")} is missing`);
    if (!value.startsWith("ref: ")) return { branch: null, oid: value };
    const branch = value.slice("ref: ".length);
    return { branch, oid: this.read(branch) };
  }

  /** Null when there is no such ref. Follows symbolic refs. */
  read(ref: string): Oid | null {
    let name = ref;
    for (let depth = 0; depth < MAX_SYMREF_DEPTH; depth++) {
      const value = this.#readLoose(name) ?? this.#readPacked().get(name) ?? null;
      if (value === null || !value.startsWith("ref: ")) return value;
      name = value.slice("ref: ".length);
    }
    throw new LettaError("invalid_data", `the ref ${ref} leads in a circle`);
  }

  list(prefix: string): { ref: string; oid: Oid }[] {
    const names = new Set(this.#readPacked().keys());
    for (const root of new Set([this.commonDir, this.gitDir])) {
      for (const name of listFiles(root, "refs")) if (this.#rootOf(name) === root) names.add(name);
    }
    const found: { ref: string; oid: Oid }[] = [];
    for (const ref of names) {
      if (!ref.startsWith(prefix) || !isRefName(ref)) continue;
      const oid = this.read(ref);
      if (oid) found.push({ ref, oid });
    }
    return found.sort((a, b) => compareNames(a.ref, b.ref));
  }

  /** Of the branch HEAD names, or of HEAD itself where it is detached. */
  lockHead(): Promise<RefLock> {
    return this.lock(this.head().branch ?? "HEAD");
  }

  async lock(ref: string): Promise<RefLock> {
    assertRefName(ref);
    const root = this.#rootOf(ref);
    assertRealParents(root, ref);
    if (this.read(ref) === null) this.#assertNoClash(ref);
    makeParents(this.disk, root, ref);
    const lock = await lockGitFile(this.disk, this.scratch, join(root, ref));
    try {
      const current = this.read(ref);
      return {
        ref,
        current,
        set: async (to, reason, by) => {
          if (to === null) await this.#delete(ref);
          else {
            // What deleted refs leave in the place of a file.
            removeEmptyFolders(this.disk, lock.path);
            await lock.replace(new TextEncoder().encode(`${to}\n`));
            this.#log(ref, { from: current, to, reason, by });
          }
        },
        [Symbol.dispose]: () => lock[Symbol.dispose](),
      };
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }

  /** For a new working tree: HEAD on a branch. */
  async setHead(branch: string): Promise<void> {
    assertRefName(branch);
    using lock = await lockGitFile(this.disk, this.scratch, join(this.gitDir, "HEAD"));
    await lock.replace(new TextEncoder().encode(`ref: ${branch}\n`));
  }

  #rootOf(ref: string): string {
    return !ref.startsWith("refs/") || /^refs\/(bisect|rewritten|worktree)\//.test(ref) ? this.gitDir : this.commonDir;
  }

  #readLoose(ref: string): string | null {
    if (!isRefName(ref)) throw new LettaError("invalid_data", `${JSON.stringify(ref)} is not a valid ref name`);
    const path = join(this.#rootOf(ref), ref);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat || stat.isDirectory()) return null;
    const text = readSmall(path)?.trimEnd();
    // Replaced or packed by another process this moment.
    if (text === undefined && !lstatSync(path, { throwIfNoEntry: false })) return this.#readPacked().get(ref) ?? null;
    const oid = text?.slice(0, 40) ?? "";
    if (isOid(oid) && !/^\S/.test(text!.slice(40))) return oid;
    const target = /^ref:\s*(\S+)$/.exec(text ?? "")?.[1];
    if (target && isRefName(target)) return `ref: ${target}`;
    throw new LettaError("invalid_data", `${path} is damaged: it holds neither an object id nor a ref name`, {
      hint: `Its history is in ${join(dirname(this.#rootOf(ref)), "logs", ref)}.`,
    });
  }

  #readPacked(): Map<string, Oid> {
    const path = join(this.commonDir, "packed-refs");
    const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    const stamp = stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : "";
    if (stamp !== this.#packed.stamp) this.#packed = { stamp, refs: stat ? readPackedRefs(path) : new Map() };
    return this.#packed.refs;
  }

  async #delete(ref: string): Promise<void> {
    // Packed first: the loose one hides it, and must not be gone before.
    if (this.#readPacked().has(ref)) {
      const path = join(this.commonDir, "packed-refs");
      using lock = await lockGitFile(this.disk, this.scratch, path);
      const lines = readFileSync(path, "utf8").split("\n");
      const at = lines.findIndex((line) => line.slice(41) === ref && isOid(line.slice(0, 40)));
      // A line with `^` belongs to the tag above it.
      if (at !== -1) lines.splice(at, lines[at + 1]?.startsWith("^") ? 2 : 1);
      await lock.replace(new TextEncoder().encode(lines.join("\n")));
    }
    removeQuietly(this.disk, join(this.#rootOf(ref), ref));
    removeQuietly(this.disk, join(this.#rootOf(ref), "logs", ref));
    if (this.read(ref) !== null) throw new LettaError("storage", `cannot delete the ref ${ref}`);
  }

  /** `refs/heads/a` and `refs/heads/a/b` cannot both exist. */
  #assertNoClash(ref: string): void {
    const parts = ref.split("/");
    const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join("/"));
    const clash =
      above.find((name) => name.split("/").length > 2 && this.read(name) !== null) ??
      (ref.startsWith("refs/") ? this.list(`${ref}/`)[0]?.ref : undefined);
    if (clash) throw new LettaError("conflict", `the ref ${ref} cannot exist beside ${clash}`);
  }

  /** Not having it costs a line of `git reflog`, so a failure is none of the change itself. */
  #log(ref: string, { from, to, reason, by }: { from: Oid | null; to: Oid; reason: string; by: Identity }): void {
    const who = formatSignature(signatureNow(by, this.now()));
    const line = `${from ?? NULL_OID} ${to} ${who}\t${reason.replace(/\s+/g, " ").trim().toWellFormed()}\n`;
    const logs = [ref];
    if (ref !== "HEAD" && this.head().branch === ref) logs.push("HEAD");
    for (const name of logs) {
      if (name !== "HEAD" && !/^refs\/(heads|remotes|notes)\//.test(name)) continue;
      const root = this.#rootOf(name);
      const path = join(root, "logs", name);
      try {
        makeParents(this.disk, root, `logs/${name}`);
        removeEmptyFolders(this.disk, path);
        const stat = lstatSync(path, { throwIfNoEntry: false });
        if (stat && !stat.isFile()) continue;
        this.disk.append(path, (stat && stat.size > 0 && !endsWithNewline(path) ? "\n" : "") + line);
      } catch {
        // See above.
      }
    }
  }
}

function readPackedRefs(path: string): Map<string, Oid> {
  const refs = new Map<string, Oid>();
  const stat = lstatSync(path);
  if (!stat.isFile() || stat.size > MAX_TABLE_BYTES) throw new LettaError("invalid_data", `${path} cannot be read`);
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const oid = line.slice(0, 40);
    const ref = line.slice(41).trimEnd();
    if (line[40] === " " && isOid(oid) && isRefName(ref)) refs.set(ref, oid);
  }
  return refs;
}

/** Of a folder, with `/` between segments, from `root`. */
function listFiles(root: string, folder: string): string[] {
  return listFolder(join(root, folder)).flatMap((name) => {
    const inner = join(root, folder, name);
    if (isFolder(inner)) return listFiles(root, `${folder}/${name}`);
    return relative(root, inner).replaceAll(sep, "/");
  });
}

function endsWithNewline(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const last = Buffer.alloc(1);
    readSync(file, last, 0, 1, fstatSync(file).size - 1);
    return last[0] === 0x0a;
  } finally {
    closeSync(file);
  }
}
