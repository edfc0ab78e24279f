import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { examineMemory, nameSkills } from "@/memory/examine.ts";
import { openMemory } from "@/memory/service.ts";
import { tempDir } from "../support/binary.ts";

function open(agents: string, seed: Record<string, string>) {
  return openMemory({
    paths: { agents },
    agent: { id: "agent-1", name: "Ada" },
    git: () => import("@/store/git/repository.ts"),
    seed: () => seed,
  });
}
const note = (body: string) => `---\ndescription: d\n---\n${body}\n`;

test("what is wrong with a memory is said in one line each", async () => {
  using folder = tempDir("letta-examine-");
  const memory = open(folder.path, {
    "system/persona.md": note("see [[reference/a]], [[reference/gone]] and [[skills/x]]"),
    "system/long.md": note("x".repeat(9_000)),
    "reference/a.md": "no head\n",
    "skills/x/SKILL.md": "# X\n",
  });
  await memory.ensure();
  writeFileSync(join(memory.places.memory, "draft.md"), "x");
  expect(await examineMemory(memory)).toEqual([
    "system/ has 2 files of about 2276 tokens; 4 files in all",
    "Large for every request: system/long.md",
    "Without a description: reference/a.md",
    "Links that lead nowhere: [[reference/gone]] in system/persona.md",
    "Not committed: draft.md (untracked)",
  ]);
});

test("skills without a name get their folder's, in one commit, once", async () => {
  using folder = tempDir("letta-examine-");
  const memory = open(folder.path, {
    "system/persona.md": note("me"),
    "skills/cook/SKILL.md": "---\ndescription: cooks\n---\nBoil.\n",
    "skills/bake/SKILL.md": "---\nname: baking\ndescription: bakes\n---\nBake.\n",
  });
  const commit = await nameSkills(memory);
  expect(commit?.paths).toEqual(["skills/cook/SKILL.md"]);
  const text = Buffer.from((await (await memory.files()).read("skills/cook/SKILL.md"))!).toString();
  expect(text).toContain("name: cook\n");
  expect(text).toEndWith("---\nBoil.\n");
  expect(await nameSkills(memory)).toBeNull();
});
