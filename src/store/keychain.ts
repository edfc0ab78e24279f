// The OS keychain, as far as we need it: may be absent, locked, or silent.

import type { Env } from "./env.ts";

/** Each call may throw. */
export interface Keychain {
  get(name: string): Promise<string | null>;
  set(name: string, value: string): Promise<void>;
  delete(name: string): Promise<boolean>;
}

/** A keychain that has to ask the user may take a while; one that hangs must not take us along. */
const LIMIT_MS = 3000;

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

/** What a store of secrets does with it. */
export interface KeychainPlace {
  /** Values go there: there is one, and it has not failed yet. */
  readonly usable: boolean;
  /** Throws when there is none, or it fails or hangs. */
  get(name: string): Promise<string | null>;
  /** False: keep it elsewhere. */
  save(name: string, value: string): Promise<boolean>;
  /** Never throws: what stays is an entry nobody refers to any more. */
  forget(name: string): Promise<void>;
}

export function openKeychainPlace(keychain: Keychain | null): KeychainPlace {
  let usable = keychain !== null;
  return {
    get usable() {
      return usable;
    },
    get: async (name) => {
      if (keychain === null) throw new Error("there is no keychain here");
      return withinLimit(keychain.get(name));
    },
    save: async (name, value) => {
      if (keychain === null || !usable) return false;
      try {
        await withinLimit(keychain.set(name, value));
        return true;
      } catch {
        usable = false; // Locked, absent or silent: the file is the place then.
        return false;
      }
    },
    forget: async (name) => {
      const gone = (): void => {};
      if (keychain !== null) await withinLimit(keychain.delete(name)).then(gone, gone);
    },
  };
}

/** A keychain that hangs is one that failed. */
async function withinLimit<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), LIMIT_MS);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
