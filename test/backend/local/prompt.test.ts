import { expect, test } from "bun:test";
import { compilePrompt, renderSkills } from "@/backend/local/prompt.ts";

test.each([
  ["plain", "", "plain"],
  ["plain", "memory", "plain\n\nmemory"],
  ["before {CORE_MEMORY} after {CORE_MEMORY}", "m", "before m after m"],
  ["costs $& and $1 {CORE_MEMORY}", "$&", "costs $& and $1 $&"],
  ["with nothing\n\n{CORE_MEMORY}\n", "", "with nothing"],
] as const)("%p with memory %p", (system, memory, expected) => expect(compilePrompt(system, memory)).toBe(expected));

test("skills are a tree per folder, in a stable order, each name once", () => {
  const skill = (name: string, root: string, description = `does ${name}`) => ({
    name,
    description,
    location: `${root}/${name}/SKILL.md`,
  });
  const skills = [
    skill("web/scraper", "/a"),
    skill("web/deep/diver", "/a", "first line\nsecond line"),
    skill("git", "/b", ""),
    skill("apple", "/a"),
  ];
  const expected = `<available_skills>
/a
- apple (does apple)
- web/
  - deep/
    - diver (first line)
  - scraper (does web/scraper)

/b
- git
</available_skills>`;
  expect(renderSkills(skills)).toBe(expected);
  expect(renderSkills([...skills, skills[0]!].toReversed())).toBe(expected);
  expect(renderSkills([])).toBe("");
});
