// Provider keys: in the OS keychain where there is one, else in a 0600 file. Never in argv, logs or tool output.
// The records live in `providers/auth.json` (spec 02 §3.10), which other clients read and write too: fields we do not
// know survive, and a file that does not parse is reported and left alone.

import * as v from "valibot";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import type { Env } from "./env.ts";
import { type Keychain, openKeychainPlace, osKeychain } from "./keychain.ts";
import type { Paths } from "./paths.ts";
import { openSecretFile } from "./secret-file.ts";

/** One connected provider (spec 02 §3.10); unknown fields survive. */
export interface ProviderRecord {
  /** Connection name, also the handle prefix: `anthropic`, `lmstudio`, or a user's own name for an endpoint. */
  name: string;
  /** Which kind of provider it is: `anthropic`, `openai`, `openai-compatible`, … */
  providerType: string;
  baseUrl?: string;
  region?: string;
  profile?: string;
  accessKey?: string;
  /** Milliseconds; false = none. */
  timeoutMs?: number | false;
  /** Context windows the user told us, by model id. */
  contextWindows?: Record<string, number>;
  createdAt: string;
  updatedAt: string;
}

export interface Secrets {
  listProviders(): Promise<ProviderRecord[]>;
  saveProvider(record: ProviderRecord, key: string | null): Promise<void>;
  /** Null for keyless endpoints. */
  findKey(name: string): Promise<string | null>;
  /** False when it was not connected. */
  removeProvider(name: string): Promise<boolean>;
  /** Where keys are kept, for people: "OS keychain" or the file's path. */
  readonly location: string;
}

/** Nothing is touched before the first call. The keychain is asked only to save a key, or for a key that was saved there. */
export function openSecrets({
  env,
  paths,
  keychain = osKeychain(env),
}: {
  env: Env;
  paths: Paths;
  keychain?: Keychain | null;
}): Secrets {
  const file = paths.providerAuth;
  const place = openKeychainPlace(keychain);
  const stored = openSecretFile({
    path: file,
    schema: AuthFileSchema,
    empty: () => ({ version: 1 as const, providers: {} }),
    redo: "connect the providers again",
  });

  return {
    get location() {
      return place.usable ? "OS keychain" : file;
    },

    async listProviders() {
      return Object.entries(stored.read().providers).map(([name, entry]) => toRecord(name, entry));
    },

    async findKey(name) {
      const entry = stored.read().providers[name];
      if (entry === undefined) return null;
      if (entry.auth?.keychain === true && keychain !== null) {
        try {
          return await place.get(name);
        } catch (error) {
          throw new LettaError("auth", `the OS keychain did not give the key of "${name}": ${errorMessage(error)}`, {
            cause: error,
            hint: `Unlock the keychain, or run \`letta connect ${name}\` with LETTA_SKIP_KEYCHAIN_CHECK=1.`,
          });
        }
      }
      if (entry.auth?.keychain === true) {
        throw new LettaError("auth", `the key of "${name}" is in the OS keychain, which cannot be used here`, {
          hint: `Set the provider's environment variable, or run \`letta connect ${name}\` here.`,
        });
      }
      const key = entry.auth?.key ?? entry.auth?.access;
      return key === undefined || key === KEYLESS ? null : key;
    },

    async saveProvider(record, key) {
      const inKeychain = key !== null && (await place.save(record.name, key));
      await stored.change((auth) => {
        const before = auth.providers[record.name];
        auth.providers[record.name] = {
          ...before,
          ...toEntry(record),
          auth: inKeychain ? { type: "api", keychain: true } : { type: "api", key: key ?? KEYLESS },
        };
      });
    },

    async removeProvider(name) {
      const entry = stored.read().providers[name];
      if (entry === undefined) return false;
      await stored.change((auth) => {
        delete auth.providers[name];
      });
      if (entry.auth?.keychain === true) await place.forget(name);
      return true;
    },
  };
}

/** Placeholder older clients write for endpoints without a key. */
const KEYLESS = "not-needed";
const AuthSchema = v.looseObject({
  type: v.optional(v.string()),
  key: v.optional(v.string()),
  /** OAuth records of other clients. */
  access: v.optional(v.string()),
  /** Ours: the key is in the OS keychain under the record's name. */
  keychain: v.optional(v.boolean()),
});
const EntrySchema = v.looseObject({
  name: v.optional(v.string()),
  provider_type: v.optional(v.string()),
  auth: v.optional(AuthSchema),
  access_key: v.optional(v.nullable(v.string())),
  region: v.optional(v.nullable(v.string())),
  profile: v.optional(v.nullable(v.string())),
  base_url: v.optional(v.nullable(v.string())),
  timeout: v.optional(v.nullable(v.union([v.number(), v.literal(false)]))),
  context_windows: v.optional(v.record(v.string(), v.number())),
  created_at: v.optional(v.string()),
  updated_at: v.optional(v.string()),
});
const AuthFileSchema = v.looseObject({ version: v.literal(1), providers: v.record(v.string(), EntrySchema) });
type AuthEntry = v.InferOutput<typeof EntrySchema>;

function toRecord(name: string, entry: AuthEntry): ProviderRecord {
  return {
    name,
    providerType: entry.provider_type ?? name,
    ...(entry.base_url ? { baseUrl: entry.base_url } : {}),
    ...(entry.region ? { region: entry.region } : {}),
    ...(entry.profile ? { profile: entry.profile } : {}),
    ...(entry.access_key ? { accessKey: entry.access_key } : {}),
    ...(entry.timeout === undefined || entry.timeout === null ? {} : { timeoutMs: entry.timeout }),
    ...(entry.context_windows ? { contextWindows: entry.context_windows } : {}),
    createdAt: entry.created_at ?? "",
    updatedAt: entry.updated_at ?? "",
  };
}

function toEntry(record: ProviderRecord): AuthEntry {
  return {
    id: `local-provider-${record.name}`,
    name: record.name,
    provider_type: record.providerType,
    provider_category: "byok",
    access_key: record.accessKey,
    region: record.region,
    profile: record.profile,
    base_url: record.baseUrl,
    timeout: record.timeoutMs,
    context_windows: record.contextWindows,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  };
}
