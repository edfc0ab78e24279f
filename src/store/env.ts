// The only module that reads environment variables. It lists every name, its default and its meaning; the rest of the
// code sees a typed `Env`. Provider keys and base URLs are the one open set: `provider` looks them up by name.

import { homedir, tmpdir } from "node:os";

export interface Env {
  /** HOME, else the OS user's home. */
  home: string;
  /** LETTA_HOME: moves the whole `~/.letta` tree. */
  lettaHome?: string;
  /** LETTA_LOCAL_BACKEND_DIR: storage of the local backend. */
  localBackendDir?: string;
  /** LETTA_API_KEY, LETTA_BASE_URL: the server; beat settings. */
  apiKey?: string;
  baseUrl?: string;
  /** LETTA_LOCAL_BACKEND_EXPERIMENTAL: 1|true → local, 0|false → api; undefined when unset. */
  localBackend?: boolean;
  /** LETTA_AGENT_ID, then AGENT_ID; LETTA_CONVERSATION_ID, then CONVERSATION_ID: default scope of subcommands. */
  agentId?: string;
  conversationId?: string;
  /** LETTA_MEMORY_DIR, then MEMORY_DIR: the memory a command is about. */
  memoryDir?: string;
  /** LETTA_SKILLS_DIRECTORY: a further folder of skills, as `--skills` names one. */
  skillsDirectory?: string;
  /** LETTA_DISABLE_SKILL_WATCHERS=1: changes of skills on disk are seen by the next process. */
  disableSkillWatchers: boolean;
  /** LETTA_MEMORY_DIR_EXPLICIT=1: that directory was named on purpose, and commands may know it. */
  memoryDirExplicit: boolean;
  /** LETTA_MEMFS_TREE_MAX_LINES, LETTA_MEMFS_TREE_MAX_CHARS, LETTA_MEMFS_TREE_MAX_CHILDREN_PER_DIR: budgets of the tree of
   *  memory files in the prompt; what is no number in range means the default (memory/limits.ts). */
  memoryTree: { lines?: string; chars?: string; children?: string };
  /** LETTA_PARENT_AGENT_ID: this process is a child agent; it ends when its parent dies. */
  parentAgentId?: string;
  /** LETTA_SUBAGENT_DEPTH: how many processes of letta this one is below the person's own; default 0. */
  subagentDepth: number;
  /** LETTA_FS_SANDBOX=0|false: shells of child agents that work on a memory are not confined to it. */
  memorySandbox: boolean;
  /** LETTA_TRANSCRIPT_ROOT: where what child agents look back on is written; default `~/.letta/transcripts`. */
  transcriptRoot?: string;
  /** LETTA_DISABLE_SESSION_PERSIST=1: never write "last conversation". */
  disableSessionPersist: boolean;
  /** LETTA_REQUEST_TIMEOUT_MS, default 600000: requests to a Letta server. */
  requestTimeoutMs: number;
  /** LETTA_CODE_LOCAL_PROVIDER_TIMEOUT_MS, default 300000: silence allowed from a model provider; 0 = none. */
  providerTimeoutMs: number;
  /** LETTA_BACKFILL=0|false: no history shown on resume. */
  backfill: boolean;
  /** LETTA_SKIP_KEYCHAIN_CHECK=1: secrets go to a 0600 file. */
  skipKeychain: boolean;
  /** LETTA_SKILL_MIRROR: an address on this machine with a folder for each host that skills are installed from by name. */
  skillMirror?: string;
  /** LETTA_SCRATCHPAD: directory for background output; default a private temp directory. */
  scratchpad?: string;
  /** LETTA_BASH_STRICT=1|true: shells run with `set -euo pipefail`. */
  bashStrict: boolean;
  /** LETTA_TOOL_OVERFLOW_TO_FILE=false: long outputs are cut without a full copy. */
  overflowToFile: boolean;
  /** LETTA_PERMISSION_TRACE=1: one JSON line per ask or deny on stderr. */
  permissionTrace: boolean;
  /** LETTA_PERMISSION_TRACE_ALL=1: also for what is allowed, with the text that runs in its place. */
  permissionTraceAll: boolean;
  /** LETTA_DEBUG=1: stacks and debug lines on stderr. */
  debug: boolean;
  /** NO_COLOR set (any value), or TERM=dumb: no colour. */
  noColor: boolean;
  /** TERM=dumb: no raw mode, plain prompts. */
  dumbTerminal: boolean;
  /** SHELL, for `!` commands. */
  shell?: string;
  tmpdir: string;
  /** A provider's own variable (`ANTHROPIC_API_KEY`, `OPENAI_BASE_URL`, …); empty counts as unset. */
  provider(name: string): string | undefined;
  /** Everything, for building a child's environment. */
  all: Readonly<Record<string, string | undefined>>;
}

export function readEnv(vars: Record<string, string | undefined> = process.env): Env {
  const text = (...names: string[]): string | undefined => names.map((name) => vars[name]).find((value) => value);
  const flag = (name: string): boolean | undefined => parseFlag(vars[name]);
  const number = (name: string, fallback: number): number => {
    const value = Number(vars[name]);
    return vars[name] && Number.isFinite(value) && value >= 0 ? value : fallback;
  };
  return {
    home: vars.HOME || homedir(),
    lettaHome: text("LETTA_HOME"),
    localBackendDir: text("LETTA_LOCAL_BACKEND_DIR"),
    apiKey: text("LETTA_API_KEY"),
    baseUrl: text("LETTA_BASE_URL"),
    localBackend: flag("LETTA_LOCAL_BACKEND_EXPERIMENTAL"),
    agentId: text("LETTA_AGENT_ID", "AGENT_ID"),
    conversationId: text("LETTA_CONVERSATION_ID", "CONVERSATION_ID"),
    memoryDir: text("LETTA_MEMORY_DIR", "MEMORY_DIR"),
    skillsDirectory: text("LETTA_SKILLS_DIRECTORY"),
    disableSkillWatchers: flag("LETTA_DISABLE_SKILL_WATCHERS") ?? false,
    memoryDirExplicit: vars.LETTA_MEMORY_DIR_EXPLICIT === "1",
    memoryTree: {
      lines: text("LETTA_MEMFS_TREE_MAX_LINES"),
      chars: text("LETTA_MEMFS_TREE_MAX_CHARS"),
      children: text("LETTA_MEMFS_TREE_MAX_CHILDREN_PER_DIR"),
    },
    parentAgentId: text("LETTA_PARENT_AGENT_ID"),
    subagentDepth: number("LETTA_SUBAGENT_DEPTH", 0),
    memorySandbox: flag("LETTA_FS_SANDBOX") ?? true,
    transcriptRoot: text("LETTA_TRANSCRIPT_ROOT"),
    disableSessionPersist: flag("LETTA_DISABLE_SESSION_PERSIST") ?? false,
    requestTimeoutMs: number("LETTA_REQUEST_TIMEOUT_MS", 600_000),
    providerTimeoutMs: number("LETTA_CODE_LOCAL_PROVIDER_TIMEOUT_MS", 300_000),
    backfill: flag("LETTA_BACKFILL") ?? true,
    skipKeychain: flag("LETTA_SKIP_KEYCHAIN_CHECK") ?? false,
    skillMirror: text("LETTA_SKILL_MIRROR"),
    scratchpad: text("LETTA_SCRATCHPAD"),
    bashStrict: flag("LETTA_BASH_STRICT") ?? false,
    overflowToFile: flag("LETTA_TOOL_OVERFLOW_TO_FILE") ?? true,
    permissionTrace: flag("LETTA_PERMISSION_TRACE") ?? flag("LETTA_PERMISSION_TRACE_ALL") ?? false,
    permissionTraceAll: flag("LETTA_PERMISSION_TRACE_ALL") ?? false,
    debug: flag("LETTA_DEBUG") ?? false,
    noColor: Boolean(vars.NO_COLOR) || vars.TERM === "dumb",
    dumbTerminal: vars.TERM === "dumb",
    shell: text("SHELL"),
    tmpdir: tmpdir(),
    provider: (name) => text(name),
    all: vars,
  };
}

/** `1|true|yes|on` and `0|false|no|off` in any case; undefined for anything else. */
function parseFlag(value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  if (/^(1|true|yes|on)$/i.test(value)) return true;
  if (/^(0|false|no|off)$/i.test(value)) return false;
  return undefined;
}
