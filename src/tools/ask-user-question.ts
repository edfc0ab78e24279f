// Questions to the person. The front end asks while the call waits for its approval and allows it with the answers in
// `answers`; running the tool only says what was answered.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import description from "./ask-user-question.md" with { type: "text" };
import { defineTool } from "./define-tool.ts";

const QuestionSchema = v.strictObject({
  question: v.string(),
  header: v.pipe(v.string(), v.description("Label of at most 12 characters")),
  options: v.pipe(
    v.array(v.strictObject({ label: v.string(), description: v.string() })),
    v.minLength(2),
    v.maxLength(4),
  ),
  multiSelect: v.optional(v.boolean(), false),
});
export type Question = v.InferOutput<typeof QuestionSchema>;

export const askUserQuestionTool = defineTool({
  name: "AskUserQuestion",
  toolsets: { default: "AskUserQuestion", codex: "AskUserQuestion", gemini: "AskUserQuestion" },
  description,
  args: v.strictObject({
    questions: v.pipe(v.array(QuestionSchema), v.minLength(1), v.maxLength(4)),
    answers: v.optional(v.pipe(v.record(v.string(), v.string()), v.description("Filled in by the user; leave it out"))),
  }),
  targets: () => [{ kind: "tool", name: "AskUserQuestion", args: {} }],
  resource: () => ({ kind: "barrier" }),
  title: ({ questions }) => questions.map((question) => question.header).join(", "),
  alwaysAsk: true,
  interactive: true,
  run: async ({ questions, answers = {} }) => {
    const answered = questions.filter(({ question }) => answers[question] !== undefined);
    if (answered.length === 0) throw new ToolError("The user did not answer.");
    const pairs = answered.map(({ question }) => `"${question}"="${answers[question]}"`);
    return {
      status: "success",
      output: `The user answered: ${pairs.join(", ")}. Go on with these answers in mind.`,
      summary: answered.map(({ question }) => answers[question]).join(", "),
    };
  },
});
