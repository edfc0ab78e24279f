// How a question of the model is shown.

import { expect, test } from "bun:test";
import { questionBlock } from "@/frontends/repl/question.ts";
import { createTheme } from "@/frontends/repl/theme.ts";

const OPTIONS = [{ label: "unit" }, { label: "e2e" }];

test("the header and the question wrap together; several answers are announced", () => {
  const question = { header: "CI", question: "Which of these should run?\nThey take long.", options: OPTIONS };
  expect(questionBlock(question, createTheme(false), 26)).toEqual([
    "? CI: Which of these",
    "  should run?",
    "  They take long.",
  ]);
  expect(questionBlock({ question: "Which?", options: OPTIONS, multiSelect: true }, createTheme(false), 60)).toEqual([
    "? Which?",
    "  Several may be chosen.",
  ]);
});
