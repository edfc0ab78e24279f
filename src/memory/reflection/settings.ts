// When an agent dreams and what happens with the result: settings from the most general to the most particular, the
// later one wins. A folder's own settings can only ask for less: what a repository brings along must not spend money or
// speak to the model.

import type { LocalSettings, ReflectionSettings, SettingsStore, UserSettings } from "@/store/settings.ts";
import { DEFAULT_STEP_COUNT } from "./limits.ts";

export const TRIGGERS = ["off", "step-count", "compaction-event"] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** From least to most careful. `auto` merges what is sound, `explicit` has the agent itself look at it first, `review`
 *  waits for a person. */
export const MERGE_MODES = ["auto", "explicit", "review"] as const;
export type MergeMode = (typeof MERGE_MODES)[number];

export interface ReflectionChoice {
  trigger: Trigger;
  /** Replies of the agent between two dreams. */
  stepCount: number;
  merge: MergeMode;
  /** For who integrates the result; "" when there are none. */
  mergeInstructions: string;
  /** Somebody chose the trigger; otherwise it is the built-in one. */
  chosen: boolean;
}

export const REFLECTION_DEFAULTS: Readonly<ReflectionChoice> = {
  trigger: "step-count",
  stepCount: DEFAULT_STEP_COUNT,
  merge: "auto",
  mergeInstructions: "",
  chosen: false,
};

type Partly = Partial<Omit<ReflectionChoice, "chosen">>;

/** `flags` beat everything, in this process. */
export function resolveReflection(
  settings: Pick<SettingsStore, "user" | "local">,
  agentId: string,
  flags: Partly = {},
): ReflectionChoice {
  const { user, local } = settings;
  const mine = layer(
    fromLegacy(user.memoryReminderInterval),
    fromTopLevel(user),
    fromEntry(user.reflectionSettingsByAgent?.[agentId]),
  );
  const ofFolder = layer(
    fromLegacy(local.memoryReminderInterval),
    fromTopLevel(local),
    fromEntry(local.reflectionSettingsByAgent?.[agentId]),
  );
  const chosen = mine.trigger !== undefined || flags.trigger !== undefined;
  return layer({ ...REFLECTION_DEFAULTS, chosen }, mine, lessOf({ ...REFLECTION_DEFAULTS, ...mine }, ofFolder), flags);
}

export interface ReflectionChange {
  trigger?: Trigger;
  stepCount?: number;
  merge?: MergeMode;
  mergeInstructions?: string;
}

/** For one agent, or (null) for all that have no choice of their own. */
export async function saveReflection(
  settings: Pick<SettingsStore, "updateUser">,
  agentId: string | null,
  change: ReflectionChange,
): Promise<void> {
  await settings.updateUser((user) => {
    if (agentId === null) {
      if (change.trigger !== undefined) user.reflectionTrigger = change.trigger;
      if (change.stepCount !== undefined) user.reflectionStepCount = change.stepCount;
      if (change.merge !== undefined) user.reflectionMerge = change.merge;
      if (change.mergeInstructions !== undefined) user.reflectionMergeInstructions = change.mergeInstructions;
      return;
    }
    const all = user.reflectionSettingsByAgent ?? {};
    user.reflectionSettingsByAgent = { ...all, [agentId]: { ...all[agentId], ...change } };
  });
}

/** `25` is every 25 replies, null is never, and two words meant compactions. */
function fromLegacy(value: unknown): Partly {
  if (value === null) return { trigger: "off" };
  if (isCount(value)) return { trigger: "step-count", stepCount: value };
  if (value === "compaction" || value === "auto-compaction") return { trigger: "compaction-event" };
  return {};
}

function fromTopLevel(settings: UserSettings | LocalSettings): Partly {
  return fromEntry({
    trigger: settings.reflectionTrigger,
    stepCount: settings.reflectionStepCount,
    merge: settings.reflectionMerge,
    mergeInstructions: settings.reflectionMergeInstructions,
  });
}

/** What is not valid counts as not said. */
function fromEntry(entry: Partial<Record<keyof ReflectionSettings, unknown>> = {}): Partly {
  const trigger = TRIGGERS.find((name) => name === entry.trigger);
  const merge = MERGE_MODES.find((name) => name === entry.merge);
  return {
    ...(trigger && { trigger }),
    ...(isCount(entry.stepCount) && { stepCount: entry.stepCount }),
    ...(merge && { merge }),
    ...(typeof entry.mergeInstructions === "string" && { mergeInstructions: entry.mergeInstructions }),
  };
}

function lessOf(mine: Omit<ReflectionChoice, "chosen">, { trigger, stepCount, merge }: Partly): Partly {
  const rarer = stepCount !== undefined && stepCount > mine.stepCount;
  const stricter = merge !== undefined && MERGE_MODES.indexOf(merge) > MERGE_MODES.indexOf(mine.merge);
  return {
    ...(trigger === "off" && { trigger }),
    ...(rarer && { stepCount }),
    ...(stricter && { merge }),
  };
}

function layer<T extends Partly>(first: T, ...rest: Partly[]): T {
  return Object.assign({}, first, ...rest);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}
