import { afterAll, expect, test } from "bun:test";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { worldPool } from "../support/permission-world.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

const ALLOW = { permissions: { allow: ["Bash(make)"] } };

test("a folder without anything that needs it", async () => {
  const { trust } = await worlds.make({
    project: { permissions: { deny: ["Bash"], ask: ["Edit"], alwaysAsk: ["Read"] } },
  });
  expect(trust.status).toBe("nothing");
  expect(trust.items).toEqual([]);
});

test("trust is of a place: the same files elsewhere ask again", async () => {
  const world = await worlds.make({ project: ALLOW });
  await world.trust.grant();
  renameSync(world.project, join(world.root, "moved"));
  const moved = await world.reopen({ cwd: join(world.root, "moved") });
  expect(moved.trust.status).toBe("untrusted");
});

test.each([
  ["an added rule", { permissions: { allow: ["Bash(make)", "Bash(evil)"] } }, "changed"],
  ["a replaced rule", { permissions: { allow: ["Bash(evil)"] } }, "changed"],
  ["an added mode", { permissions: { allow: ["Bash(make)"], mode: "plan" } }, "changed"],
  ["an added hook", { ...ALLOW, hooks: { Stop: [] } }, "changed"],
  ["an MCP server, which nothing reads", { ...ALLOW, mcpServers: [{ name: "x", command: "y" }] }, "trusted"],
  ["a variable, which nothing reads", { ...ALLOW, env: { A: "b" } }, "trusted"],
  ["a removed rule", {}, "nothing"],
  ["an added deny rule", { permissions: { allow: ["Bash(make)"], deny: ["Read"] } }, "trusted"],
  ["other order and form", { other: 1, permissions: { allow: ["Bash(make)"] } }, "trusted"],
] as const)("%s: %s", async (_, content, status) => {
  const world = await worlds.make({ project: ALLOW });
  await world.trust.grant();
  writeFileSync(join(world.project, ".letta/settings.json"), JSON.stringify(content, null, 3));
  expect((await world.reopen()).trust.status).toBe(status);
});

test("a rule moved from one file to the other is new", async () => {
  const world = await worlds.make({ project: ALLOW });
  await world.trust.grant();
  writeFileSync(join(world.project, ".letta/settings.local.json"), JSON.stringify(ALLOW));
  expect((await world.reopen()).trust.status).toBe("changed");
});

test("other folders' records survive; a damaged trust file trusts nothing and is not overwritten", async () => {
  const world = await worlds.make({ project: ALLOW });
  await world.trust.grant();
  const saved = JSON.parse(readFileSync(world.paths.trust, "utf8"));
  writeFileSync(
    world.paths.trust,
    JSON.stringify({ ...saved, folders: { ...saved.folders, "/x": { entries: [], granted: true, updatedAt: "t" } } }),
  );
  await (await world.reopen()).trust.revoke();
  expect(Object.keys(JSON.parse(readFileSync(world.paths.trust, "utf8")).folders)).toEqual(["/x"]);
  writeFileSync(world.paths.trust, "{");
  const damaged = await world.reopen();
  expect(damaged.trust.status).toBe("untrusted");
  await expect(damaged.trust.grant()).rejects.toMatchObject({ code: "invalid_data" });
  expect(readFileSync(world.paths.trust, "utf8")).toBe("{");
});

test("two processes that accept at once keep each other's entries", async () => {
  const world = await worlds.make();
  const other = await world.reopen();
  const entry = (value: string) => ({ source: "local" as const, key: "permissions.allow", value });
  await Promise.all([world.trust.accept([entry("Bash(a)")]), other.trust.accept([entry("Bash(b)")])]);
  const { trust } = await world.reopen();
  expect([trust.accepts(entry("Bash(a)")), trust.accepts(entry("Bash(b)")), trust.accepts(entry("Bash(c)"))]).toEqual([
    true,
    true,
    false,
  ]);
});

test("what is shown cannot hide behind control characters", async () => {
  const { trust } = await worlds.make({ project: { permissions: { allow: ["Bash(x)\u001b[2K\u202e"] } } });
  expect(trust.items).toEqual([{ file: ".letta/settings.json", description: "allow rule Bash(x)?[2K?" }]);
});
