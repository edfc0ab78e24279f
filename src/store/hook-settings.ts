// The `hooks` key of settings files: which commands and model checks run at which moments of a session. Here only its
// shape; `hooks/` says what the events mean and what a hook may answer.

import * as v from "valibot";

export const HOOK_EVENTS = [
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PermissionRequest",
  "UserPromptSubmit",
  "Notification",
  "Stop",
  "SubagentStop",
  "PreCompact",
  "SessionStart",
  "SessionEnd",
] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

const timeout = v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(600_000)));

const CommandHookSchema = v.looseObject({
  type: v.literal("command"),
  /** For the platform's shell. */
  command: v.pipe(v.string(), v.nonEmpty("a hook needs a command")),
  /** Milliseconds. Default 60,000. */
  timeout,
  /** What it prints is not shown. */
  quiet: v.optional(v.boolean()),
});
const PromptHookSchema = v.looseObject({
  type: v.literal("prompt"),
  /** `$ARGUMENTS` becomes the event's input as JSON; without it the input is appended. */
  prompt: v.pipe(v.string(), v.nonEmpty("a hook needs a prompt")),
  /** Handle. Default: the model of the conversation. */
  model: v.optional(v.string()),
  /** Milliseconds. Default 30,000. */
  timeout,
  quiet: v.optional(v.boolean()),
});
const HookSchema = v.variant("type", [CommandHookSchema, PromptHookSchema]);
export type HookDefinition = v.InferOutput<typeof HookSchema>;
export type CommandHook = v.InferOutput<typeof CommandHookSchema>;
export type PromptHook = v.InferOutput<typeof PromptHookSchema>;

const HookGroupSchema = v.looseObject({
  /** Tool events only: empty or `*` is every tool, else a regular expression for the whole name. */
  matcher: v.optional(v.string()),
  hooks: v.array(HookSchema),
});
const groups = v.optional(v.array(HookGroupSchema));

/** Strict: a misspelt event would be a guard that never stands. The file keeps the key, people are told. */
export const HookSettingsSchema = v.strictObject(
  {
    disabled: v.optional(v.boolean()),
    PreToolUse: groups,
    PostToolUse: groups,
    PostToolUseFailure: groups,
    PermissionRequest: groups,
    UserPromptSubmit: groups,
    Notification: groups,
    Stop: groups,
    SubagentStop: groups,
    PreCompact: groups,
    SessionStart: groups,
    SessionEnd: groups,
  },
  ({ received }) => `${received} is not a hook event; they are ${HOOK_EVENTS.join(", ")}`,
);
