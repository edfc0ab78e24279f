// Where agents live for this process: on a Letta server or on this machine. The same rule for people and scripts.

import { LettaError } from "@/lib/errors.ts";
import type { Env } from "@/store/env.ts";
import type { UserSettings } from "@/store/settings.ts";

export type BackendKind = "api" | "local";

export interface BackendChoice {
  kind: BackendKind;
  /** What decided, for `--dry-run` and error texts. */
  source: string;
}

export interface BackendWishes {
  /** `--backend`. */
  flag?: BackendKind | undefined;
  /** Named on the command line. */
  agentId?: string | undefined;
  env: Pick<Env, "apiKey" | "baseUrl" | "localBackend">;
  settings: Pick<UserSettings, "preferredBackendMode" | "env">;
}

/** `--backend` > prefix of an explicit agent id > LETTA_LOCAL_BACKEND_EXPERIMENTAL > saved mode > a server's key or
 *  URL > local. A saved `local` does not count when a server's URL is configured. */
export function chooseBackend(given: BackendWishes): BackendChoice {
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

/** Until the server backend exists, asking for it is a clear error. */
export function requireLocalBackend(wishes: BackendWishes): void {
  const { kind, source } = chooseBackend(wishes);
  if (kind === "local") return;
  throw new LettaError("usage", `this version of letta cannot use a Letta server yet (chosen by ${source})`, {
    hint: "Pass --backend local to keep agents on this machine, or save that with: letta backend local",
  });
}

/** `cloud` is an older name of `api`. Undefined when it is none. */
export function parseBackendKind(text: string | undefined): BackendKind | undefined {
  if (text === "cloud") return "api";
  return text === "api" || text === "local" ? text : undefined;
}
