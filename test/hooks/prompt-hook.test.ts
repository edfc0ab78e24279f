import { expect, test } from "bun:test";
import { composePrompt, findJudgement, runPromptHook } from "@/hooks/prompt-hook.ts";
import { FakeModel, fail, Gate, say } from "../support/fake-model.ts";

const options = (models: FakeModel, patch = {}) => ({
  models,
  model: null,
  prompt: "Is $ARGUMENTS harmless?",
  input: '{"tool_name":"Bash"}',
  timeoutMs: 5_000,
  signal: new AbortController().signal,
  ...patch,
});

test.each([
  ['{"ok": true}', { ok: true }],
  ['Sure. {"ok": false, "reason": "it has a } in it"} Bye', { ok: false, reason: "it has a } in it" }],
  ['{"x": {"ok": true}}', { ok: true }],
  ["yes", null],
  ['{"ok": "yes"}', null],
  ["{".repeat(4000) + "}".repeat(4000), null],
] as const)("%.60s", (text, judgement) => expect(findJudgement(text)).toEqual(judgement));

test("the input takes the place of $ARGUMENTS, or is appended; its own dollars mean nothing", () => {
  expect(composePrompt("a $ARGUMENTS b", "$& $1")).toBe("a $& $1 b");
  expect(composePrompt("a", "{}")).toBe("a\n\n{}");
});

test("the model judges", async () => {
  const models = new FakeModel([say('{"ok": false, "reason": "it deletes"}')]);
  expect(await runPromptHook(options(models))).toMatchObject({
    status: "judged",
    ok: false,
    reason: "it deletes",
    usage: { input: 10, output: 5 },
  });
  expect(models.requests[0]).toMatchObject({
    handle: "fake/model",
    messages: [{ role: "user", content: 'Is {"tool_name":"Bash"} harmless?' }],
    tools: [],
  });
});

test("a model that fails, talks or hangs decides nothing", async () => {
  const models = new FakeModel([fail("provider"), say("I think so"), [new Gate()]]);
  expect(await runPromptHook(options(models))).toMatchObject({ status: "failed" });
  expect(await runPromptHook(options(models))).toMatchObject({ status: "failed" });
  expect(await runPromptHook(options(models, { timeoutMs: 20 }))).toMatchObject({ status: "timeout" });
});
