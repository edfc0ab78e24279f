import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { codeOf } from "@/lib/errors.ts";
import { readEnv } from "@/store/env.ts";
import type { Keychain } from "@/store/keychain.ts";
import { type Paths, resolvePaths } from "@/store/paths.ts";
import { openSecrets, type ProviderRecord } from "@/store/secrets.ts";

const root = await mkdtemp(join(tmpdir(), "letta-secrets-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const env = readEnv({ HOME: root, LETTA_SKIP_KEYCHAIN_CHECK: "1" });
const KEY = "sk-secret-value";

async function freshPaths(): Promise<Paths> {
  return resolvePaths({ ...env, home: await mkdtemp(join(root, "home-")) });
}

function record(name: string, more: Partial<ProviderRecord> = {}): ProviderRecord {
  return {
    name,
    providerType: name,
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
    ...more,
  };
}

test("a record and its key come back", async () => {
  const paths = await freshPaths();
  const full = record("lmstudio", {
    baseUrl: "http://127.0.0.1:1234/v1",
    region: "eu-central-1",
    profile: "work",
    accessKey: "AKIA",
    timeoutMs: false,
    contextWindows: { m: 32768 },
  });
  await openSecrets({ env, paths }).saveProvider(full, KEY);
  const secrets = openSecrets({ env, paths });
  expect(await secrets.listProviders()).toEqual([full]);
  expect(await secrets.findKey("lmstudio")).toBe(KEY);
  expect(await secrets.findKey("nobody")).toBeNull();
  expect(secrets.location).toBe(paths.providerAuth);
});

test("the file is what other clients read, and nobody else may", async () => {
  const paths = await freshPaths();
  await openSecrets({ env, paths }).saveProvider(record("anthropic"), KEY);
  await openSecrets({ env, paths }).saveProvider(record("vllm", { baseUrl: "http://x/v1" }), null);
  expect(JSON.parse(readFileSync(paths.providerAuth, "utf8"))).toMatchObject({
    version: 1,
    providers: {
      anthropic: {
        id: "local-provider-anthropic",
        name: "anthropic",
        provider_type: "anthropic",
        provider_category: "byok",
        auth: { type: "api", key: KEY },
      },
      vllm: { base_url: "http://x/v1", auth: { type: "api", key: "not-needed" } },
    },
  });
  expect(statSync(paths.providerAuth).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(paths.providerAuth)).mode & 0o777).toBe(0o700);
});

function writeAuth(paths: Paths, text: string): void {
  mkdirSync(dirname(paths.providerAuth), { recursive: true });
  writeFileSync(paths.providerAuth, text);
}

test("what we do not know survives, keyless stays keyless", async () => {
  const paths = await freshPaths();
  const before = {
    version: 1,
    future: { a: 1 },
    providers: {
      openai: { name: "openai", provider_type: "openai", auth: { type: "api", key: "not-needed" }, account: { id: 7 } },
    },
  };
  writeAuth(paths, JSON.stringify(before));
  const secrets = openSecrets({ env, paths });
  expect(await secrets.findKey("openai")).toBeNull();
  await secrets.saveProvider(record("groq"), KEY);
  await secrets.saveProvider(record("openai"), KEY);
  const after = JSON.parse(readFileSync(paths.providerAuth, "utf8"));
  expect([after.future, after.providers.openai.account, after.providers.openai.auth.key]).toEqual([
    { a: 1 },
    { id: 7 },
    KEY,
  ]);
});

test.each([
  ['{"version":1,"providers":{"x":{"auth":{"key":"sk-half', "it is not JSON"],
  ['{"version":2,"providers":{}}', "version should be 1"],
  ['{"version":1,"providers":{"x":{"timeout":"soon"}}}', "providers.x.timeout should be"],
])("a damaged file is named and left alone: %s", async (text, reason) => {
  const paths = await freshPaths();
  writeAuth(paths, text);
  const secrets = openSecrets({ env, paths });
  for (const attempt of [secrets.listProviders(), secrets.saveProvider(record("groq"), KEY)]) {
    const error = await attempt.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(codeOf(error)).toBe("invalid_data");
    expect(String(error)).toContain(paths.providerAuth);
    expect(String(error)).toContain(reason);
    expect(String(error)).not.toContain("sk-half");
  }
  expect(readFileSync(paths.providerAuth, "utf8")).toBe(text);
});

test("removing forgets the key and says whether there was one", async () => {
  const paths = await freshPaths();
  const secrets = openSecrets({ env, paths });
  await secrets.saveProvider(record("groq"), KEY);
  expect([await secrets.removeProvider("groq"), await secrets.removeProvider("groq")]).toEqual([true, false]);
  expect(readFileSync(paths.providerAuth, "utf8")).not.toContain(KEY);
});

test("many writers at once lose nothing and leave no temporary files", async () => {
  const paths = await freshPaths();
  const names = Array.from({ length: 12 }, (_, index) => `endpoint-${index}`);
  await Promise.all(names.map((name) => openSecrets({ env, paths }).saveProvider(record(name), KEY)));
  const found = (await openSecrets({ env, paths }).listProviders()).map(({ name }) => name);
  expect(found.sort()).toEqual(names.sort());
  expect(readdirSync(dirname(paths.providerAuth))).toEqual(["auth.json"]);
});

function memoryKeychain(): Keychain & { values: Map<string, string> } {
  const values = new Map<string, string>();
  return {
    values,
    get: async (name) => values.get(name) ?? null,
    set: async (name, value) => void values.set(name, value),
    delete: async (name) => values.delete(name),
  };
}

test("with a keychain the key is not in the file", async () => {
  const paths = await freshPaths();
  const keychain = memoryKeychain();
  const secrets = openSecrets({ env, paths, keychain });
  await secrets.saveProvider(record("anthropic"), KEY);
  expect(readFileSync(paths.providerAuth, "utf8")).not.toContain(KEY);
  expect([await secrets.findKey("anthropic"), secrets.location]).toEqual([KEY, "OS keychain"]);
  const elsewhere = openSecrets({ env, paths, keychain: null });
  expect(elsewhere.findKey("anthropic").catch(codeOf)).resolves.toBe("auth");
  await secrets.removeProvider("anthropic");
  expect(keychain.values.size).toBe(0);
});

test("a keychain that refuses is replaced by the file", async () => {
  const paths = await freshPaths();
  const refuse = async (): Promise<never> => {
    throw new Error("locked");
  };
  const secrets = openSecrets({ env, paths, keychain: { get: refuse, set: refuse, delete: refuse } });
  await secrets.saveProvider(record("anthropic"), KEY);
  expect([await secrets.findKey("anthropic"), secrets.location]).toEqual([KEY, paths.providerAuth]);
});
