import { expect, test } from "bun:test";
import { openDreamJournal } from "@/memory/reflection/journal.ts";
import type { ReminderContext } from "@/reminders/registry.ts";
import { waitingDreams } from "@/reminders/waiting-dreams.ts";
import { tempDir } from "../support/binary.ts";

const TIP = "e".repeat(40);
const plan = { agentId: "a", base: TIP, moves: [], reviewed: [] };
const id = (n: number) => `20260504100000-0000000${n}`;

test("the agent hears of changes that wait for it, and only of those", async () => {
  using dir = tempDir();
  const settings = { user: { reflectionMergeInstructions: "keep it short" }, local: {} };
  // The rest of the context is not looked at.
  const build = () =>
    waitingDreams.build({ agent: { id: "a" }, memoryDir: dir.path, settings } as ReminderContext, undefined);
  expect(await build()).toBeNull();
  const journal = openDreamJournal(dir.path);
  const propose = (id: string, merge: "explicit" | "review", advances: boolean) => {
    journal.append(id, { step: "planned", plan: { ...plan, merge } });
    journal.append(id, { step: "committed", tip: TIP, subject: `feat(reflection): ${id}`, notes: [] });
    journal.append(id, { step: "proposed", tip: TIP, reason: "waits", advances });
  };
  propose(id(1), "review", true);
  propose(id(2), "explicit", false);
  expect(await build()).toBeNull();
  propose(id(3), "explicit", true);
  const reminder = await build();
  expect(reminder?.fingerprint).toBe(id(3));
  expect(reminder?.text).toContain(`- ${id(3)}: feat(reflection): ${id(3)}`);
  expect(reminder?.text).toEndWith("The person wants you to heed: keep it short");
  journal.append(id(3), { step: "decided", decision: "accepted", by: "agent" });
  expect(await build()).toBeNull();
});
