// Keeps a repository small and tidy: loose objects into a pack, small packs into one, working trees whose folder is gone,
// what killed processes left. Nothing that git could still need is deleted; unreachable objects stay.

import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { readSmall } from "@/store/git-root.ts";
import type { GitContext } from "./context.ts";
import { isFolder, listFolder, removeQuietly } from "./folders.ts";
import { MAX_LOOSE_OBJECTS, MAX_SMALL_PACKS, SMALL_PACK_BYTES } from "./limits.ts";
import { isLeftBehind, withWriterLock } from "./locks.ts";
import { pruneWorktrees } from "./worktrees.ts";

/** `git gc` names itself in this file; older, it was killed. */
const GC_STALE_MS = 12 * 60 * 60_000;

export function maintain(git: GitContext, maxLoose = MAX_LOOSE_OBJECTS): Promise<void> {
  return withWriterLock(git.writerLock, "maintain", async () => {
    git.scratch.sweep();
    sweepLocks(git);
    pruneWorktrees(git);
    if (isBeingCollected(git)) return;
    await git.objects.flush();
    await packLoose(git, maxLoose);
    await joinPacks(git);
  });
}

export function footprint(git: GitContext): { bytes: number; untidy: boolean } {
  const loose = git.objects.listLoose();
  const packs = git.objects.packs().map(({ path }) => `${path}.pack`);
  const sizes = [...loose.map((oid) => git.objects.loosePath(oid)), ...packs].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0,
  );
  return {
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    untidy: loose.length > MAX_LOOSE_OBJECTS || sizes.slice(loose.length).filter(isSmall).length > MAX_SMALL_PACKS,
  };
}

function isSmall(packBytes: number): boolean {
  return packBytes < SMALL_PACK_BYTES;
}

async function packLoose(git: GitContext, maxLoose: number): Promise<void> {
  const loose = git.objects.listLoose();
  if (loose.length <= maxLoose) return;
  await git.objects.writePack(loose);
  for (const oid of loose) removeQuietly(git.disk, git.objects.loosePath(oid));
}

/** Each commit of many files makes a pack of its own. */
async function joinPacks(git: GitContext): Promise<void> {
  const folder = join(git.commonDir, "objects", "pack");
  // Its index over all packs would name some that are gone.
  if (listFolder(folder).includes("multi-pack-index")) return;
  const small = git.objects.packs().filter(({ path }) => {
    const special = [".keep", ".promisor", ".bitmap", ".mtimes"].some((ending) =>
      lstatSync(path + ending, { throwIfNoEntry: false }),
    );
    return !special && isSmall(statSync(`${path}.pack`).size);
  });
  if (small.length <= MAX_SMALL_PACKS) return;
  const oids = small.flatMap((pack) => pack.oids());
  const joined = await git.objects.writePack(oids);
  for (const { path } of small) {
    // The index first: a pack without one is none.
    for (const ending of [".idx", ".rev", ".pack"]) {
      if (path !== joined && lstatSync(path + ending, { throwIfNoEntry: false }))
        removeQuietly(git.disk, path + ending);
    }
  }
  git.objects.rescanPacks();
}

function isBeingCollected(git: GitContext): boolean {
  const stat = lstatSync(join(git.commonDir, "gc.pid"), { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs < GC_STALE_MS;
}

/** Only ours: how long real git may take is not for us to say. */
function sweepLocks(git: GitContext): void {
  const folders = [
    git.commonDir,
    ...listFolder(join(git.commonDir, "worktrees")).map((id) => join(git.commonDir, "worktrees", id)),
  ];
  const locks = folders.flatMap((folder) => listFolder(folder).map((name) => join(folder, name)));
  for (const path of [...locks, ...filesBelow(join(git.commonDir, "refs"))]) {
    if (path.endsWith(".lock") && readSmall(path)?.startsWith("{") && isLeftBehind(path)) removeQuietly(git.disk, path);
  }
}

function filesBelow(folder: string): string[] {
  return listFolder(folder).flatMap((name) => {
    const path = join(folder, name);
    return isFolder(path) ? filesBelow(path) : [path];
  });
}
