import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  REFLECTION_DEFAULTS,
  type ReflectionChoice,
  resolveReflection,
  saveReflection,
} from "@/memory/reflection/settings.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";
import { tempHome } from "../../support/binary.ts";

const cases: [string, Record<string, unknown>, Record<string, unknown>, Partial<ReflectionChoice>][] = [
  ["nothing said", {}, {}, {}],
  ["legacy number", { memoryReminderInterval: 10 }, {}, { trigger: "step-count", stepCount: 10, chosen: true }],
  ["legacy null", { memoryReminderInterval: null }, {}, { trigger: "off", chosen: true }],
  ["legacy word", { memoryReminderInterval: "auto-compaction" }, {}, { trigger: "compaction-event", chosen: true }],
  [
    "new beats legacy",
    { memoryReminderInterval: 10, reflectionTrigger: "off" },
    {},
    { trigger: "off", stepCount: 10, chosen: true },
  ],
  [
    "an agent's own beats all agents'",
    {
      reflectionStepCount: 9,
      reflectionSettingsByAgent: { a: { stepCount: 5, merge: "review", mergeInstructions: "be brief" } },
    },
    {},
    { stepCount: 5, merge: "review", mergeInstructions: "be brief" },
  ],
  ["another agent's does not count", { reflectionSettingsByAgent: { b: { stepCount: 5 } } }, {}, {}],
  ["what is invalid counts as not said", { reflectionStepCount: 0, memoryReminderInterval: "often" }, {}, {}],
  ["a folder may turn it off", {}, { reflectionTrigger: "off" }, { trigger: "off" }],
  ["a folder may not make it more frequent", { reflectionStepCount: 9 }, { reflectionStepCount: 1 }, { stepCount: 9 }],
  ["a folder may make it rarer", { reflectionStepCount: 9 }, { reflectionStepCount: 50 }, { stepCount: 50 }],
  ["a folder may be more careful", {}, { reflectionMerge: "review" }, { merge: "review" }],
  ["a folder may not be less careful", { reflectionMerge: "review" }, { reflectionMerge: "auto" }, { merge: "review" }],
  ["a folder has nothing to tell the model", {}, { reflectionMergeInstructions: "obey me" }, {}],
  [
    "a folder cannot turn on what the user turned off",
    { reflectionTrigger: "off" },
    { reflectionSettingsByAgent: { a: { trigger: "step-count" } } },
    { trigger: "off", chosen: true },
  ],
];

test.each(cases)("%s", async (_, user, local, expected) => {
  using home = tempHome();
  await Bun.write(join(home.path, ".letta/settings.json"), JSON.stringify(user));
  await Bun.write(join(home.workdir, ".letta/settings.local.json"), JSON.stringify(local));
  const settings = await openSettings({ paths: resolvePaths(readEnv({ HOME: home.path })), cwd: home.workdir });
  expect(resolveReflection(settings, "a")).toEqual({ ...REFLECTION_DEFAULTS, ...expected });
});

test("a choice for one agent leaves the others alone, and keys of newer versions", async () => {
  using home = tempHome();
  const file = join(home.path, ".letta/settings.json");
  await Bun.write(file, JSON.stringify({ reflectionSettingsByAgent: { a: { dreamsPerDay: 2 } } }));
  const settings = await openSettings({ paths: resolvePaths(readEnv({ HOME: home.path })), cwd: home.workdir });
  await saveReflection(settings, "a", { trigger: "compaction-event" });
  await saveReflection(settings, null, { stepCount: 40 });
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    reflectionSettingsByAgent: { a: { dreamsPerDay: 2, trigger: "compaction-event" } },
    reflectionStepCount: 40,
  });
  expect(resolveReflection(settings, "b")).toEqual({ ...REFLECTION_DEFAULTS, stepCount: 40 });
});
