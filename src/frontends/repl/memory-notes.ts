// What a person should know of the agent's memory without asking: what a turn changed in it, and what is unfinished there
// when a sitting begins. None of it is worth an error.

import { toPlainLine, truncate } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import type { AgentMemory } from "@/memory/service.ts";
import type { ReplSession } from "./session.ts";

const MAX_SHOWN = 3;
const MAX_LOOKED = 100;

/** The commit that a turn begins with; null where that cannot be said. */
export async function memoryHead(session: ReplSession): Promise<string | null> {
  try {
    return (await existing(session)?.head()) ?? null;
  } catch {
    return null;
  }
}

/** The commits since then: what, why, and how to take it back. */
export async function sayMemoryChanges(session: ReplSession, since: string | null): Promise<void> {
  try {
    const memory = existing(session);
    if (!memory || since === null || (await memory.head()) === since) return;
    const repository = await memory.ensure();
    const lines: string[] = [];
    for await (const { oid, message, parents } of repository.log({ firstParent: true, limit: MAX_LOOKED })) {
      if (oid === since) break;
      const changed = await repository.diffTrees(parents[0] ?? null, oid);
      const what = changed.map(({ path }) => path).join(", ");
      lines.push(`  memory ${oid.slice(0, 7)} ${toPlainLine(message.split("\n")[0] ?? "")} (${toPlainLine(what)})`);
    }
    const more = lines.length - MAX_SHOWN;
    const shown = [
      ...lines.slice(0, MAX_SHOWN),
      ...(more > 0 ? [`  and ${plural(more, "commit")} more: /memory log`] : []),
      "  /memory undo takes the last one back",
    ];
    session.print(shown.map((line) => session.ui.theme.dim(truncate(line, session.ui.columns() - 1))));
  } catch {
    // A memory that cannot be read says so where it is used.
  }
}

/** At the beginning of a sitting. */
export async function sayMemoryState(session: ReplSession): Promise<void> {
  try {
    const memory = existing(session);
    if (!memory) return;
    const repository = await memory.ensure();
    const changed = await repository.status();
    const { CONFLICTS, DIVERGED } = await import("@/memory/sync.ts");
    const conflicts = await repository.listRefs(CONFLICTS);
    if (changed.length > 0) {
      session.say(`Memory: ${plural(changed.length, "file has", "files have")} uncommitted changes (/memfs status).`);
    }
    if (conflicts.length > 0 || (await repository.resolve(DIVERGED)) !== null) {
      session.warn("Memory: this machine and the remote contradict each other; decide with: letta memory resolve");
    }
  } catch {
    // As above.
  }
}

function existing({ app, agent }: ReplSession): AgentMemory | null {
  const memory = app.memories?.find(agent) ?? null;
  return memory?.exists() ? memory : null;
}
