import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { remoteTokenName } from "@/memory/remote-choice.ts";
import { openAgentSecrets } from "@/store/agent-secrets.ts";
import { readEnv } from "@/store/env.ts";
import type { Keychain } from "@/store/keychain.ts";
import { resolvePaths } from "@/store/paths.ts";

const roots: string[] = [];
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

function open(keychain: Keychain | null = null) {
  const home = mkdtempSync(join(tmpdir(), "letta-secrets-"));
  roots.push(home);
  const env = readEnv({ HOME: home });
  return openAgentSecrets({ env, paths: resolvePaths(env), keychain });
}

function memoryKeychain(): Keychain & { values: Map<string, string> } {
  const values = new Map<string, string>();
  return {
    values,
    get: async (name) => values.get(name) ?? null,
    set: async (name, value) => void values.set(name, value),
    delete: async (name) => values.delete(name),
  };
}

test("by agent and name, in a file only its owner reads", async () => {
  const secrets = open();
  await secrets.set("a1", "TOKEN", "first value");
  await secrets.set("a2", "TOKEN", "other value");
  await secrets.set("a1", "ALPHA", "second value");
  expect(secrets.names("a1")).toEqual(["ALPHA", "TOKEN"]);
  expect(await secrets.find("a1", "TOKEN")).toBe("first value");
  expect(await secrets.find("a3", "TOKEN")).toBe(null);
  expect((await secrets.list()).map(({ value }) => value).sort()).toEqual([
    "first value",
    "other value",
    "second value",
  ]);
  expect(statSync(secrets.file).mode & 0o777).toBe(0o600);
  expect(statSync(join(secrets.file, "..")).mode & 0o777).toBe(0o700);
  expect([await secrets.unset("a1", "TOKEN"), await secrets.unset("a1", "TOKEN")]).toEqual([true, false]);
  expect(secrets.names("a1")).toEqual(["ALPHA"]);
});

test("what the harness keeps for itself is no name for commands", async () => {
  const secrets = open();
  const token = remoteTokenName("https://git.example");
  await secrets.set("a1", "TOKEN", "first value");
  await secrets.set("a1", token, "of the remote");
  expect(secrets.names("a1")).toEqual([token, "TOKEN"]);
  expect(secrets.usable("a1")).toEqual(["TOKEN"]);
  expect(await secrets.find("a1", token)).toBe("of the remote");
});

test("with a keychain the file holds names only", async () => {
  const keychain = memoryKeychain();
  const secrets = open(keychain);
  await secrets.set("a1", "TOKEN", "the value");
  expect(readFileSync(secrets.file, "utf8")).not.toContain("the value");
  expect(await secrets.find("a1", "TOKEN")).toBe("the value");
  expect(secrets.location).toBe("OS keychain");
  await secrets.unset("a1", "TOKEN");
  expect(keychain.values.size).toBe(0);
});

test("a keychain that refuses leaves the file", async () => {
  const refuse = async () => {
    throw new Error("locked");
  };
  const secrets = open({ get: refuse, set: refuse, delete: refuse });
  await secrets.set("a1", "TOKEN", "the value");
  expect(await secrets.find("a1", "TOKEN")).toBe("the value");
  expect(secrets.location).toBe(secrets.file);
});

test.each([
  ["token", "long enough"],
  ["1TOKEN", "long enough"],
  ["A B", "long enough"],
  ["__proto__", "long enough"],
  ["PATH", "long enough"],
  ["LD_PRELOAD", "long enough"],
  ["GIT_SSH_COMMAND", "long enough"],
  ["TOKEN", "short"],
  ["TOKEN", "     x    "],
  ["TOKEN", "with\0nul"],
])("%s=%s is refused", async (name, value) => {
  await expect(open().set("a1", name, value)).rejects.toMatchObject({ code: "usage" });
});

test("GITHUB_TOKEN is a name like any other", async () => {
  const secrets = open();
  await secrets.set("a1", "GITHUB_TOKEN", "long enough");
  expect(secrets.names("a1")).toEqual(["GITHUB_TOKEN"]);
});

test("a damaged file is named and left alone", async () => {
  const secrets = open();
  await secrets.set("a1", "TOKEN", "long enough");
  writeFileSync(secrets.file, '{"version":1,"agents":{"a1":{"TOKEN":{"value":"top secret"');
  await expect(secrets.set("a1", "OTHER", "long enough")).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.not.stringContaining("top secret"),
  });
  expect(readFileSync(secrets.file, "utf8")).toEndWith('"top secret"');
});
