import { expect, test } from "bun:test";
import { openDreamJournal } from "@/memory/reflection/journal.ts";
import type { ReminderContext } from "@/reminders/registry.ts";
import { waitingDreams } from "@/reminders/waiting-dreams.ts";
import { tempDir } from "../support/binary.ts";

const plan = { agentId: "a", base: "b", branch: "r", dir: "/d", moves: [], reviewed: [] };

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
    journal.append(id, { step: "committed", tip: "t", subject: `feat(reflection): ${id}`, notes: [] });
    journal.append(id, { step: "proposed", ref: "r", tip: "t", reason: "waits", advances });
  };
  propose("of-the-person", "review", true);
  propose("damaged", "explicit", false);
  expect(await build()).toBeNull();
  propose("mine", "explicit", true);
  const reminder = await build();
  expect(reminder?.fingerprint).toBe("mine");
  expect(reminder?.text).toContain("- mine: feat(reflection): mine");
  expect(reminder?.text).toEndWith("The person wants you to heed: keep it short");
  journal.append("mine", { step: "decided", decision: "accepted", by: "agent" });
  expect(await build()).toBeNull();
});
