import { expect, test } from "bun:test";
import { backOffTurns, judgeTrigger, type TriggerFacts } from "@/memory/reflection/trigger.ts";

const quiet: TriggerFacts = { steps: 0, compacted: false, failures: 0, turnsSinceFailure: 0 };

test.each([
  ["step-count", { steps: 24 }, "not_enough_steps"],
  ["step-count", { steps: 25 }, "step-count"],
  ["step-count", { steps: 24, compacted: true }, "not_enough_steps"],
  ["compaction-event", { steps: 500 }, "no_compaction"],
  ["compaction-event", { compacted: true }, "compaction-event"],
  ["off", { steps: 500, compacted: true }, "off"],
  // After failures a growing number of turns passes, instead of a dream after each.
  ["step-count", { steps: 30, failures: 1, turnsSinceFailure: 0 }, "backing_off"],
  ["step-count", { steps: 30, failures: 1, turnsSinceFailure: 1 }, "step-count"],
  ["step-count", { steps: 30, failures: 3, turnsSinceFailure: 3 }, "backing_off"],
  ["step-count", { steps: 30, failures: 3, turnsSinceFailure: 4 }, "step-count"],
  ["compaction-event", { compacted: true, failures: 9, turnsSinceFailure: 7 }, "backing_off"],
  ["compaction-event", { compacted: true, failures: 9, turnsSinceFailure: 8 }, "compaction-event"],
] as const)("%s with %p: %s", (trigger, facts, because) => {
  const verdict = judgeTrigger({ trigger, stepCount: 25 }, { ...quiet, ...facts });
  expect(verdict).toEqual({ due: because === trigger && because !== "off", because } as typeof verdict);
});

test("the pauses grow and then stay", () => {
  expect([0, 1, 2, 3, 4, 5, 50].map(backOffTurns)).toEqual([0, 1, 2, 4, 8, 8, 8]);
});
