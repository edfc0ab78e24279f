import { expect, test } from "bun:test";
import { openMemory } from "@/memory/service.ts";
import { collectView } from "@/memory/view/collect.ts";
import { tempDir } from "../../support/binary.ts";

const NOW = new Date("2026-03-01T10:00:00Z");

test("files in the order of the prompt, commits with what they changed, limits said", async () => {
  using folder = tempDir("letta-collect-");
  const memory = openMemory({
    paths: { agents: folder.path },
    agent: { id: "agent-1", name: "Ada" },
    git: () => import("@/store/git/repository.ts"),
    seed: () => ({ "system/persona.md": "---\ndescription: me\n---\nI am.\n", "a/b.md": "---\ndescription: b\n---\n" }),
  });
  for (let count = 0; count < 55; count++)
    await memory.edit(async (draft) => draft.write("n.md", Buffer.from(`---\ndescription: n\n---\n${count}\n`)), {
      message: count === 54 ? "fix(reflection): learn\n\nwith a body" : `change ${count}`,
    });
  await memory.edit(async (draft) => draft.write("large.txt", Buffer.from("x\n".repeat(300_000))), {
    message: "large",
  });
  const view = await collectView(memory, { shares: [], window: null }, NOW);
  expect(view.files.map(({ path, text }) => [path, text === null])).toEqual([
    ["system/persona.md", false],
    ["large.txt", true],
    ["n.md", false],
    ["a/b.md", false],
  ]);
  expect(view.files[0]).toMatchObject({ description: "me", bytes: 30, tokens: 8 });
  expect(view.commits).toHaveLength(57);
  expect(view.commits[0]).toMatchObject({
    diff: null,
    noDiff: "This diff is too large to show here.",
    paths: ["large.txt"],
  });
  expect(view.commits[1]).toMatchObject({
    isReflection: true,
    paths: ["n.md"],
    diff: expect.stringContaining("-53\n+54\n"),
  });
  expect(view.commits[2]).toMatchObject({ isReflection: false });
  expect(view.commits.slice(50).every(({ diff }) => diff === null)).toBe(true);
  expect(view).toMatchObject({ hasMoreCommits: false, head: view.commits[0]!.oid, createdAt: NOW.toISOString() });
});
