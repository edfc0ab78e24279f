// Is it time to dream? Pure: what is known about a conversation in, a verdict with its reason out.

import { BACK_OFF_TURNS } from "./limits.ts";
import type { ReflectionChoice } from "./settings.ts";

export interface TriggerFacts {
  /** Replies of the agent that no dream has seen. */
  steps: number;
  /** A compaction that no dream has seen. */
  compacted: boolean;
  /** Dreams that failed since the last one that did not. */
  failures: number;
  /** Turns begun since the last of those. */
  turnsSinceFailure: number;
}

export type TriggerVerdict =
  | { due: true; because: "step-count" | "compaction-event" }
  | { due: false; because: "off" | "not_enough_steps" | "no_compaction" | "backing_off" };

export function judgeTrigger(
  { trigger, stepCount }: Pick<ReflectionChoice, "trigger" | "stepCount">,
  facts: TriggerFacts,
): TriggerVerdict {
  if (trigger === "off") return { due: false, because: "off" };
  if (trigger === "step-count" && facts.steps < stepCount) return { due: false, because: "not_enough_steps" };
  if (trigger === "compaction-event" && !facts.compacted) return { due: false, because: "no_compaction" };
  if (facts.turnsSinceFailure < backOffTurns(facts.failures)) return { due: false, because: "backing_off" };
  return { due: true, because: trigger };
}

/** Turns to let pass after so many failures in a row. */
export function backOffTurns(failures: number): number {
  return failures === 0 ? 0 : (BACK_OFF_TURNS[failures - 1] ?? BACK_OFF_TURNS.at(-1)!);
}
