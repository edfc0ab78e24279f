// Loads a skill. The result is one line: the text follows as a message of its own, whole, whatever its length.

import * as v from "valibot";
import { LettaError, ToolError } from "@/lib/errors.ts";
import type { FollowUp } from "@/store/journal.ts";
import { defineTool, type ToolContext } from "./define-tool.ts";
import description from "./skill.md" with { type: "text" };

/** Names offered as the only values; of more, the list in the prompt is enough. */
const MAX_ENUM = 100;

/** Throws LettaError for what the model should read. */
export type LoadSkill = (
  call: { id: string; args: string },
  context: Pick<ToolContext, "agentId" | "conversationId" | "cwd">,
) => Promise<{ name: string; followUp: FollowUp }>;

const ArgsSchema = v.strictObject({
  skill: v.pipe(v.string(), v.description("Name, as listed")),
  args: v.optional(v.pipe(v.string(), v.description("What the skill is to work on"))),
});

export function skillTool(load: LoadSkill) {
  return defineTool({
    name: "Skill",
    toolsets: { default: "Skill", codex: "Skill", gemini: "Skill", gemini_snake: "Skill" },
    description,
    args: ArgsSchema,
    targets: ({ skill, args }) => [
      { kind: "tool", name: "Skill", args: { skill, ...(args && { args }) }, payload: skill, harmless: true },
    ],
    title: ({ skill, args }) => [skill, args?.split("\n", 1)[0]].filter(Boolean).join(" "),
    usesSkills: true,
    parametersFor: ({ skills }, parameters) => {
      if (skills.length === 0) return null;
      return skills.length > MAX_ENUM ? parameters : withNames(parameters, skills);
    },
    async run({ skill, args = "" }, context) {
      try {
        const { name, followUp } = await load({ id: skill, args }, context);
        return { status: "success", output: `Launching skill: ${name}`, summary: followUp.label, followUp };
      } catch (error) {
        if (!(error instanceof LettaError) || error instanceof ToolError) throw error;
        throw new ToolError([error.message, error.hint].filter(Boolean).join(". "), { cause: error });
      }
    },
  });
}

function withNames(parameters: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const properties = parameters.properties as Record<string, Record<string, unknown>>;
  return { ...parameters, properties: { ...properties, skill: { ...properties.skill, enum: names } } };
}
