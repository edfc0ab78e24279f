// What a child agent is started with. Pure: the launch as one JSON line for the child's stdin, its argv and environment.
// Both sides read the schema below; a child may be a newer version than its parent, so unknown fields are ignored.

import * as v from "valibot";
import { withoutBunSwitches } from "@/lib/self.ts";
import { PERMISSION_MODES } from "@/permissions/rules.ts";

export const LAUNCH_VERSION = 1;

const Text = v.string();
const Texts = v.array(Text);

export const LaunchSchema = v.object({
  v: v.literal(LAUNCH_VERSION),
  /** Names the run in logs and process lists. */
  run_id: Text,
  backend: v.picklist(["local", "api"]),
  /** `new`: nobody keeps it; its state is gone with the process. */
  agent: v.object({ kind: v.literal("new"), tags: v.optional(Texts, []) }),
  system_prompt: Text,
  /** The first message. More may follow on stdin, as lines of `--input-format stream-json`. */
  prompt: Text,
  /** Handle. Null: what the child would choose by itself. */
  model: v.nullable(Text),
  /** Names of tools; null: all. */
  tools: v.nullable(Texts),
  permissions: v.object({
    mode: v.picklist(PERMISSION_MODES),
    allow: v.optional(Texts, []),
    deny: v.optional(Texts, []),
  }),
  /** The child works on a memory: its shell is confined to it. */
  memory: v.optional(
    v.object({
      /** Where it works; absolute. The shell knows it as `$MEMORY_DIR`. */
      dir: Text,
      /** Further folders it may read although they are the harness's own. */
      readable: v.optional(Texts, []),
    }),
  ),
  /** The shell knows it as `$TRANSCRIPT_PATH`. */
  transcript_path: v.optional(Text),
  /** Absolute. */
  cwd: Text,
  limits: v.optional(v.object({ max_turns: v.optional(v.number()), timeout_s: v.optional(v.number()) }), {}),
  /** Of nesting: a child of the person's own process has 1. */
  depth: v.number(),
});
export type Launch = v.InferOutput<typeof LaunchSchema>;

/** Arguments for this program. Nothing else is on the command line: process lists show that. */
export const CHILD_ARGS = ["--subagent-stdio", String(LAUNCH_VERSION)] as const;

export function launchLine(launch: Launch): string {
  return `${JSON.stringify(launch)}\n`;
}

export interface ChildEnvOptions {
  /** Of this process. */
  env: Readonly<Record<string, string | undefined>>;
  /** Whose child it is. */
  parentAgentId: string;
  /** Name and value of what marks the child's processes. */
  mark: { name: string; value: string };
}

/** The parent's environment (the child talks to the same providers), and what tells the child what it is. */
export function childEnv(launch: Launch, { env, parentAgentId, mark }: ChildEnvOptions): Record<string, string> {
  const inherited = withoutBunSwitches(env);
  // Of the parent's own agent and memory: a child has its own or none.
  for (const name of OWN_VARIABLES) delete inherited[name];
  const { memory, transcript_path } = launch;
  return {
    ...inherited,
    USER_CWD: launch.cwd,
    LETTA_CODE_AGENT_ROLE: "subagent",
    LETTA_PARENT_AGENT_ID: parentAgentId,
    LETTA_SUBAGENT_DEPTH: String(launch.depth),
    ...(memory && { MEMORY_DIR: memory.dir, LETTA_MEMORY_DIR: memory.dir }),
    ...(transcript_path !== undefined && { TRANSCRIPT_PATH: transcript_path }),
    [mark.name]: mark.value,
  };
}

const OWN_VARIABLES = [
  ...["AGENT_ID", "LETTA_AGENT_ID", "AGENT_NAME", "CONVERSATION_ID", "LETTA_CONVERSATION_ID"],
  ...["MEMORY_DIR", "LETTA_MEMORY_DIR", "TRANSCRIPT_PATH"],
];
