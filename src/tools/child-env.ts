// The environment of shell commands: ours, without secrets a command does not need, and without anything that would
// wait for a person (pagers, editors, credential prompts).

import { delimiter, join, sep } from "node:path";
import { pathInside } from "@/lib/path-inside.ts";
import { selfDirectory, withoutBunSwitches } from "@/lib/self.ts";
import type { Env } from "@/store/env.ts";
import type { Paths } from "@/store/paths.ts";
import { ripgrepDirectory } from "./ripgrep.ts";

/** `ANTHROPIC_API_KEY`, `GH_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `PGPASSWORD`, … */
const SECRET_NAME = /API_?KEY|SECRET|PRIVATE|(^|_)(TOKEN|CREDENTIALS?|PASS|PASSPHRASE|PAT|SK)$|_AUTH$|PASSWORD|PASSWD/i;

/** `DATABASE_URL=postgres://user:password@host/db`. Without its proxy a command would have no network at all. */
const URL_WITH_PASSWORD = /^[a-z][\w+.-]*:\/\/[^\s/@:]*:[^\s/@]+@/i;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

const MEMORY_VARIABLES = ["MEMORY_DIR", "LETTA_MEMORY_DIR"] as const;

/** Another agent's memory is nobody's business, except that of a parent who sent this process out, or one somebody
 *  named on purpose outside of what is ours. */
function isInheritable(dir: string | undefined, env: Env, paths: Paths): boolean {
  if (dir === undefined) return true;
  if (env.memoryDirExplicit && pathInside(paths.agents, dir) === null) return true;
  if (env.parentAgentId === undefined) return false;
  const inParent = pathInside(join(paths.agents, env.parentAgentId), dir);
  return inParent === "memory" || inParent?.startsWith(`memory-worktrees${sep}`) === true;
}

/** Of the agent whose command it is; null: it has none. */
export function buildAgentEnv(agent: { name: string; memoryDir: string | null } | null): Record<string, string> {
  if (agent === null) return {};
  const { name, memoryDir } = agent;
  return { AGENT_NAME: name, ...(memoryDir !== null && { MEMORY_DIR: memoryDir, LETTA_MEMORY_DIR: memoryDir }) };
}

export function buildChildEnv(
  env: Env,
  paths: Paths,
  context: { agentId: string | null; conversationId: string; cwd: string },
): Record<string, string> {
  const child: Record<string, string> = {};
  for (const [name, value] of Object.entries(withoutBunSwitches(env.all))) {
    const isProxy = /_proxy$/i.test(name);
    if (!isSecretName(name) && (isProxy || !URL_WITH_PASSWORD.test(value))) child[name] = value;
  }
  for (const name of MEMORY_VARIABLES) if (!isInheritable(child[name], env, paths)) delete child[name];
  const path = [child.PATH ?? "/usr/local/bin:/usr/bin:/bin", ripgrepDirectory(paths), selfDirectory()];
  return {
    TERM: "xterm-256color",
    ...child,
    // At the end: a person's own `rg` and `letta` come first.
    PATH: path.filter(Boolean).join(delimiter),
    PWD: context.cwd,
    USER_CWD: context.cwd,
    ...(context.agentId === null ? {} : { AGENT_ID: context.agentId, LETTA_AGENT_ID: context.agentId }),
    CONVERSATION_ID: context.conversationId,
    LETTA_CONVERSATION_ID: context.conversationId,
    PAGER: "cat",
    GIT_PAGER: "cat",
    MANPAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
  };
}
