import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentMemory, openMemory } from "@/memory/service.ts";

const root = mkdtempSync(join(tmpdir(), "letta-memory-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SEED = {
  "system/persona.md": "---\ndescription: me\n---\nI am.\n",
  "system/human.md": "---\ndescription: you\n---\nUnknown.\n",
};
let count = 0;

function open(agents: string, options: { seed?: Record<string, string>; name?: string } = {}): AgentMemory {
  return openMemory({
    paths: { agents },
    agent: { id: "agent-1", name: options.name ?? "Ada" },
    git: () => import("@/store/git/repository.ts"),
    seed: () => options.seed ?? SEED,
  });
}

let agents: string;
let memory: AgentMemory;
beforeEach(() => {
  agents = join(root, String(count++));
  memory = open(agents);
});

const file = (path: string): string => readFileSync(join(memory.places.memory, path), "utf8");
const write = (path: string, text: string): void => writeFileSync(join(memory.places.memory, path), text);

async function history(of = memory): Promise<string[]> {
  const lines: string[] = [];
  for await (const { author, message } of (await of.ensure()).log({ limit: 200 })) {
    lines.push(`${author.name} <${author.email}>: ${message.trim()}`);
  }
  return lines;
}

async function status(): Promise<string[]> {
  return (await (await memory.ensure()).status()).map(({ path, state }) => `${state} ${path}`);
}

describe("beginning", () => {
  test("seeds are the first commit, and a second process finds it", async () => {
    const head = await memory.head();
    expect(await history()).toEqual(["Letta Code <noreply@letta.com>: chore: initialize local memory"]);
    expect((await memory.files()).paths.toSorted()).toEqual(["system/human.md", "system/persona.md"]);
    expect(await open(agents, { seed: { "other.md": "x" } }).head()).toBe(head);
    expect(await status()).toEqual([]);
  });

  test("a branch whose tip is gone is not begun anew", async () => {
    await memory.head();
    rmSync(join(memory.places.memory, ".git/refs/heads/main"));
    await expect(open(agents).head()).rejects.toMatchObject({
      code: "invalid_data",
      hint: expect.stringContaining("letta memory fsck --repair"),
    });
    expect(existsSync(join(memory.places.memory, ".git/refs/heads/main"))).toBe(false);
  });

  test("an agent with a new name has it in the repository's settings, too", async () => {
    await memory.head();
    const renamed = await open(agents, { name: "Bea" }).ensure();
    expect(renamed.getConfig("user.name")).toBe("Bea");
    expect(renamed.getConfig("user.email")).toBe("agent-1@letta.com");
  });

  test("without seeds there is an empty commit", async () => {
    memory = open(agents, { seed: {} });
    expect(await memory.head()).toMatch(/^[0-9a-f]{40}$/);
    expect(await history()).toEqual(["Letta Code <noreply@letta.com>: chore: initialize empty local memory"]);
  });

  test("several at once make one beginning", async () => {
    const heads = await Promise.all(Array.from({ length: 8 }, () => open(agents).head()));
    expect(new Set(heads).size).toBe(1);
    expect(await history()).toHaveLength(1);
    expect(await status()).toEqual([]);
  });

  test("what lies there already is kept, and wins over a seed", async () => {
    mkdirSync(join(memory.places.memory, "system"), { recursive: true });
    write("system/human.md", "---\ndescription: mine\n---\nAnn\n");
    write("notes.md", "x");
    await memory.ensure();
    expect(file("system/human.md")).toContain("Ann");
    expect((await memory.files()).paths.toSorted()).toEqual(["notes.md", "system/human.md", "system/persona.md"]);
    expect(await status()).toEqual([]);
  });
});

describe("edits", () => {
  test("each is one commit of the agent, with the reason as its message", async () => {
    await memory.create({ file: "notes", description: "notes", text: "one" }, { reason: "feat: remember notes" });
    await memory.strReplace(
      { file: "system/human", oldString: "Unknown.", newString: "Ann.", replaceAll: false },
      { reason: "she said her name" },
    );
    await memory.insert({ file: "notes", line: 1, text: "zero" }, { reason: "order" });
    await memory.updateDescription({ file: "notes", description: "numbers" }, { reason: "clearer" });
    await memory.rename({ from: "notes", to: "reference/numbers" }, { reason: "tidy" });
    await memory.applyPatch("*** Begin Patch\n*** Add File: b\n+text\n*** End Patch", { reason: "patch" });
    const { oid, paths, notes } = await memory.delete("b", { reason: "gone" });
    expect({ paths, notes, isHead: oid === (await memory.head()) }).toEqual({
      paths: ["b.md"],
      notes: "",
      isHead: true,
    });
    expect((await history()).slice(0, -1)).toEqual(
      ["gone", "patch", "tidy", "clearer", "order", "she said her name", "feat: remember notes"].map(
        (reason) => `Ada <agent-1@letta.com>: ${reason}`,
      ),
    );
    expect(file("reference/numbers.md")).toBe("---\ndescription: numbers\n---\nzero\none\n");
    expect(existsSync(join(memory.places.memory, "notes.md"))).toBe(false);
    expect(await status()).toEqual([]);
  });

  test("what would spoil the memory leaves nothing behind", async () => {
    const head = await memory.head();
    const key = `sk-ant-api03-${"a1B2c3D4".repeat(6)}`;
    await expect(
      memory.create({ file: "keys", description: "keys", text: `use ${key}` }, { reason: "x" }),
    ).rejects.toMatchObject({
      code: "invalid_data",
      message: expect.stringContaining("keys.md:4: this looks like a secret"),
    });
    await expect(
      memory.create({ file: "system/human/x", description: "x", text: "" }, { reason: "x" }),
    ).rejects.toThrow("has the name of its folder");
    await expect(memory.delete("system/persona", { reason: "x" })).rejects.toThrow("cannot be without its persona");
    await expect(
      memory.strReplace(
        { file: "system/human", oldString: "Unknown.", newString: "Unknown.", replaceAll: false },
        { reason: "x" },
      ),
    ).rejects.toThrow("nothing to change");
    await expect(memory.create({ file: "a", description: "a", text: "" }, { reason: " " })).rejects.toThrow(
      "needs a reason",
    );
    expect(await memory.head()).toBe(head);
    expect(await status()).toEqual([]);
    expect(existsSync(join(memory.places.memory, "keys.md"))).toBe(false);
  });

  test("only the touched files have to be clean", async () => {
    await memory.ensure();
    write("system/persona.md", "---\ndescription: me\n---\nhalf done\n");
    await memory.create({ file: "notes", description: "n", text: "" }, { reason: "x" });
    expect(await status()).toEqual(["modified system/persona.md"]);
    const edit = { file: "system/persona", oldString: "I am.", newString: "I was.", replaceAll: false };
    await expect(memory.strReplace(edit, { reason: "x" })).rejects.toMatchObject({
      code: "conflict",
      message: "Nothing was changed: there are changes that nobody committed yet: system/persona.md (modified)",
    });
    write("draft.md", "mine");
    await expect(memory.create({ file: "draft", description: "d", text: "" }, { reason: "x" })).rejects.toThrow(
      "draft.md (untracked)",
    );
    expect(file("draft.md")).toBe("mine");
  });

  test("a sha the edit was made for", async () => {
    const then = await memory.head();
    const edit = (newString: string, expectedSha: string) =>
      memory.strReplace(
        { file: "system/human", oldString: /\w+\./.exec(file("system/human.md"))![0], newString, replaceAll: false },
        { reason: "x", expectedSha },
      );
    await memory.create({ file: "other", description: "o", text: "" }, { reason: "elsewhere" });
    await edit("Ann.", then.slice(0, 10));
    await expect(edit("Bob.", then)).rejects.toThrow(`system/human.md is not what it was in ${then.slice(0, 7)}`);
    await expect(edit("Bob.", "deadbeef")).rejects.toThrow("is no commit of this memory");
  });

  test("edits of several processes at once all arrive", async () => {
    await memory.ensure();
    const others = Array.from({ length: 4 }, () => open(agents));
    await Promise.all(
      others.flatMap((other, process) =>
        [0, 1, 2].map((at) =>
          other.insert(
            { file: "system/human", line: 99, text: `line ${process}.${at}` },
            { reason: `${process}.${at}` },
          ),
        ),
      ),
    );
    expect(file("system/human.md").match(/line/g)).toHaveLength(12);
    expect(await history()).toHaveLength(13);
    expect(await status()).toEqual([]);
  });
});

test("a reason and a name with a key in it change nothing", async () => {
  const head = await memory.head();
  const key = `sk-ant-api03-${"Ab1".repeat(31)}AA`;
  const file = { description: "d", text: "t" };
  await expect(memory.create({ file: "a", ...file }, { reason: `keep ${key}` })).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.stringContaining("the reason holds"),
  });
  await expect(memory.create({ file: key, ...file }, { reason: "keep" })).rejects.toMatchObject({
    message: expect.stringContaining("its name looks like a secret"),
  });
  expect(await memory.head()).toBe(head);
});
