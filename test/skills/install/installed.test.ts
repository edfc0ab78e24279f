import { afterAll, beforeEach, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentMemory, openMemory } from "@/memory/service.ts";
import {
  deleteSkill,
  getInstalled,
  installSkill,
  listInstalled,
  pairFiles,
  verifySkill,
} from "@/skills/install/installed.ts";
import { createPackage } from "@/skills/install/package.ts";

const root = mkdtempSync(join(tmpdir(), "letta-installed-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const author = { name: "ann", email: "ann@example.com" };
const now = Date.parse("2026-03-01T10:00:00.000Z");

let count = 0;
let memory: AgentMemory;
beforeEach(() => {
  memory = openMemory({
    paths: { agents: join(root, String(count++)) },
    agent: { id: "agent-1", name: "Ada" },
    git: () => import("@/store/git/repository.ts"),
    seed: () => ({ "system/persona.md": "---\ndescription: me\n---\nI am.\n" }),
  });
});

const at = (path: string): string => join(memory.places.memory, path);
const pack = (name: string, files: Record<string, string> = {}, source = "o/r/kit") =>
  createPackage(
    {
      files: Object.entries({ "SKILL.md": `---\nname: ${name}\ndescription: Does it.\n---\nGo.\n`, ...files }).map(
        ([path, text]) => ({ path, content: Buffer.from(text), executable: path.endsWith(".sh") }),
      ),
      folder: name,
    },
    { source, resolvedRef: "1".repeat(40) },
  );
const install = (skill: ReturnType<typeof pack>, force = false) => installSkill(memory, skill, { author, force, now });
const verify = async (name: string) => verifySkill(memory, await getInstalled(memory, name));

async function history(): Promise<string[]> {
  const lines: string[] = [];
  for await (const commit of (await memory.ensure()).log())
    lines.push(`${commit.author.name}: ${commit.message.trim()}`);
  return lines;
}

test("one commit with everything, what can be run stays so, and where it came from is beside it", async () => {
  const skill = pack("kit", { "scripts/run.sh": "#!/bin/sh\n", "notes.md": "x", "notes/more.md": "y" });
  const { oid } = await install(skill);
  expect(await history()).toEqual(["ann: chore(skills): install kit", "Letta Code: chore: initialize local memory"]);
  expect(JSON.parse(readFileSync(at("skills/kit/.letta-skill.json"), "utf8"))).toEqual({
    source: "o/r/kit",
    resolved_ref: "1".repeat(40),
    sha256: skill.digest,
    installed_at: "2026-03-01T10:00:00.000Z",
  });
  expect(statSync(at("skills/kit/scripts/run.sh")).mode & 0o111).toBe(0o111);
  const repository = await memory.ensure();
  const entries = await repository.listFiles(oid);
  expect(entries.find(({ path }) => path.endsWith("run.sh"))?.mode).toBe("100755");
  expect(await repository.status()).toEqual([]);
  expect(await verify("kit")).toMatchObject({ state: "intact", changed: [] });
});

test("an existing skill is not touched without force, and replaced whole with it", async () => {
  await install(pack("kit", { "old.md": "old" }));
  const head = await memory.head();
  await expect(install(pack("kit"))).rejects.toMatchObject({ code: "conflict" });
  await expect(install(pack("KIT"))).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining("differ in case only"),
  });
  await expect(install(pack("KIT"), true)).rejects.toMatchObject({ code: "conflict" });
  expect(await memory.head()).toBe(head);
  await install(pack("kit", { "new.md": "new" }), true);
  expect([existsSync(at("skills/kit/old.md")), existsSync(at("skills/kit/new.md"))]).toEqual([false, true]);
  expect(await history()).toHaveLength(3);
});

test("what nobody committed is neither lost nor mixed in", async () => {
  await install(pack("kit"));
  const head = await memory.head();
  writeFileSync(at("skills/kit/mine.md"), "mine");
  for (const work of [() => install(pack("kit"), true), () => deleteSkill(memory, "kit", { author })]) {
    await expect(work()).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("skills/kit/mine.md (untracked)"),
    });
  }
  mkdirSync(at("skills/other"));
  writeFileSync(at("skills/other/SKILL.md"), "mine");
  await expect(install(pack("other"), true)).rejects.toMatchObject({ code: "conflict" });
  expect(readFileSync(at("skills/other/SKILL.md"), "utf8")).toBe("mine");
  expect(await memory.head()).toBe(head);
});

test.each(["skills", "skills/kit"])("a link at %s leads nothing out of the memory", async (place) => {
  await memory.ensure();
  const outside = mkdtempSync(join(root, "outside-"));
  mkdirSync(join(at(place), ".."), { recursive: true });
  symlinkSync(outside, at(place));
  const head = await memory.head();
  await expect(install(pack("kit"), true)).rejects.toMatchObject({ code: "conflict" });
  expect(existsSync(join(outside, "SKILL.md")) || existsSync(join(outside, "kit"))).toBe(false);
  expect(await memory.head()).toBe(head);
  expect(await listInstalled(memory)).toEqual([]);
});

test("an edit is seen, also a committed one, and told from what was never installed", async () => {
  await install(pack("kit", { "a.md": "one", "b.md": "two" }));
  writeFileSync(at("skills/kit/a.md"), "ONE");
  rmSync(at("skills/kit/b.md"));
  symlinkSync("/etc/passwd", at("skills/kit/c.md"));
  expect(await verify("kit")).toMatchObject({ state: "changed", changed: ["a.md", "b.md", "c.md"] });
  mkdirSync(at("skills/own"));
  writeFileSync(at("skills/own/SKILL.md"), "---\nname: own\ndescription: x\n---\ny\n");
  expect((await verify("own")).state).toBe("own");
  // A note that was changed to fit is worth nothing.
  writeFileSync(
    at("skills/kit/.letta-skill.json"),
    JSON.stringify({ source: "o/r", resolved_ref: null, sha256: "0".repeat(64), installed_at: "" }),
  );
  expect((await verify("kit")).state).toBe("damaged");
  writeFileSync(at("skills/kit/.letta-skill.json"), "{");
  expect((await verify("kit")).state).toBe("damaged");
});

test("deleting is one commit, and files that git does not keep stay", async () => {
  await install(pack("kit", { ".gitignore": "*.log\n" }));
  writeFileSync(at("skills/kit/run.log"), "x");
  await deleteSkill(memory, "kit", { author });
  expect((await history())[0]).toBe("ann: chore(skills): delete kit");
  expect(existsSync(at("skills/kit/SKILL.md"))).toBe(false);
  expect(existsSync(at("skills/kit/run.log"))).toBe(true);
  await expect(getInstalled(memory, "kit")).rejects.toMatchObject({ code: "not_found" });
  await expect(getInstalled(memory, "../system")).rejects.toMatchObject({ code: "not_found" });
});

test("something that looks like a secret does not get in, and then nothing does", async () => {
  const head = await memory.head();
  await expect(install(pack("kit", { "a.md": `key sk-ant-api03-${"a1B2c3D4".repeat(6)}` }))).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.stringContaining("skills/kit/a.md:1: this looks like a secret"),
  });
  expect(await memory.head()).toBe(head);
  expect(existsSync(at("skills"))).toBe(false);
});

test("2,000 files are one commit", async () => {
  const many = Object.fromEntries(Array.from({ length: 1_999 }, (_, index) => [`f/${index}.txt`, `${index}`]));
  await install(pack("kit", many));
  expect((await verify("kit")).state).toBe("intact");
});

test("pairs are what differs", () => {
  const version = (text: string) => ({ content: Buffer.from(text), executable: false });
  const before = [
    { path: "same", ...version("1") },
    { path: "gone", ...version("1") },
    { path: "changed", ...version("1") },
    { path: ".letta-skill.json", ...version("1") },
  ];
  const after = [
    { path: "same", ...version("1") },
    { path: "new", ...version("1") },
    { path: "changed", ...version("2") },
  ];
  expect(pairFiles(before, after).map(({ path, before, after }) => [path, before !== null, after !== null])).toEqual([
    ["changed", true, true],
    ["gone", true, false],
    ["new", false, true],
  ]);
});
