// Changes of its memory that wait for the agent itself to look at them (reflectionMerge: explicit).

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Reminder } from "./registry.ts";

export const waitingDreams: Reminder = {
  id: "waiting-dreams",
  async build({ agent, memoryDir, settings }) {
    if (memoryDir === null || !existsSync(join(memoryDir, ".git/letta/dreams.jsonl"))) return null;
    const [{ isPending, openDreamJournal }, { resolveReflection }] = await Promise.all([
      import("@/memory/reflection/journal.ts"),
      import("@/memory/reflection/settings.ts"),
    ]);
    const waiting = openDreamJournal(memoryDir)
      .read()
      .filter((record) => isPending(record) && record.plan.merge === "explicit" && record.proposed?.advances);
    if (waiting.length === 0) return null;
    const { mergeInstructions } = resolveReflection(settings, agent.id);
    const lines = [
      "You looked back on earlier conversations in the background, and want to change your memory. Before that happens you are to look at it yourself, when there is a quiet moment:",
      ...waiting.map(({ id, committed }) => `- ${id}: ${committed?.subject ?? ""}`),
      "`letta dream show ID` shows what would change, `letta dream accept ID` makes it part of your memory, `letta dream reject ID` leaves it out. What is almost right: accept it, then correct your memory.",
      ...(mergeInstructions ? [`The person wants you to heed: ${mergeInstructions}`] : []),
    ];
    return { text: lines.join("\n"), fingerprint: waiting.map(({ id }) => id).join(" ") };
  },
};
