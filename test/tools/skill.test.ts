import { afterAll, expect, test } from "bun:test";
import { LettaError } from "@/lib/errors.ts";
import type { AnyTool } from "@/tools/define-tool.ts";
import { createToolRegistry } from "@/tools/registry.ts";
import { type LoadSkill, skillTool } from "@/tools/skill.ts";
import { openWorkbench } from "./support.ts";

const load: LoadSkill = async ({ id, args }) => {
  if (id !== "deploy") throw new LettaError("not_found", `There is no skill "${id}"`, { hint: "Did you mean deploy?" });
  return { name: id, followUp: { label: `${id} from here`, text: `<deploy>${args}</deploy>`, allow: ["Read"] } };
};
const bench = openWorkbench();
afterAll(() => bench[Symbol.asyncDispose]());
const toolContext = () => bench.context();

const tool = skillTool(load) as AnyTool;
const registry = createToolRegistry([tool]);
const offered = (skills: string[]) =>
  registry.select({ toolset: "default", interactive: false, offer: { skills } }).tools;

test("one line back; the text goes beside it", async () => {
  const result = await tool.run({ skill: "deploy", args: "now" }, toolContext());
  expect(result).toEqual({
    status: "success",
    output: "Launching skill: deploy",
    summary: "deploy from here",
    followUp: { label: "deploy from here", text: "<deploy>now</deploy>", allow: ["Read"] },
  });
});

test("what cannot be loaded is said to the model", () => {
  expect(tool.run({ skill: "deploi" }, toolContext())).rejects.toMatchObject({
    code: "tool",
    message: 'There is no skill "deploi". Did you mean deploy?',
  });
});

test("a request without skills has no tool for them; up to a hundred are its only values", () => {
  expect(offered([])).toEqual([]);
  const names = Array.from({ length: 100 }, (_, index) => `skill-${index}`);
  expect(offered(names)[0]?.parameters).toMatchObject({ properties: { skill: { type: "string", enum: names } } });
  expect(offered([...names, "one-more"])[0]?.parameters).toEqual(tool.parameters);
  // It is the same tool in all other respects, and unchanged for the next request.
  expect(offered(["a"])[0]).toMatchObject({ name: "Skill", usesSkills: true });
  expect(JSON.stringify(tool.parameters)).not.toContain("enum");
});

test("it asks for nothing but itself, by the skill's name", () => {
  expect(tool.targets({ skill: "deploy" }, toolContext())).toEqual([
    { kind: "tool", name: "Skill", args: { skill: "deploy" }, payload: "deploy", harmless: true },
  ]);
});
