import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { readEnv } from "@/store/env.ts";
import { findJsonError } from "@/store/json-position.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";

const roots: string[] = [];
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

function tree(files: Record<string, string> = {}): string {
  const root = mkdtempSync(join(tmpdir(), "letta-settings-"));
  roots.push(root);
  for (const [name, text] of Object.entries({ "home/x": "", "project/x": "", ...files })) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

function open(root: string, cwd = "project") {
  const paths = resolvePaths(readEnv({ HOME: join(root, "home") }));
  return openSettings({ paths, cwd: join(root, cwd), managedFile: join(root, "managed.json") });
}

const USER = "home/.letta/settings.json";

test("unknown keys and keys of a wrong type survive a write; the rest is in force", async () => {
  const before = {
    future: { deep: [1] },
    createDefaultAgents: "yes",
    permissions: { allow: "Bash", deny: ["Bash(rm:*)"], later: 1 },
  };
  const root = tree({ [USER]: JSON.stringify(before) });
  const settings = await open(root);
  expect(settings.user.permissions?.deny).toEqual(["Bash(rm:*)"]);
  expect(settings.user.permissions?.allow).toBeUndefined();
  expect(settings.problems.map(({ kind, message }) => [kind, message.split(":")[0]]).sort()).toEqual([
    ["ignored", "`createDefaultAgents` is ignored"],
    ["ignored", "`permissions.allow` is ignored"],
  ]);
  await settings.updateUser((user) => {
    user.defaultModel = "a/b";
    user.permissions = { ...user.permissions, mode: "strict" };
  });
  expect(JSON.parse(readFileSync(join(root, USER), "utf8"))).toEqual({
    ...before,
    defaultModel: "a/b",
    permissions: { ...before.permissions, mode: "strict" },
  });
  expect(JSON.parse(readFileSync(join(root, `${USER}.bak`), "utf8"))).toEqual(before);
  expect(settings.user.defaultModel).toBe("a/b");
});

test("one bad entry of a map or list does not take its neighbours with it", async () => {
  const sessions = { good: { agentId: "a", conversationId: "c" }, bad: { agentId: 1 }, worse: 7 };
  const root = tree({ [USER]: JSON.stringify({ sessionsByServer: sessions, recentModels: ["m", 1, "n", null] }) });
  const { user, problems } = await open(root);
  expect(user.sessionsByServer?.good).toEqual(sessions.good);
  expect(user.recentModels).toEqual(["m", "n"]);
  expect(problems.length).toBeGreaterThanOrEqual(4);
});

test.each([
  ['{\n  "permissions": {\n    "allow": ["x",]\n  }\n}', "line 3, column 19: not valid JSON"],
  ["[1]", "not a JSON object"],
  ["null", "not a JSON object"],
  ['{"a": 1', "line 1, column 8: not valid JSON"],
  [`{"permissions":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "nested deeper than 64 levels"],
  [`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`, "nested deeper than 64 levels"],
])("damaged: %#", async (text, message) => {
  const root = tree({ [USER]: text });
  const settings = await open(root);
  expect(settings.user).toEqual({});
  expect(settings.problems).toEqual([{ file: join(root, USER), kind: "unreadable", message }]);
  await expect(
    settings.updateUser((user) => {
      user.defaultModel = "x";
    }),
  ).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.stringContaining(join(root, USER)),
  });
  expect(readFileSync(join(root, USER), "utf8")).toBe(text);
  expect(readdirSync(join(root, "home/.letta"))).toEqual(["settings.json"]);
});

test("an empty file and a byte order mark are harmless", async () => {
  const root = tree({ [USER]: " \n", "project/.letta/settings.json": '\ufeff{"permissions":{"mode":"plan"}}' });
  const settings = await open(root);
  expect(settings.problems).toEqual([]);
  expect(settings.project.permissions?.mode).toBe("plan");
});

test("deleted keys go, files keep their mode, new ones are private", async () => {
  const root = tree({ [USER]: '{"defaultModel":"x","keep":1}' });
  chmodSync(join(root, USER), 0o640);
  const settings = await open(root);
  await settings.updateUser((user) => {
    delete user.defaultModel;
  });
  expect(readFileSync(join(root, USER), "utf8")).toBe('{\n  "keep": 1\n}\n');
  expect(statSync(join(root, USER)).mode & 0o777).toBe(0o640);
  await settings.updateLocal((local) => {
    local.permissions = { allow: [] };
  });
  expect(statSync(join(root, "project/.letta/settings.local.json")).mode & 0o777).toBe(0o600);
});

test("a linked settings file stays a link", async () => {
  const root = tree({ "dotfiles/letta.json": "{}", "home/.letta/x": "" });
  symlinkSync(join(root, "dotfiles/letta.json"), join(root, USER));
  await (await open(root)).updateUser((user) => {
    user.defaultModel = "m";
  });
  expect(JSON.parse(readFileSync(join(root, "dotfiles/letta.json"), "utf8"))).toEqual({ defaultModel: "m" });
});

test("a project file that leads out of the project is not read and not written", async () => {
  const root = tree({ "home/.bashrc": "x", "evil/settings.json": '{"permissions":{"mode":"plan"}}' });
  symlinkSync(join(root, "evil"), join(root, "project/.letta"));
  const settings = await open(root);
  expect(settings.project).toEqual({});
  expect(settings.problems.every(({ message }) => message.startsWith("a link that leaves"))).toBe(true);
  await expect(settings.updateLocal(() => {})).rejects.toMatchObject({ code: "invalid_data" });
  expect(readdirSync(join(root, "evil"))).toEqual(["settings.json"]);
});

test("a backup is never written through a link", async () => {
  const root = tree({ "project/.letta/settings.local.json": '{"a":1}', victim: "precious" });
  symlinkSync(join(root, "victim"), join(root, "project/.letta/settings.local.json.bak"));
  await (await open(root)).updateLocal((local) => {
    local.permissions = {};
  });
  expect(readFileSync(join(root, "victim"), "utf8")).toBe("precious");
});

test("the exclude file of git is appended to, never a link in its place", async () => {
  const root = tree({ "project/.git/info/exclude": "# comment", victim: "precious\n", "other/.git/info/x": "" });
  const write = async (cwd: string) =>
    (await open(root, cwd)).updateLocal((local) => {
      local.permissions = { allow: [String(Math.random())] };
    });
  await write("project");
  await write("project");
  expect(readFileSync(join(root, "project/.git/info/exclude"), "utf8")).toBe(
    "# comment\n.letta/settings.local.json*\n",
  );
  symlinkSync(join(root, "victim"), join(root, "other/.git/info/exclude"));
  await write("other");
  expect(readFileSync(join(root, "victim"), "utf8")).toBe("precious\n");
});

test("the project root: git root, worktree file, cwd; never the home directory", async () => {
  const root = tree({
    "repo/.git/HEAD": "",
    "repo/a/b/x": "",
    "tree/.git": "gitdir: ../repo/.git/worktrees/w\n",
    "tree/sub/x": "",
    "plain/sub/x": "",
    "home/.git/HEAD": "",
    "home/code/x": "",
  });
  const rootOf = async (cwd: string) => (await open(root, cwd)).projectRoot;
  expect(await rootOf("repo/a/b")).toBe(join(root, "repo"));
  expect(await rootOf("tree/sub")).toBe(join(root, "tree"));
  expect(await rootOf("plain/sub")).toBe(join(root, "plain/sub"));
  expect(await rootOf("home")).toBeNull();
  expect(await rootOf("home/code")).toBe(join(root, "home/code"));
  const home = await open(root, "home");
  await expect(home.updateLocal(() => {})).rejects.toMatchObject({ code: "usage" });
});

test("a home that cannot be written to: an error that names the file, reading goes on", async () => {
  const root = tree({ "home/.letta": "a file where the directory should be" });
  const settings = await open(root);
  expect(settings.user).toEqual({});
  await expect(
    settings.updateUser((user) => {
      user.defaultModel = "m";
    }),
  ).rejects.toMatchObject({
    code: "storage",
    message: expect.stringContaining(join(root, USER)),
  });
});

test("several processes write at once and lose nothing", async () => {
  const root = tree();
  const script = join(import.meta.dir, "../support/settings-writer.ts");
  const children = ["left", "right", "third"].map((name) =>
    Bun.spawn([process.execPath, script, join(root, "home"), join(root, "project"), name], { stderr: "inherit" }),
  );
  expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0]);
  const saved = JSON.parse(readFileSync(join(root, USER), "utf8"));
  expect(Object.keys(saved.sessionsByServer)).toHaveLength(120);
  expect(readdirSync(join(root, "home/.letta")).sort()).toEqual(["settings.json", "settings.json.bak"]);
});

test("the lock of a killed process is taken over, that of a living one is respected", async () => {
  const root = tree({ "home/.letta/x": "" });
  const lock = join(root, `${USER}.lock`);
  const dead = Bun.spawnSync([process.execPath, "-e", "console.log(process.pid)"]).stdout.toString().trim();
  writeFileSync(lock, JSON.stringify({ pid: Number(dead), host: hostname(), nonce: "x" }));
  await (await open(root)).updateUser((user) => {
    user.defaultModel = "m";
  });
  expect(existsSync(lock)).toBe(false);
  expect(JSON.parse(readFileSync(join(root, USER), "utf8"))).toEqual({ defaultModel: "m" });
});

test.each([
  ['{"a":1,}', 1, 8],
  ['{"a":[1,2', 1, 10],
  ['{\n "a": tru\n}', 2, 7],
  ["[1 2]", 1, 4],
  ['{"a" 1}', 1, 6],
  ['{"a":1} x', 1, 9],
  ["{a:1}", 1, 2],
  ['{"a":"x\ny"}', 1, 6],
  ["01", 1, 1],
  ["[".repeat(100_000), 1, 100_001],
])("where %j breaks", (text, line, column) => expect(findJsonError(text)).toEqual({ line, column }));
