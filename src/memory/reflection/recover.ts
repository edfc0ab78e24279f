// What killed processes left: dreams without an end are brought to one, and worktrees nobody knows are taken away.
// Runs under the agent's reflection lease, so whatever is open has nobody any more.

import { existsSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "@/lib/errors.ts";
import { type DreamRecord, isDreamId, isOpen } from "./journal.ts";
import { dropDream, type SettleDeps, type Settled, settleDream } from "./settle.ts";
import { DREAM_FOLDER, discardTree, dreamPlace } from "./worktree.ts";

/** A worktree that is in no journal may be another program's at work. */
const FOREIGN_AGE_MS = 24 * 3_600_000;

export interface Recovered {
  id: string;
  status: Settled["status"];
  reason: string | null;
}

export async function recoverDreams(deps: SettleDeps & { payloads: string; now(): number }): Promise<Recovered[]> {
  const { journal } = deps;
  const recovered: Recovered[] = [];
  for (const record of journal.read().filter(isOpen)) {
    // What cannot be brought to its end is tried again another time: it is no reason not to dream.
    try {
      recovered.push({ id: record.id, ...(await recoverDream(record, deps)) });
    } catch (error) {
      recovered.push({ id: record.id, status: "failed", reason: errorMessage(error) });
    }
  }
  for (const sweep of [sweepOrphans, sweepPayloads]) {
    try {
      await sweep(deps);
    } catch {
      // What cannot be taken away now lies there until the next time.
    }
  }
  journal.compact();
  return recovered;
}

async function recoverDream(record: DreamRecord, deps: SettleDeps): Promise<Pick<Recovered, "status" | "reason">> {
  if (record.committed) {
    const { status, reason } = await settleDream(record, deps);
    return { status, reason };
  }
  const reason = "the process that ran it ended";
  await dropDream(record, { status: "stopped", reason, moved: "fail" }, deps);
  return { status: "stopped", reason };
}

async function sweepOrphans({ memory, journal, worktrees, now }: Parameters<typeof recoverDreams>[0]): Promise<void> {
  if (!existsSync(worktrees)) return;
  const known = new Set(
    journal
      .read()
      .filter(isOpen)
      .map(({ id }) => id),
  );
  for (const name of await readdir(worktrees)) {
    const id = name.slice(DREAM_FOLDER.length);
    if (!name.startsWith(DREAM_FOLDER) || !isDreamId(id) || known.has(id)) continue;
    const place = dreamPlace(worktrees, id);
    const { mtimeMs } = await lstat(place.dir);
    const isOwn = journal.read().some((record) => record.id === id);
    if (!isOwn && now() - mtimeMs <= FOREIGN_AGE_MS) continue;
    // One that cannot be taken away does not keep the others.
    await discardTree(memory, place).catch(() => {});
  }
}

/** Transcripts of dreams that are over are nobody's to read. */
async function sweepPayloads({ payloads }: { payloads: string }): Promise<void> {
  if (!existsSync(payloads)) return;
  for (const name of await readdir(payloads)) {
    if (name.startsWith(PAYLOAD_FOLDER)) await rm(join(payloads, name), { recursive: true, force: true });
  }
}

/** Of one dream; its id follows. */
export const PAYLOAD_FOLDER = "dream-";
