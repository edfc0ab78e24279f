import { expect, test } from "bun:test";
import { renderSkills } from "@/backend/local/prompt.ts";
import { buildCatalogue, catalogueBudget } from "@/skills/catalogue.ts";
import type { Skill, SkillSource } from "@/skills/types.ts";

function skill(id: string, description: string, patch: Partial<Skill> & { source?: SkillSource } = {}): Skill {
  const source = patch.source ?? "global";
  return {
    id,
    name: id,
    description,
    whenToUse: null,
    argumentHint: null,
    modelInvocable: true,
    userInvocable: true,
    category: null,
    tags: [],
    license: null,
    compatibility: null,
    metadata: {},
    allowedTools: [],
    source,
    root: { source, path: `/${source}`, label: source },
    folder: `/${source}/${id}`,
    file: `/${source}/${id}/SKILL.md`,
    ...patch,
  };
}

test("a line for each skill the model may call, with when to call it", () => {
  const skills = [
    skill("a", "Does a.", { whenToUse: "Somebody wants a." }),
    skill("b", "Does b.", { modelInvocable: false }),
    skill("c", "Does c.", { userInvocable: false }),
  ];
  const { skills: listed, note } = buildCatalogue(skills, 8_000);
  expect(listed).toEqual([
    { name: "a", description: "Does a. When to use: Somebody wants a.", location: "/global/a/SKILL.md" },
    { name: "c", description: "Does c.", location: "/global/c/SKILL.md" },
  ]);
  expect(note).toBeNull();
});

test.each([
  [null, 8_000],
  [200_000, 16_000],
  [8_192, 655],
])("a window of %p tokens has room for %p characters", (window, chars) => expect(catalogueBudget(window)).toBe(chars));

const many = (count: number, source: SkillSource, length = 200): Skill[] =>
  Array.from({ length: count }, (_, index) => skill(`${source}-${index}`, "x".repeat(length), { source }));

test("over the budget, descriptions are shortened to the same length first", () => {
  const catalogue = buildCatalogue([...many(20, "project"), skill("tiny", "Short.")], 3_000);
  expect(catalogue.omitted).toEqual([]);
  expect(catalogue.skills).toHaveLength(21);
  expect(catalogue.note).toBe("Descriptions are shortened to save room.");
  const block = renderSkills(catalogue.skills);
  expect(block.length).toBeLessThan(3_200);
  expect(block.length).toBeGreaterThan(2_800);
  expect(catalogue.skills.find(({ name }) => name === "tiny")?.description).toBe("Short.");
});

test("then skills of the weakest sources are left out, and the list says how many and where they are", () => {
  const skills = [...many(20, "bundled"), ...many(10, "global"), ...many(10, "project"), ...many(10, "agent")];
  const catalogue = buildCatalogue(skills, 1_500);
  const counts = Object.groupBy(catalogue.listed, ({ source }) => source);
  expect({ project: counts.project?.length, agent: counts.agent?.length, bundled: counts.bundled }).toEqual({
    project: 10,
    agent: 10,
    bundled: undefined,
  });
  expect(catalogue.listed.length + catalogue.omitted.length).toBe(50);
  const left = 10 - counts.global!.length;
  expect(catalogue.note).toBe(
    `Descriptions are shortened, and ${catalogue.omitted.length} more skills left out, to save room: 20 in /bundled, ${left} in /global. They can be called by name, too.`,
  );
  expect(renderSkills(catalogue.skills, catalogue.note ?? undefined)).toEndWith(
    `\n\n${catalogue.note}\n</available_skills>`,
  );
});

test("a thousand skills stay within the budget of any window", () => {
  const skills = many(1_000, "global", 500);
  for (const window of [4_096, 32_768, 200_000, 1_000_000, null]) {
    const { skills: listed } = buildCatalogue(skills, catalogueBudget(window));
    expect(renderSkills(listed).length).toBeLessThanOrEqual(catalogueBudget(window) + 200);
  }
});
