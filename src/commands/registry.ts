// Every subcommand: its one-line summary for help and completion, and where it is loaded from when used. A command has
// a description of its own only when there is more to say than the summary does.

import { type AnyCommand, metaOf } from "./run-command.ts";

export interface CommandEntry {
  summary: string;
  /** Other names. */
  also?: readonly string[];
  load: () => Promise<{ command: AnyCommand }>;
}

/** In the order help shows them. */
export const COMMANDS: Record<string, CommandEntry> = {
  demo: { summary: "See it work in seconds, without account, key or network", load: () => import("./demo.ts") },
  connect: { summary: "Connect a model provider or a local model server", load: () => import("./connect.ts") },
  providers: { summary: "List, test and remove connected providers", load: () => import("./providers.ts") },
  model: { summary: "List models and set the default one", also: ["models"], load: () => import("./model.ts") },
  agents: { summary: "List, create, show, rename and delete agents", load: () => import("./agents.ts") },
  conversations: {
    summary: "List, show, rename, archive, delete and fork conversations",
    load: () => import("./conversations.ts"),
  },
  messages: { summary: "List, search and transcribe messages", load: () => import("./messages.ts") },
  runs: { summary: "List runs, replay and follow their streams", load: () => import("./runs.ts") },
  dream: {
    summary: "Look back on conversations and update the memory; decide about changes that wait",
    load: () => import("./dream.ts"),
  },
  memory: {
    summary: "See, take back, check and sync an agent's memory",
    also: ["memfs"],
    load: () => import("./memory.ts"),
  },
  skills: {
    summary: "List, install, update, check and delete an agent's skills",
    load: () => import("./skills.ts"),
  },
  install: { summary: "Install a skill: the same as letta skills install", load: () => import("./install.ts") },
  undo: { summary: "Take back the file changes of a turn", load: () => import("./undo.ts") },
  pin: { summary: "Pin an agent, so that it is offered first and --name finds it", load: () => import("./pin.ts") },
  unpin: { summary: "Take an agent's pin away", load: () => import("./unpin.ts") },
  export: { summary: "Print a conversation as Markdown or JSON", load: () => import("./export.ts") },
  import: { summary: "Take over agents and conversations of another Letta client", load: () => import("./import.ts") },
  permissions: { summary: "Show the permission mode and rules", load: () => import("./permissions.ts") },
  sandbox: { summary: "Say what confines commands on this machine, and try it", load: () => import("./sandbox.ts") },
  trust: { summary: "Let this folder's own settings take effect, or take that back", load: () => import("./trust.ts") },
  hooks: { summary: "Show the hooks in force, and try them", load: () => import("./hooks.ts") },
  secret: { summary: "Keep values that commands use by name", load: () => import("./secret.ts") },
  tools: { summary: "List the tools the model can be offered", load: () => import("./tools.ts") },
  config: { summary: "Read and change settings", load: () => import("./config.ts") },
  backend: { summary: "Show or choose where agents live", load: () => import("./backend.ts") },
  doctor: {
    summary: "Check store, settings, keys and helpers; repair what is safe",
    load: () => import("./doctor.ts"),
  },
  script: { summary: "Run a skill's script with the built-in Bun", load: () => import("./script.ts") },
  completion: { summary: "Print a completion script for bash, zsh or fish", load: () => import("./completion.ts") },
  help: { summary: "Explain letta, or one command", load: () => import("./help.ts") },
  version: { summary: "Show the version", load: () => import("./version.ts") },
};

/** Commands of other versions: saying so is kinder than "unknown". */
export const MISSING_COMMANDS: Record<string, string> = {
  update: "Run install.sh again to update.",
  setup: "Connect a model with letta connect; letta alone starts talking.",
  mods: "Mods come later.",
  cron: "Use the system's cron with letta -p.",
  trajectories: "letta import takes over another client's history.",
  server: "Programs can drive letta -p --input-format stream-json.",
  remote: "Programs can drive letta -p --input-format stream-json.",
  channels: "Chat channels come later.",
  environments: "Remote environments come later.",
  login: "Agents live on this machine: letta connect adds a model.",
};

export interface FoundCommand {
  name: string;
  entry: CommandEntry;
}

/** By its name or one of its other names. */
export function findCommand(typed: string): FoundCommand | undefined {
  for (const [name, entry] of Object.entries(COMMANDS)) {
    if (name === typed || entry.also?.includes(typed)) return { name, entry };
  }
  return undefined;
}

/** The command with its name, and the summary where it does not describe itself. */
export async function loadCommand({ name, entry }: FoundCommand): Promise<AnyCommand> {
  const { command } = await entry.load();
  const { description = entry.summary } = await metaOf(command, name);
  return { ...command, meta: { name, description } };
}

export function commandNames(): string[] {
  return Object.entries(COMMANDS).flatMap(([name, { also = [] }]) => [name, ...also]);
}
