// The question tool: its arguments are recognised by their shape, each question becomes a choice with room for an
// answer of one's own, and the answers go back in the arguments, keyed by question text.

import * as v from "valibot";
import { toPlainLine, toPlainText, wrap } from "@/lib/terminal-text.ts";
import type { Answer, Choice } from "./choice.ts";
import type { Theme } from "./theme.ts";

const QuestionsSchema = v.object({
  questions: v.pipe(
    v.array(
      v.object({
        question: v.string(),
        header: v.optional(v.string()),
        options: v.array(v.object({ label: v.string(), description: v.optional(v.string()) })),
        multiSelect: v.optional(v.boolean()),
      }),
    ),
    v.minLength(1),
  ),
});
export type Question = v.InferOutput<typeof QuestionsSchema>["questions"][number];

/** Undefined when the arguments are no questions. */
export function parseQuestions(args: unknown): Question[] | undefined {
  const parsed = v.safeParse(QuestionsSchema, args);
  return parsed.success ? parsed.output.questions : undefined;
}

/** Values are option labels; null is the own answer. */
export function questionChoice(question: Question): Choice<string | null> {
  return {
    title: [],
    multi: question.multiSelect ?? false,
    items: [
      ...question.options.map(({ label, description }) => ({
        value: label,
        label,
        ...(description && { hint: description }),
      })),
      { value: null, label: "Other", input: true },
    ],
  };
}

export function questionBlock(question: Question, theme: Theme, columns: number): string[] {
  const header = question.header ? `${theme.cyan(toPlainLine(question.header))}: ` : "";
  const lines = toPlainText(question.question)
    .split("\n")
    .flatMap((line, index) => wrap(index === 0 ? header + theme.bold(line) : theme.bold(line), columns - 3));
  const several = question.multiSelect ? [theme.dim("  Several may be chosen.")] : [];
  return [...lines.map((line, index) => `${index === 0 ? theme.yellow("?") : " "} ${line}`), ...several];
}

/** The chosen labels and the own words as one text. */
export function answerText(answer: Answer<string | null>): string {
  const chosen = answer.values.filter((value) => value !== null);
  const own = answer.values.includes(null) && answer.text ? [answer.text] : [];
  return [...chosen, ...own].join(", ");
}
