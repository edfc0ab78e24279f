// Where agents live for this process: on a Letta server or on this machine. The same rule for people and scripts.

import type { Env } from "@/store/env.ts";
import type { UserSettings } from "@/store/settings.ts";

export interface BackendChoice {
  kind: "api" | "local";
  /** What decided, for `--dry-run` and error texts. */
  source: string;
}

/** `--backend` > prefix of an explicit agent id > LETTA_LOCAL_BACKEND_EXPERIMENTAL > saved mode > a server's key or
 *  URL > local. A saved `local` does not count when a server's URL is configured. */
export function chooseBackend(given: {
  flag?: "api" | "local";
  agentId?: string;
  env: Pick<Env, "apiKey" | "baseUrl" | "localBackend">;
  settings: Pick<UserSettings, "preferredBackendMode" | "env">;
}): BackendChoice {
  const { flag, agentId, env, settings } = given;
  if (flag) return { kind: flag, source: "--backend" };
  if (agentId?.startsWith("agent-local-")) return { kind: "local", source: "the agent's id" };
  if (env.localBackend !== undefined) {
    return { kind: env.localBackend ? "local" : "api", source: "LETTA_LOCAL_BACKEND_EXPERIMENTAL" };
  }
  const saved = settings.preferredBackendMode;
  const baseUrl = env.baseUrl ?? settings.env?.LETTA_BASE_URL;
  if (saved === "api" || (saved === "local" && !baseUrl)) return { kind: saved, source: "saved preference" };
  if (baseUrl) return { kind: "api", source: "LETTA_BASE_URL" };
  if (env.apiKey ?? settings.env?.LETTA_API_KEY) return { kind: "api", source: "LETTA_API_KEY" };
  return { kind: "local", source: "default" };
}
