import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runBackend } from "@/commands/backend.ts";
import { runConfigGet, runConfigList, runConfigPath, runConfigSet, runConfigUnset } from "@/commands/config.ts";
import type { LettaError } from "@/lib/errors.ts";
import { openSettings } from "@/store/settings.ts";
import { recordingIo, tempCore } from "./support.ts";

const codeOf = (work: Promise<unknown>) => work.then(String, (error: LettaError) => error.code);

test("set, get, list, unset", async () => {
  const core = await tempCore();
  const io = recordingIo();
  await runConfigSet(core, { key: "permissions.mode", value: "standard" }, io);
  await runConfigSet(core, { key: "permissions.allow", value: '["Bash(ls)"]' }, io);
  await runConfigSet(core, { key: "createDefaultAgents", value: "false" }, io);
  await runConfigGet(core, { key: "permissions" }, io);
  await runConfigList(core, {}, io);
  await runConfigUnset(core, { key: "permissions.allow" }, io);
  await runConfigGet(core, { key: "permissions", format: "json" }, io);
  expect(io.out).toBe(`Saved permissions.mode in the user settings
Saved permissions.allow in the user settings
Saved createDefaultAgents in the user settings
{
  "mode": "standard",
  "allow": [
    "Bash(ls)"
  ]
}
permissions.mode     "standard"
permissions.allow    ["Bash(ls)"]
createDefaultAgents  false
Removed permissions.allow from the user settings
{
  "mode": "standard"
}
`);
});

test("scopes are files of their own; unknown keys survive", async () => {
  const core = await tempCore();
  await Bun.write(join(core.cwd, ".letta", "settings.json"), '{"somebodyElses": {"deep": [1]}}');
  const reopened = { ...core, settings: await openSettings({ paths: core.paths, cwd: core.cwd }) };
  await runConfigSet(reopened, { key: "permissions.mode", value: "strict", scope: "project" }, recordingIo());
  expect(JSON.parse(await readFile(join(core.cwd, ".letta", "settings.json"), "utf8"))).toEqual({
    somebodyElses: { deep: [1] },
    permissions: { mode: "strict" },
  });
});

test("keys that contain dots are found", async () => {
  const core = await tempCore();
  await core.settings.updateUser((settings) => {
    settings.sessionsByServer = { "api.letta.com": { agentId: "agent-1", conversationId: "default" } };
  });
  const io = recordingIo();
  await runConfigGet(core, { key: "sessionsByServer.api.letta.com.agentId" }, io);
  expect(io.out).toBe("agent-1\n");
});

test("list tells what was chosen from what is remembered", async () => {
  const core = await tempCore();
  await core.settings.updateUser((settings) => {
    settings.recentModels = ["a/b"];
    settings.sessionsByServer = { local: { agentId: "agent-1", conversationId: "default" } };
  });
  const io = recordingIo();
  await runConfigList(core, {}, io);
  await runConfigSet(core, { key: "defaultModel", value: "a/b" }, io);
  await runConfigList(core, {}, io);
  const remembered = "Also in the file: 3 values letta remembers by itself (--format json).\n";
  expect(io.out).toBe(
    `Nothing is set.\n${remembered}Saved defaultModel in the user settings\ndefaultModel  "a/b"\n${remembered}`,
  );
});

test("secrets are not shown", async () => {
  const core = await tempCore();
  await core.settings.updateUser((settings) => {
    settings.env = { LETTA_API_KEY: "sk-very-secret", LETTA_BASE_URL: "http://localhost:8283" };
  });
  const io = recordingIo();
  await runConfigList(core, {}, io);
  await runConfigGet(core, { key: "env.LETTA_API_KEY" }, io);
  expect(io.out).not.toContain("sk-very-secret");
  expect(io.out).toContain("http://localhost:8283");
});

test.each([
  ["a value of the wrong type", "createDefaultAgents", "maybe"],
  ["a rule list that is none", "permissions.allow", "Bash"],
  ["an unknown mode", "permissions.mode", "foo"],
  ["an unknown sandbox", "sandbox.mode", "foo"],
  ["a network that is neither", "sandbox.network", "maybe"],
  ["a mode inside a group", "permissions", '{"mode":"foo"}'],
  ["a rule that is none", "permissions.deny", '["Bash("]'],
  ["a prototype key", "__proto__.polluted", "true"],
  ["an empty part", "permissions..mode", "x"],
])("%s is refused and nothing is written", async (_, key, value) => {
  const core = await tempCore();
  expect(await codeOf(runConfigSet(core, { key, value }, recordingIo()))).toBe("usage");
  expect(await Bun.file(core.paths.settings).exists()).toBe(false);
});

test("unset leaves no empty group behind and says when there was nothing", async () => {
  const core = await tempCore();
  const io = recordingIo();
  await runConfigSet(core, { key: "permissions.mode", value: "plan" }, io);
  await runConfigUnset(core, { key: "permissions.mode" }, io);
  await runConfigUnset(core, { key: "permissions.mode" }, io);
  expect(JSON.parse(await readFile(core.paths.settings, "utf8"))).toEqual({});
  expect(io.out).toBe(`Saved permissions.mode in the user settings
Removed permissions.mode from the user settings
permissions.mode was not set in the user settings
`);
});

test.each(["defualtModel", "permissions.mdoe", "sandbox.mdoe"])(
  "%s is saved, and said to be no setting of ours",
  async (key) => {
    const io = recordingIo();
    await runConfigSet(await tempCore(), { key, value: "x" }, io);
    expect(io.out).toBe(`Saved ${key} in the user settings. It is no setting of letta's; other programs may know it\n`);
  },
);

test("a broken file is not written over", async () => {
  const core = await tempCore();
  await Bun.write(core.paths.settings, "{ broken");
  const broken = { ...core, settings: await openSettings({ paths: core.paths, cwd: core.cwd }) };
  expect(await codeOf(runConfigSet(broken, { key: "defaultModel", value: "a/b" }, recordingIo()))).toBe("invalid_data");
  expect(await readFile(core.paths.settings, "utf8")).toBe("{ broken");
});

test("get of what is not set is not found; path names every file", async () => {
  const core = await tempCore();
  expect(await codeOf(runConfigGet(core, { key: "defaultModel" }, recordingIo()))).toBe("not_found");
  const io = recordingIo();
  await runConfigPath(core, { json: true }, io);
  expect(JSON.parse(io.out).data).toEqual({
    user: core.paths.settings,
    project: join(core.cwd, ".letta", "settings.json"),
    local: join(core.cwd, ".letta", "settings.local.json"),
    database: core.paths.database,
    problems: [],
  });
});

test.each([
  [{}, undefined, "local (default)\n"],
  [{ LETTA_LOCAL_BACKEND_EXPERIMENTAL: "0" }, undefined, "api (LETTA_LOCAL_BACKEND_EXPERIMENTAL)\n"],
  [{ LETTA_BASE_URL: "http://localhost:8283" }, undefined, "api (LETTA_BASE_URL)\n"],
  [{}, "api", "Backend saved: api\n"],
  [{}, "cloud", "Backend saved: api\n"],
  [
    { LETTA_BASE_URL: "http://localhost:8283" },
    "local",
    "Backend saved: local. api stays in force here: LETTA_BASE_URL.\n",
  ],
] as const)("backend: %j %p", async (vars, mode, text) => {
  const core = await tempCore(vars);
  const io = recordingIo();
  expect(await runBackend(core, mode ? { mode } : {}, io)).toBe(0);
  expect(io.out).toBe(text);
});

test("an unknown backend is refused", async () => {
  const core = await tempCore();
  expect(await codeOf(runBackend(core, { mode: "remote" }, recordingIo()))).toBe("usage");
});
