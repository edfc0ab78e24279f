// The one table of global flags. Parsing, "did you mean", conflicts and the text of `letta --help` derive from it;
// nothing else in the product spells a flag's rules. Subcommands have their own flags (run-command.ts).

import { PERSONALITIES, PERSONALITY_ALIASES } from "@/memory/personalities.ts";
import { TRIGGERS } from "@/memory/reflection/settings.ts";
import { LEGACY_MODES, PERMISSION_MODES } from "@/permissions/rules.ts";
import { TOOLSET_CHOICES } from "@/tools/toolsets.ts";

export interface FlagDef {
  /** One letter. */
  alias?: string;
  /** Other long spellings that mean the same. */
  also?: readonly string[];
  /** `list` may be given several times; `rules` and `csv` split at commas; `duration` becomes milliseconds. */
  type: "boolean" | "string" | "csv" | "rules" | "list" | "integer" | "number" | "duration";
  /** Name of the value in the help text. */
  hint?: string;
  /** The only accepted values. */
  values?: readonly string[];
  /** Spellings of older clients → the value they mean. */
  legacy?: Readonly<Record<string, string>>;
  mode: "both" | "headless" | "interactive";
  group: FlagGroup;
  help: string;
  hidden?: boolean;
  /** Accepted, does nothing: it turns off something this version does not have. */
  noop?: boolean;
  /** What the flag belongs to; giving it is a usage error that says so. */
  missing?: string;
}

export const FLAG_GROUPS = [
  "Run",
  "Agent and conversation",
  "Model",
  "Permissions and tools",
  "Prompt",
  "Output",
  "Limits",
] as const;
export type FlagGroup = (typeof FLAG_GROUPS)[number];

const none = "Run" as const;
const off = (help: string) => ({ type: "boolean", mode: "both", group: none, help, hidden: true, noop: true }) as const;
const missing = (type: "boolean" | "string", what: string) =>
  ({ type, mode: "both", group: none, help: what, hidden: true, missing: what }) as const;

export const FLAGS = {
  prompt: {
    alias: "p",
    also: ["run", "print"],
    type: "boolean",
    mode: "headless",
    group: "Run",
    help: "Run one prompt without a terminal and exit",
  },
  backend: {
    type: "string",
    hint: "MODE",
    values: ["api", "local"],
    legacy: { cloud: "api" },
    mode: "both",
    group: "Run",
    help: "Where agents live, for this run only",
  },
  "dry-run": {
    also: ["info"],
    type: "boolean",
    mode: "both",
    group: "Run",
    help: "Show agent, model, permissions and tools, and exit",
  },
  record: { type: "string", hint: "FILE", mode: "headless", group: "Run", help: "Save the model's replies to FILE" },
  replay: { type: "string", hint: "FILE", mode: "headless", group: "Run", help: "Take the model's replies from FILE" },
  help: { alias: "h", type: "boolean", mode: "both", group: "Run", help: "Show this text" },
  version: { alias: "v", type: "boolean", mode: "both", group: "Run", help: "Show the version" },

  agent: {
    alias: "a",
    type: "string",
    hint: "ID",
    mode: "both",
    group: "Agent and conversation",
    help: "Use this agent",
  },
  name: {
    alias: "n",
    type: "string",
    hint: "NAME",
    mode: "both",
    group: "Agent and conversation",
    help: "Use the pinned agent of this name",
  },
  conversation: {
    alias: "C",
    also: ["conv"],
    type: "string",
    hint: "ID",
    mode: "both",
    group: "Agent and conversation",
    help: "Go on with this conversation",
  },
  continue: {
    also: ["continue-last"],
    type: "boolean",
    mode: "headless",
    group: "Agent and conversation",
    help: "Go on with this folder's last -p conversation",
  },
  resume: {
    alias: "r",
    type: "boolean",
    mode: "interactive",
    group: "Agent and conversation",
    help: "Choose one of the agent's conversations",
  },
  new: { type: "boolean", mode: "both", group: "Agent and conversation", help: "Start a new conversation" },
  "new-agent": { type: "boolean", mode: "both", group: "Agent and conversation", help: "Create an agent and use it" },
  personality: {
    type: "string",
    hint: "NAME",
    values: PERSONALITIES.map(({ id }) => id),
    legacy: PERSONALITY_ALIASES,
    mode: "both",
    group: "Agent and conversation",
    help: "What a created agent begins as",
  },
  tags: {
    type: "csv",
    hint: "A,B",
    mode: "headless",
    group: "Agent and conversation",
    help: "Tags of an agent created by this run",
    hidden: true,
  },
  ephemeral: {
    type: "boolean",
    mode: "headless",
    group: "Agent and conversation",
    help: "Keep nothing: no agent, no history",
  },
  stateless: {
    type: "boolean",
    mode: "headless",
    group: "Agent and conversation",
    help: "Existing agent without its memory",
    hidden: true,
  },

  model: { alias: "m", type: "string", hint: "HANDLE", mode: "both", group: "Model", help: "Model, as provider/model" },
  system: {
    alias: "s",
    type: "string",
    hint: "PRESET",
    values: ["default"],
    legacy: { letta: "default" },
    mode: "both",
    group: "Model",
    help: "System prompt preset",
  },
  "system-custom": { type: "string", hint: "TEXT", mode: "both", group: "Model", help: "System prompt, as text" },
  save: { type: "boolean", mode: "both", group: "Model", help: "Keep --model and --system for the agent" },

  "permission-mode": {
    type: "string",
    hint: "MODE",
    values: PERMISSION_MODES,
    legacy: LEGACY_MODES,
    mode: "both",
    group: "Permissions and tools",
    help: "What may run without asking",
  },
  yolo: {
    type: "boolean",
    mode: "both",
    group: "Permissions and tools",
    help: "Same as --permission-mode unrestricted",
  },
  allowedTools: {
    also: ["allowed-tools"],
    type: "rules",
    hint: "RULES",
    mode: "both",
    group: "Permissions and tools",
    help: "Allow too, as in 'Bash(git diff:*),Edit(src/**)'",
  },
  disallowedTools: {
    also: ["disallowed-tools"],
    type: "rules",
    hint: "RULES",
    mode: "both",
    group: "Permissions and tools",
    help: "Never allow these",
  },
  sandbox: {
    type: "string",
    hint: "PROFILE",
    values: ["off", "workspace", "strict"],
    legacy: { "workspace-write": "workspace", "read-only": "strict" },
    mode: "both",
    group: "Permissions and tools",
    help: "What shell commands may reach",
  },
  tools: {
    type: "csv",
    hint: "NAMES",
    mode: "both",
    group: "Permissions and tools",
    help: 'Offer only these tools; "" for none',
  },
  toolset: {
    type: "string",
    hint: "NAME",
    values: TOOLSET_CHOICES,
    mode: "both",
    group: "Permissions and tools",
    help: "Tools of a model family: auto, default, codex, gemini, none or a _snake variant",
  },

  stdin: {
    type: "boolean",
    mode: "headless",
    group: "Prompt",
    help: "Wait for the end of stdin however long it takes",
  },
  "no-stdin": { type: "boolean", mode: "headless", group: "Prompt", help: "Never read stdin" },
  "prompt-file": {
    type: "string",
    hint: "PATH",
    mode: "headless",
    group: "Prompt",
    help: "Take the prompt from a file",
  },
  file: {
    type: "list",
    hint: "PATH",
    mode: "headless",
    group: "Prompt",
    help: "Attach a text file or an image; may be repeated",
  },
  "no-system-info-reminder": {
    type: "boolean",
    mode: "both",
    group: "Model",
    help: "Do not describe this machine to the model",
  },

  "output-format": {
    type: "string",
    hint: "FORMAT",
    values: ["text", "json", "stream-json"],
    mode: "headless",
    group: "Output",
    help: "What stdout carries (default text)",
  },
  "input-format": {
    type: "string",
    hint: "FORMAT",
    values: ["text", "stream-json"],
    mode: "headless",
    group: "Output",
    help: "stream-json: JSON lines in both directions, for programs",
  },
  "include-partial-messages": {
    type: "boolean",
    mode: "headless",
    group: "Output",
    help: "With stream-json: add stream_event lines",
  },
  "print-schema": {
    type: "boolean",
    mode: "both",
    group: "Run",
    help: "Print the JSON Schema of stream-json lines",
  },

  "max-turns": { type: "integer", hint: "N", mode: "headless", group: "Limits", help: "Stop after N model calls" },
  "max-cost": {
    type: "number",
    hint: "USD",
    mode: "headless",
    group: "Limits",
    help: "Stop when the turn has cost this much",
  },
  "max-tokens": { type: "integer", hint: "N", mode: "headless", group: "Limits", help: "Stop after N tokens" },
  "max-tool-calls": { type: "integer", hint: "N", mode: "headless", group: "Limits", help: "Stop after N tool calls" },
  timeout: {
    type: "duration",
    hint: "TIME",
    mode: "headless",
    group: "Limits",
    help: "Stop after this time, for example 90s or 10m",
  },

  "subagent-stdio": {
    type: "string",
    hint: "VERSION",
    values: ["1"],
    mode: "headless",
    group: none,
    help: "Started by letta itself: what to do comes on stdin",
    hidden: true,
  },
  "no-skills": off("skills"),
  "no-bundled-skills": off("built-in skills"),
  "no-mods": { ...off("mods"), also: ["no-extensions"] },
  // Agents on this machine always have one.
  memfs: off("the memory directory"),
  "no-memfs": off("the memory directory"),
  "memfs-startup": {
    type: "string",
    values: ["blocking", "background", "skip"],
    hint: "WHEN",
    mode: "both",
    group: "Agent and conversation",
    help: "The first message waits for a memory's remote, or does not",
    hidden: true,
  },
  "reflection-trigger": {
    type: "string",
    hint: "WHEN",
    values: TRIGGERS,
    mode: "both",
    group: "Agent and conversation",
    help: "When the agent looks back by itself",
    hidden: true,
  },
  "reflection-step-count": {
    type: "integer",
    hint: "N",
    mode: "both",
    group: "Agent and conversation",
    help: "With step-count: after so many replies",
    hidden: true,
  },
  "no-dream": {
    type: "boolean",
    mode: "headless",
    group: "Agent and conversation",
    help: "Start no reflection when this run ends",
  },
  skills: missing("string", "skills"),
  "skill-sources": missing("string", "skills"),
  "pre-load-skills": missing("string", "skills"),
  "disable-memory-guard": missing("boolean", "memory directories"),
  "base-tools": missing("string", "server-side tools"),
  "from-agent": missing("string", "messages between agents"),
  environment: { ...missing("string", "remote environments"), also: ["env"] },
  import: { ...missing("string", "importing agents by flag"), also: ["from-af"] },
  embedding: missing("string", "embedding models"),
  "json-schema": missing("string", "structured output"),
} as const satisfies Record<string, FlagDef>;

export type FlagName = keyof typeof FLAGS;
type FlagValue<Type extends FlagDef["type"]> = Type extends "boolean"
  ? boolean
  : Type extends "integer" | "number" | "duration"
    ? number
    : Type extends "csv" | "rules" | "list"
      ? string[]
      : string;
/** Only flags that were given are present. */
export type GlobalFlags = { [Name in FlagName]?: FlagValue<(typeof FLAGS)[Name]["type"]> };

/** Combinations that make no sense: `flag` with any of `not`, or without any of `needs`. First match is reported. */
export const CONFLICTS: readonly { flag: FlagName; not?: readonly FlagName[]; needs?: readonly FlagName[] }[] = [
  {
    flag: "ephemeral",
    not: [
      ...(["agent", "name", "conversation", "new-agent", "new", "continue"] as const),
      ...(["stateless", "save", "personality", "memfs-startup"] as const),
    ],
  },
  { flag: "stateless", not: ["new-agent", "memfs-startup"], needs: ["agent", "name", "conversation"] },
  { flag: "conversation", not: ["name", "new-agent", "continue", "new", "resume"] },
  { flag: "continue", not: ["agent", "name", "new", "new-agent"] },
  { flag: "new", not: ["resume"] },
  { flag: "new-agent", not: ["agent", "name", "resume"] },
  { flag: "name", not: ["agent"] },
  { flag: "system", not: ["system-custom"] },
  { flag: "save", needs: ["model", "system", "system-custom"] },
  { flag: "stdin", not: ["no-stdin"] },
  { flag: "record", not: ["replay"] },
  { flag: "tags", needs: ["new-agent"] },
  { flag: "personality", needs: ["new-agent"] },
];
