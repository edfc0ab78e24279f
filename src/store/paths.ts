// Every place on disk we own. Nothing is created here; writers create what they need.

import { join } from "node:path";
import type { Env } from "./env.ts";

export interface Paths {
  /** The user's home directory. */
  home: string;
  /** `~/.letta`, or `$LETTA_HOME`. */
  root: string;
  settings: string;
  /** Local store: `letta.db` and `shadow/`. */
  local: string;
  database: string;
  /** Pre-images of files tools changed, content-addressed. */
  shadow: string;
  /** Provider credentials where there is no OS keychain; 0600. */
  providerAuth: string;
  /** Secrets of agents, by name; 0600. */
  agentSecrets: string;
  trust: string;
  history: string;
  logs: string;
  /** Pages made to be looked at in a browser. */
  viewers: string;
  /** Unpacked helpers (ripgrep). */
  bin: string;
  commands: string;
  /** The user's own skills, for all agents. */
  skills: string;
  /** Bundled skills, unpacked when used. */
  skillCache: string;
  /** Overflow files of long tool outputs, per project. */
  projects: string;
  /** What child agents look back on, while they do. */
  transcripts: string;
  /** One folder per agent, with its memory; beside the local store when that was moved (spec 04 §2.1). */
  agents: string;
}

export function resolvePaths(env: Env): Paths {
  const root = env.lettaHome ?? join(env.home, ".letta");
  const local = env.localBackendDir ?? join(root, "local");
  return {
    home: env.home,
    root,
    settings: join(root, "settings.json"),
    local,
    database: join(local, "letta.db"),
    shadow: join(local, "shadow"),
    providerAuth: join(local, "providers", "auth.json"),
    agentSecrets: join(local, "secrets", "local-agent-secrets.json"),
    trust: join(root, "trust.json"),
    history: join(root, "history.jsonl"),
    logs: join(root, "logs"),
    viewers: join(root, "viewers"),
    bin: join(root, "bin"),
    commands: join(root, "commands"),
    skills: join(root, "skills"),
    skillCache: join(root, "cache", "skills"),
    projects: join(root, "projects"),
    transcripts: env.transcriptRoot ?? join(root, "transcripts"),
    agents: env.localBackendDir ? join(env.localBackendDir, "memfs") : join(root, "agents"),
  };
}
