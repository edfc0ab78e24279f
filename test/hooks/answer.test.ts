import { expect, test } from "bun:test";
import { NO_ANSWER, readAnswer } from "@/hooks/answer.ts";

test.each([
  ["", NO_ANSWER],
  ["plain text", NO_ANSWER],
  ['{"decision":"deny","reason":"no"}', { ...NO_ANSWER, decision: "deny", reason: "no" }],
  ['{"decision":"block","reason":"no"}', { ...NO_ANSWER, decision: "deny", reason: "no" }],
  ['{"decision":"approve"}', { ...NO_ANSWER, decision: "allow" }],
  ['{"continue":false,"stopReason":"enough"}', { ...NO_ANSWER, continues: false, reason: "enough" }],
  ['{"updatedInput":{"command":"ls"}}', { ...NO_ANSWER, updatedInput: { command: "ls" } }],
  ['{"hookSpecificOutput":{"additionalContext":"c"}}', { ...NO_ANSWER, additionalContext: "c" }],
  [
    '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"why","updatedInput":{"a":1}}}',
    { ...NO_ANSWER, decision: "ask", reason: "why", updatedInput: { a: 1 } },
  ],
  ['{"decision":"deny","hookSpecificOutput":{"permissionDecision":"allow"}}', { ...NO_ANSWER, decision: "deny" }],
] as const)("%s", (stdout, answer) => {
  expect(readAnswer(stdout)).toMatchObject({ answer, problem: null });
});

test("JSON that answers nothing is text", () => {
  expect(readAnswer('{"branch":"main"}\n')).toEqual({ answer: NO_ANSWER, text: '{"branch":"main"}', problem: null });
});

test.each([
  '{"decision":"allow"',
  '{"decision":"perhaps"}',
  '{"updatedInput":[1]}',
  '{"continue":"no"}',
  `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
])("%.40s decides nothing and says so", (stdout) => {
  const { answer, problem } = readAnswer(stdout);
  expect(answer).toEqual(NO_ANSWER);
  expect(problem).toBeString();
});
