// Secrets an agent's commands may use by name (`$GITHUB_TOKEN`): in the OS keychain where there is one, else in a 0600
// file. The file always holds the names, so that they can be listed without asking the keychain.

import * as v from "valibot";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import { MIN_SECRET_CHARS, type SecretValue } from "@/lib/redactor.ts";
import type { Env } from "./env.ts";
import { type Keychain, openKeychainPlace, osKeychain } from "./keychain.ts";
import type { Paths } from "./paths.ts";
import { openSecretFile } from "./secret-file.ts";

export interface AgentSecrets {
  /** The file: what is stored changes when it does. */
  readonly file: string;
  /** Where values are kept, for people. */
  readonly location: string;
  /** Sorted. */
  names(agentId: string): string[];
  /** Those that the agent's commands may name: not what the harness keeps for its own use. */
  usable(agentId: string): string[];
  /** Throws `usage` for a name or value that cannot be used. */
  set(agentId: string, name: string, value: string): Promise<void>;
  /** False when there was none. */
  unset(agentId: string, name: string): Promise<boolean>;
  /** Throws `auth` when the keychain does not give it; null when there is none. */
  find(agentId: string, name: string): Promise<string | null>;
  /** Of all agents; what the keychain does not give is left out. */
  list(): Promise<SecretValue[]>;
}

const SecretSchema = v.looseObject({ value: v.optional(v.string()), keychain: v.optional(v.boolean()) });
const FileSchema = v.looseObject({
  version: v.literal(1),
  agents: v.record(v.string(), v.record(v.string(), SecretSchema)),
});

/** Of names of what the harness itself uses: tokens of the repositories a memory is kept in. No command gets them. */
export const HARNESS_SECRET = "MEMORY_REMOTE_";

const NAME = /^[A-Z_][A-Z0-9_]*$/;
/** Variables that steer programs: as a secret they would change what every command means. */
const STEERING =
  /^(?:PATH|HOME|SHELL|PWD|IFS|ENV|BASH_ENV|PS\d|PROMPT_COMMAND|TERM|USER|TMPDIR|EDITOR|PAGER|PYTHON(?:PATH|STARTUP|HOME)|PERL5(?:LIB|OPT)|RUBY(?:LIB|OPT)|NODE_(?:OPTIONS|PATH)|(?:LD|DYLD|BUN)_.*|LETTA_(?!API_KEY$).*|GIT_(?:SSH|EXEC|CONFIG|PAGER|EDITOR|ASKPASS|PROXY|DIR|WORK|EXTERNAL).*)$/;
const MAX_VALUE_CHARS = 64_000;

export function openAgentSecrets({
  env,
  paths,
  keychain = osKeychain(env),
}: {
  env: Env;
  paths: Paths;
  keychain?: Keychain | null;
}): AgentSecrets {
  const file = paths.agentSecrets;
  const place = openKeychainPlace(keychain);
  const stored = openSecretFile({
    path: file,
    schema: FileSchema,
    empty: () => ({ version: 1 as const, agents: {} }),
    redo: "set the secrets again",
  });
  /** What the keychain gave, so that it is asked once. */
  const given = new Map<string, string>();

  const names = (agentId: string): string[] => Object.keys(stored.read().agents[agentId] ?? {}).sort();

  async function fromKeychain(agentId: string, name: string): Promise<string | null> {
    const key = keychainName(agentId, name);
    const known = given.get(key);
    if (known !== undefined) return known;
    const value = await place.get(key);
    if (value !== null) given.set(key, value);
    return value;
  }

  return {
    file,
    get location() {
      return place.usable ? "OS keychain" : file;
    },
    names,
    usable: (agentId) => names(agentId).filter((name) => !name.startsWith(HARNESS_SECRET)),
    async set(agentId, name, value) {
      checkSecret(name, value);
      const key = keychainName(agentId, name);
      const inKeychain = await place.save(key, value);
      if (inKeychain) given.set(key, value);
      await stored.change((content) => {
        content.agents[agentId] = {
          ...content.agents[agentId],
          [name]: inKeychain ? { keychain: true } : { value },
        };
      });
    },
    async unset(agentId, name) {
      const entry = stored.read().agents[agentId]?.[name];
      if (entry === undefined) return false;
      await stored.change((content) => {
        delete content.agents[agentId]?.[name];
      });
      given.delete(keychainName(agentId, name));
      if (entry.keychain) await place.forget(keychainName(agentId, name));
      return true;
    },
    async find(agentId, name) {
      const entry = stored.read().agents[agentId]?.[name];
      if (entry === undefined) return null;
      if (!entry.keychain) return entry.value ?? null;
      try {
        return await fromKeychain(agentId, name);
      } catch (error) {
        throw new LettaError("auth", `the OS keychain did not give the secret ${name}: ${errorMessage(error)}`, {
          cause: error,
          hint: `Unlock the keychain, or set it again: letta secret set ${name}`,
        });
      }
    },
    async list() {
      const { agents } = stored.read();
      const found = Object.entries(agents).flatMap(([agentId, secrets]) =>
        Object.entries(secrets).map(async ([name, entry]) => {
          const nothing = (): null => null; // It cannot be printed either.
          const value = entry.keychain ? await fromKeychain(agentId, name).catch(nothing) : entry.value;
          return value ? [{ name, value }] : [];
        }),
      );
      return (await Promise.all(found)).flat();
    },
  };
}

function checkSecret(name: string, value: string): void {
  if (!NAME.test(name)) {
    throw new LettaError("usage", `"${name}" cannot be the name of a secret`, {
      hint: "Capital letters, digits and _, not beginning with a digit: GITHUB_TOKEN",
    });
  }
  if (STEERING.test(name)) {
    throw new LettaError("usage", `${name} steers programs and cannot be the name of a secret`, {
      hint: `Choose a name of its own, for example MY_${name}`,
    });
  }
  if (value.trim().length < MIN_SECRET_CHARS) {
    throw new LettaError("usage", `a secret has at least ${MIN_SECRET_CHARS} characters`, {
      hint: "A shorter one could not be kept out of what the model reads.",
    });
  }
  if (value.length > MAX_VALUE_CHARS || value.includes("\0")) {
    throw new LettaError("usage", `a secret has at most ${MAX_VALUE_CHARS} characters, none of them NUL`);
  }
}

function keychainName(agentId: string, name: string): string {
  return `agent-secret/${agentId}/${name}`;
}
