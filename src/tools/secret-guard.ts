// Secrets on their way through tools: a command gets those it names, and no output carries a value back.

import { statSync } from "node:fs";
import { LettaError, ToolError } from "@/lib/errors.ts";
import { createRedactor, type Redactor, type SecretValue } from "@/lib/redactor.ts";
import type { AgentSecrets } from "@/store/agent-secrets.ts";
import type { Env } from "@/store/env.ts";
import type { Paths } from "@/store/paths.ts";
import type { Secrets } from "@/store/secrets.ts";
import type { SettingsStore } from "@/store/settings.ts";
import { isSecretName } from "./child-env.ts";
import { OutputText } from "./output-text.ts";

/** Text of a program's output; `OutputText` is the plain one. */
export type OutputReader = Pick<OutputText, "push" | "takeOpenLine" | "finish">;

export interface SecretGuard {
  /** As of the last `refresh`. */
  readonly redactor: Redactor;
  /** Looks again at what is stored. Never throws: what cannot be read stays as it was known. */
  refresh(): Promise<Redactor>;
  /** The agent's secrets that a command names. Throws ToolError when one cannot be read. */
  envFor(agentId: string | null, command: string): Promise<Record<string, string>>;
  /** A reader of program output that takes values out, also when they arrive in pieces. */
  openOutput(): OutputReader;
}

export interface SecretGuardOptions {
  env: Env;
  paths: Pick<Paths, "providerAuth">;
  settings: Pick<SettingsStore, "user">;
  /** Provider keys. */
  secrets: Secrets;
  agentSecrets: AgentSecrets;
}

/** For processes that keep no secrets (tests, small commands). */
export const NO_SECRET_GUARD: SecretGuard = {
  redactor: createRedactor([]),
  refresh: async () => NO_SECRET_GUARD.redactor,
  envFor: async () => ({}),
  openOutput: () => new OutputText(),
};

export function createSecretGuard(options: SecretGuardOptions): SecretGuard {
  const { env, paths, settings, secrets, agentSecrets } = options;
  let redactor = createRedactor([]);
  let knownState: string | null = null;

  async function load(): Promise<Redactor> {
    const mode = settings.user.redaction ?? "known";
    if (mode === "off") return createRedactor([]);
    const stored = await Promise.all([agentSecrets.list(), providerKeys(secrets)]);
    const values = [...stored.flat(), ...fromVariables(env.all), ...fromVariables(settings.user.env ?? {})];
    return createRedactor(values, { patterns: mode === "known+patterns" });
  }

  return {
    get redactor() {
      return redactor;
    },
    async refresh() {
      try {
        const state = [settings.user.redaction, fileState(agentSecrets.file), fileState(paths.providerAuth)].join(" ");
        if (state === knownState) return redactor;
        redactor = await load();
        knownState = state;
      } catch {
        // A damaged file, or one that may not be looked at here: what was known stays known, and the next refresh tries again.
      }
      return redactor;
    },
    async envFor(agentId, command) {
      if (agentId === null || !command.includes("$")) return {};
      const found: Record<string, string> = {};
      try {
        for (const name of agentSecrets.usable(agentId)) {
          if (!namesVariable(command, name)) continue;
          const value = await agentSecrets.find(agentId, name);
          if (value !== null) found[name] = value;
        }
      } catch (error) {
        if (error instanceof LettaError) throw new ToolError(error.message, { cause: error });
        throw error;
      }
      return found;
    },
    openOutput: () => (redactor.idle ? new OutputText() : new RedactedOutput(redactor)),
  };
}

/** `$NAME`, `${NAME…`, `${#NAME`, `${!NAME`; PowerShell's `$env:NAME`. `NAME` is letters, digits and `_`. */
export function namesVariable(command: string, name: string): boolean {
  return new RegExp(`\\$(?:\\{?[#!]?|env:|\\{env:)${name}(?![A-Za-z0-9_])`).test(command);
}

class RedactedOutput implements OutputReader {
  readonly #plain = new OutputText();
  readonly #live;
  readonly #text;

  constructor(redactor: Redactor) {
    this.#live = redactor.stream();
    this.#text = redactor.stream();
  }

  push(bytes: Uint8Array): { live: string; text: string } {
    const { live, text } = this.#plain.push(bytes);
    return { live: this.#live.push(live), text: this.#text.push(text) };
  }

  /** What may begin a value stays back. */
  takeOpenLine(): string {
    return this.#text.push(this.#plain.takeOpenLine());
  }

  finish(): { live: string; text: string } {
    const { live, text } = this.#plain.finish();
    return {
      live: this.#live.push(live) + this.#live.finish(),
      text: this.#text.push(text) + this.#text.finish(),
    };
  }
}

async function providerKeys(secrets: Secrets): Promise<SecretValue[]> {
  const records = await secrets.listProviders();
  const nothing = (): null => null; // A keychain that does not give it to us prints it nowhere either.
  const keys = await Promise.all(
    records.map(async ({ name }) => ({ name, value: await secrets.findKey(name).catch(nothing) })),
  );
  return keys.flatMap(({ name, value }) => (value === null ? [] : [{ name: `${name.toUpperCase()}_KEY`, value }]));
}

/** Variables whose name says secret. A plain word (`PASSWORD=password`) would take that word out of every text. */
function fromVariables(vars: Readonly<Record<string, string | undefined>>): SecretValue[] {
  return Object.entries(vars).flatMap(([name, value]) =>
    value !== undefined && isSecretName(name) && value.length >= 8 && /[^a-z]/.test(value) ? [{ name, value }] : [],
  );
}

function fileState(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat ? `${stat.ino}:${stat.mtimeMs}:${stat.size}` : "none";
}
