// Provider keys: in the OS keychain where there is one, else in a 0600 file. Never in argv, logs or tool output.
// The records live in `providers/auth.json` (spec 02 §3.10), which other clients read and write too: fields we do not
// know survive, and a file that does not parse is reported and left alone.

import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import { errorMessage, LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import { withFileLock, writeFileAtomic } from "./atomic-file.ts";
import type { Env } from "./env.ts";
import type { Paths } from "./paths.ts";

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

/** What `openSecrets` needs of an OS keychain. Each call may throw; none may take longer than the keychain's own prompt. */
export interface Keychain {
  get(name: string): Promise<string | null>;
  set(name: string, value: string): Promise<void>;
  delete(name: string): Promise<boolean>;
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
  let usable = keychain !== null;

  async function saveInKeychain(name: string, key: string): Promise<boolean> {
    if (keychain === null || !usable) return false;
    try {
      await withinLimit(keychain.set(name, key));
      return true;
    } catch {
      usable = false; // Locked, absent or silent: the file is the place then.
      return false;
    }
  }

  return {
    get location() {
      return usable ? "OS keychain" : file;
    },

    async listProviders() {
      return Object.entries(readAuthFile(file).providers).map(([name, entry]) => toRecord(name, entry));
    },

    async findKey(name) {
      const entry = readAuthFile(file).providers[name];
      if (entry === undefined) return null;
      if (entry.auth?.keychain === true && keychain !== null) {
        try {
          return await withinLimit(keychain.get(name));
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
      const inKeychain = key !== null && (await saveInKeychain(record.name, key));
      await changeAuthFile(file, (auth) => {
        const before = auth.providers[record.name];
        auth.providers[record.name] = {
          ...before,
          ...toEntry(record),
          auth: inKeychain ? { type: "api", keychain: true } : { type: "api", key: key ?? KEYLESS },
        };
      });
    },

    async removeProvider(name) {
      const entry = readAuthFile(file).providers[name];
      if (entry === undefined) return false;
      await changeAuthFile(file, (auth) => {
        delete auth.providers[name];
      });
      if (entry.auth?.keychain === true && keychain !== null) {
        await withinLimit(keychain.delete(name)).catch(ignore); // An entry nobody refers to any more.
      }
      return true;
    },
  };
}

/** Null where there is none: switched off, or Linux without a desktop session. */
export function osKeychain(env: Env): Keychain | null {
  if (env.skipKeychain || Bun.secrets === undefined) return null;
  if (process.platform === "linux" && env.all.DBUS_SESSION_BUS_ADDRESS === undefined) return null;
  const service = "letta";
  return {
    get: (name) => Bun.secrets.get({ service, name }),
    set: (name, value) => Bun.secrets.set({ service, name, value }),
    delete: (name) => Bun.secrets.delete({ service, name }),
  };
}

/** Placeholder older clients write for endpoints without a key. */
const KEYLESS = "not-needed";
/** A keychain that has to ask the user may take a while; one that hangs must not take us along. */
const KEYCHAIN_LIMIT_MS = 3000;

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
type AuthFile = v.InferOutput<typeof AuthFileSchema>;

function readAuthFile(file: string): AuthFile {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return { version: 1, providers: {} };
    throw new LettaError("storage", `cannot read ${file}: ${systemReason(error)}`, { cause: error });
  }
  try {
    return v.parse(AuthFileSchema, JSON.parse(text));
  } catch (error) {
    const reason = v.isValiError(error) ? describeIssue(error.issues[0]) : "it is not JSON";
    throw new LettaError("invalid_data", `cannot use ${file}: ${reason}`, {
      // Not the parser's own words, which may quote a key.
      hint: "Repair the file or move it away, then connect the providers again. It was not changed.",
    });
  }
}

function describeIssue(issue: v.BaseIssue<unknown>): string {
  return `${v.getDotPath(issue) ?? "the top level"} should be ${issue.expected ?? "something else"}`;
}

async function changeAuthFile(file: string, change: (auth: AuthFile) => void): Promise<void> {
  await withFileLock(file, () => {
    const auth = readAuthFile(file);
    change(auth);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileAtomic(file, `${JSON.stringify(auth, null, 2)}\n`, { mode: 0o600 });
    if (process.platform === "win32") return;
    // A file somebody created with looser rights must not stay that way.
    chmodSync(file, 0o600);
    chmodSync(dirname(file), 0o700);
  });
}

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

/** A keychain that hangs is one that failed. */
export async function withinLimit<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), KEYCHAIN_LIMIT_MS);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {}
