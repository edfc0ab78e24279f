// What killed processes left: dreams without an end are brought to one, and worktrees nobody knows are taken away.
// Runs under the agent's reflection lease, so whatever is open has nobody any more.

import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isOpen } from "./journal.ts";
import { dropDream, type SettleDeps, type Settled, settleDream } from "./settle.ts";
import { discardTree, dreamBranch } from "./worktree.ts";

/** A worktree that is in no journal may be another program's at work. */
const FOREIGN_AGE_MS = 24 * 3_600_000;

export interface Recovered {
  id: string;
  status: Settled["status"];
  reason: string | null;
}

export async function recoverDreams(
  deps: SettleDeps & { worktrees: string; payloads: string; now(): number },
): Promise<Recovered[]> {
  const { journal } = deps;
  const recovered: Recovered[] = [];
  for (const record of journal.read().filter(isOpen)) {
    if (record.committed) {
      const { status, reason } = await settleDream(record, deps);
      recovered.push({ id: record.id, status, reason });
    } else {
      const reason = "the process that ran it ended";
      await dropDream(record, { status: "stopped", reason, moved: "fail" }, deps);
      recovered.push({ id: record.id, status: "stopped", reason });
    }
  }
  await sweepOrphans(deps);
  await sweepPayloads(deps);
  journal.compact();
  return recovered;
}

async function sweepOrphans({ memory, journal, worktrees, now }: Parameters<typeof recoverDreams>[0]): Promise<void> {
  if (!existsSync(worktrees)) return;
  const known = new Set(
    journal
      .read()
      .filter(isOpen)
      .map(({ plan }) => plan.dir),
  );
  for (const name of await readdir(worktrees)) {
    const dir = join(worktrees, name);
    const id = /^reflection-(.+)$/.exec(name)?.[1];
    if (id === undefined || known.has(dir)) continue;
    const { mtimeMs } = await stat(dir);
    const isOwn = journal.read().some((record) => record.id === id);
    if (isOwn || now() - mtimeMs > FOREIGN_AGE_MS) await discardTree(memory, { dir, branch: dreamBranch(id) });
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
