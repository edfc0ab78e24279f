// Hooks inside a turn: real commands, a real engine, a scripted model.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import type { EngineEvent } from "@/engine/events.ts";
import { MAX_STOP_CONTINUATIONS } from "@/hooks/limits.ts";
import { openDatabase } from "@/store/db.ts";
import type { UserSettings } from "@/store/settings.ts";
import { type AnyTool, defineTool } from "@/tools/define-tool.ts";
import { call, FakeModel, type FakeReply, fail, reply, say } from "../support/fake-model.ts";
import { harness, play, tools } from "./harness.ts";

const root = mkdtempSync(join(tmpdir(), "letta-turn-hooks-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const hook = (command: string, matcher = "") => [
  { matcher, hooks: [{ type: "command" as const, command, quiet: true }] },
];
const answer = (value: unknown) => `echo '${JSON.stringify(value)}'`;
const use = (name: string, args: Record<string, unknown> = {}, id = "a"): FakeReply => reply([call(id, name, args)]);

async function open(hooks: UserSettings["hooks"], replies: FakeReply[]) {
  const ran: unknown[] = [];
  const model = new FakeModel(replies);
  const run = async (args: { n?: number }) => {
    ran.push(args);
    if (args.n === 13) return { status: "error" as const, output: "unlucky" };
    return "done";
  };
  const opened = await harness(model, tools(run), openDatabase(":memory:"), hooks);
  return { ...opened, model, ran };
}

const notices = (events: EngineEvent[]) => events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
/** What the model read last. */
const lastToolResults = (model: FakeModel) =>
  model.requests
    .at(-1)!
    .messages.flatMap((message) =>
      message.role === "toolResult" ? message.content.map((part) => (part.type === "text" ? part.text : "")) : [],
    );

describe("PreToolUse", () => {
  test("blocks, with its reason for the model", async () => {
    const { engine, input, model, ran } = await open({ PreToolUse: hook("echo not today >&2; exit 2") }, [
      use("Free"),
      say("ok"),
    ]);
    const { events, result } = await play(engine, input());
    expect(ran).toEqual([]);
    expect(lastToolResults(model)[0]).toContain("A hook blocked this call: not today");
    expect(result.deniedTools).toEqual([{ tool: "Free", reason: "A hook blocked this call: not today" }]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "auto_decided",
        behavior: "deny",
        again: true,
        reason: { by: "hook", detail: "not today" },
      }),
    );
  });

  test("only for tools its matcher means", async () => {
    const { engine, input, ran } = await open({ PreToolUse: hook("exit 2", "Ask|Never") }, [use("Free"), say("ok")]);
    await play(engine, input());
    expect(ran).toEqual([{}]);
  });

  test("one that crashes blocks nothing and is told to people", async () => {
    const { engine, input, ran } = await open({ PreToolUse: hook("kill -9 $$") }, [use("Free"), say("ok")]);
    const { events } = await play(engine, input());
    expect(ran).toEqual([{}]);
    expect(notices(events)).toEqual([expect.stringContaining("failed: exit code 137")]);
  });

  test("rewrites arguments: they are parsed, checked and run; the model is told", async () => {
    const { engine, input, model, ran } = await open({ PreToolUse: hook(answer({ updatedInput: { n: 2 } })) }, [
      use("Free", { n: 1 }),
      say("ok"),
    ]);
    const { events } = await play(engine, input());
    expect(ran).toEqual([{ n: 2 }]);
    expect(lastToolResults(model)[0]).toContain('changed the arguments of this call to: {"n":2}');
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool_started",
        call: expect.objectContaining({ args: { n: 2 }, rewritten: true }),
      }),
    );
  });

  test("rewritten arguments the tool does not take are never run", async () => {
    const { engine, input, model, ran } = await open({ PreToolUse: hook(answer({ updatedInput: { m: 2 } })) }, [
      use("Free"),
      say("ok"),
    ]);
    await play(engine, input());
    expect(ran).toEqual([]);
    expect(lastToolResults(model)[0]).toContain("they cannot be used");
  });

  test("rewritten arguments are asked about again; an echo of the same is not", async () => {
    const asked: unknown[] = [];
    const decide = (event: { call: { args: unknown } }) => {
      asked.push(event.call.args);
      return { behavior: "allow" as const };
    };
    const rewriting = await open({ PreToolUse: hook(answer({ updatedInput: { n: 2 } })) }, [
      use("Ask", { n: 1 }),
      say("ok"),
    ]);
    await play(rewriting.engine, rewriting.input(), decide);
    expect(asked.splice(0)).toEqual([{ n: 1 }, { n: 2 }]);
    const echoing = await open({ PreToolUse: hook(answer({ updatedInput: { n: 1 } })) }, [
      use("Ask", { n: 1 }),
      say("ok"),
    ]);
    await play(echoing.engine, echoing.input(), decide);
    expect(asked).toEqual([{ n: 1 }]);
  });

  test("asks where nothing else does; without a person that is a denial", async () => {
    const hooks = { PreToolUse: hook(answer({ decision: "ask", reason: "look at this" })) };
    const person = await open(hooks, [use("Free"), say("ok")]);
    const { events } = await play(person.engine, person.input());
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "approval_requested",
        reason: { by: "hook", detail: "look at this" },
        suggestions: [],
      }),
    );
    expect(person.ran).toEqual([{}]);
    const nobody = await open(hooks, [use("Free"), say("ok")]);
    await play(nobody.engine, nobody.input({ approver: "nobody" }));
    expect(nobody.ran).toEqual([]);
  });

  test("cannot allow what a rule denies", async () => {
    const { engine, input, ran } = await open({ PreToolUse: hook(answer({ decision: "allow" })) }, [
      use("Never"),
      say("ok"),
    ]);
    await play(engine, input());
    expect(ran).toEqual([]);
  });

  test("a person who refuses the second question and stops ends the batch", async () => {
    const { engine, input, ran } = await open({ PreToolUse: hook(answer({ updatedInput: { n: 2 } }), "Ask") }, [
      reply([call("a", "Ask", { n: 1 }), call("b", "Free", {})]),
    ]);
    const { result } = await play(engine, input(), ({ call: { args } }) =>
      args.n === 1 ? { behavior: "allow" } : { behavior: "deny", interrupt: true },
    );
    expect(ran).toEqual([]);
    expect(result).toMatchObject({ status: "interrupted" });
    expect(result.deniedTools.map(({ tool }) => tool)).toEqual(["Ask", "Free"]);
  });

  test("each call of a batch sees what the one before has done", async () => {
    const log = join(root, "batch");
    const { engine, input } = await open(
      { PreToolUse: hook(`echo pre >> ${log}`), PostToolUse: hook(`echo post >> ${log}`) },
      [reply([call("a", "Free", {}), call("b", "Free", {})]), say("ok")],
    );
    await play(engine, input());
    expect(await Bun.file(log).text()).toBe("pre\npost\npre\npost\n");
  });

  test("continue: false ends the turn", async () => {
    const { engine, input, ran } = await open({ PreToolUse: hook(answer({ continue: false, stopReason: "enough" })) }, [
      use("Free"),
    ]);
    const { result } = await play(engine, input());
    expect(ran).toEqual([]);
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "denied", message: "A hook stopped the turn: enough" },
    });
  });
});

test("PostToolUse and PostToolUseFailure speak to the model", async () => {
  const { engine, input, model } = await open(
    {
      PostToolUse: hook('grep -q \'"status":"error"\' && echo it failed >&2 && exit 2; exit 0'),
      PostToolUseFailure: hook(answer({ additionalContext: "try again" })),
    },
    [use("Free", { n: 13 }), use("Free", { n: 1 }, "b"), say("ok")],
  );
  await play(engine, input());
  expect(lastToolResults(model)).toEqual(["unlucky\n\n[Hook feedback]:\nit failed\ntry again", "done"]);
});

test("hooks are told what the model said and thought before", async () => {
  const log = join(root, "preceding");
  const thinking = reply([
    { type: "thinking", thinking: "let me see" },
    { type: "text", text: "Looking." },
    call("a", "Free", {}),
  ]);
  const { engine, input } = await open({ PostToolUse: hook(`cat > ${log}`) }, [thinking, say("ok")]);
  await play(engine, input());
  expect(JSON.parse(await Bun.file(log).text())).toMatchObject({
    preceding_reasoning: "let me see",
    preceding_assistant_message: "Looking.",
    tool_result: { status: "success", output: "done" },
  });
});

describe("PermissionRequest", () => {
  test.each([
    ["exit 0 allows", "exit 0", true, 0],
    ["exit 2 denies", "echo no >&2; exit 2", false, 0],
    ["a decision in JSON", answer({ decision: "deny", reason: "no" }), false, 0],
    ["ask leaves it to the person", answer({ decision: "ask" }), true, 1],
    ["a crash leaves it to the person", "exit 1", true, 1],
    ["broken JSON leaves it to the person", "echo '{\"decision\":'", true, 1],
  ])("%s", async (_, command, runs, questions) => {
    const { engine, input, ran } = await open({ PermissionRequest: hook(command) }, [use("Ask"), say("ok")]);
    const { events } = await play(engine, input());
    expect(ran).toHaveLength(runs ? 1 : 0);
    expect(events.filter(({ type }) => type === "approval_requested")).toHaveLength(questions);
  });

  test("answers where nobody is there, and not for what only a person may allow", async () => {
    const hooks = { PermissionRequest: hook("exit 0"), PreToolUse: hook(answer({ decision: "ask" }), "Free") };
    const { engine, input, ran } = await open(hooks, [reply([call("a", "Ask", {}), call("b", "Free", {})]), say("ok")]);
    const { result } = await play(engine, input({ approver: "nobody" }));
    expect(ran).toHaveLength(1);
    expect(result.deniedTools.map(({ tool }) => tool)).toEqual(["Free"]);
  });
});

describe("UserPromptSubmit", () => {
  test("refuses a message before anything is stored or sent", async () => {
    const { engine, input, model, backend, conversationId, agentId } = await open(
      { UserPromptSubmit: hook("grep -q hello && echo no greetings >&2 && exit 2; exit 0") },
      [say("ok")],
    );
    const { result } = await play(engine, input());
    expect(result).toMatchObject({
      status: "failed",
      steps: 0,
      error: { code: "denied", message: "A hook refused the message: no greetings" },
    });
    expect(model.requests).toEqual([]);
    const page = await backend.listMessages({ agentId, conversationId }, { limit: 10 });
    expect(page.items).toEqual([]);
    await play(engine, input({ content: "good day" }));
    expect(model.requests).toHaveLength(1);
  });

  test("what it prints goes with the message; news of the harness are not asked about", async () => {
    const { engine, input, model } = await open({ UserPromptSubmit: hook("echo branch: main") }, [
      say("ok"),
      say("ok"),
    ]);
    await play(engine, input());
    expect(JSON.stringify(model.requests[0]!.messages)).toContain("branch: main");
    await play(engine, input({ content: "task ended", automatic: true }));
    expect(JSON.stringify(model.requests[1]!.messages.at(-1))).not.toContain("branch: main");
  });
});

describe("Stop", () => {
  test("sends the model back to work, and knows that it did", async () => {
    const log = join(root, "stop");
    const { engine, input, model } = await open(
      { Stop: hook(`cat >> ${log}; [ $(wc -l < ${log}) -lt 2 ] && echo run the tests >&2 && exit 2; exit 0`) },
      [say("finished"), say("tests pass")],
    );
    const { result } = await play(engine, input());
    expect(result).toMatchObject({ status: "completed", text: "tests pass", steps: 2 });
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({
      role: "user",
      content: "<stop-hook>\nrun the tests\n</stop-hook>",
    });
    const seen = (await Bun.file(log).text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(seen.map(({ stop_hook_active }) => stop_hook_active)).toEqual([false, true]);
    expect(seen[0]).toMatchObject({ assistant_message: "finished", user_message: "hello", stop_reason: "end_turn" });
  });

  test("not for ever", async () => {
    const replies = Array.from({ length: MAX_STOP_CONTINUATIONS + 1 }, () => say("finished"));
    const { engine, input, model } = await open({ Stop: hook("echo again >&2; exit 2") }, replies);
    const { events, result } = await play(engine, input());
    expect(result.status).toBe("completed");
    expect(model.requests).toHaveLength(MAX_STOP_CONTINUATIONS + 1);
    expect(notices(events).at(-1)).toContain("8 times");
  });
});

test("PreCompact refuses what a person asked for", async () => {
  const { engine, agentId, conversationId } = await open({ PreCompact: hook("echo keep it all >&2; exit 2") }, []);
  await expect(engine.compact({ agentId, conversationId })).rejects.toMatchObject({
    code: "denied",
    message: "A hook refused the compaction: keep it all",
  });
});

describe("PreCompact, before a conversation shrinks by itself", () => {
  const LONG = "words ".repeat(6_000);
  async function long(command: string, replies: FakeReply[]) {
    const model = new FakeModel([say("one"), ...replies], { max_context_window: 8_000 });
    const log = join(root, `compact-${crypto.randomUUID()}`);
    const opened = await harness(model, [], openDatabase(":memory:"), {
      PreCompact: hook(`cat >> ${log}; ${command}`),
    });
    const first = await play(opened.engine, opened.input({ content: LONG }));
    const asked = async () =>
      (await Bun.file(log).text())
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    return { ...opened, model, asked, first };
  }

  test("it is asked first, and may refuse: the request goes out as it is", async () => {
    const { engine, input, model, asked } = await long("echo keep it all >&2; exit 2", [say("two")]);
    const { events, result } = await play(engine, input({ content: LONG }));
    expect(result).toMatchObject({ status: "completed", text: "two" });
    expect(events.filter(({ type }) => type === "compaction")).toEqual([]);
    expect(notices(events)).toEqual(["A hook refused to shorten the conversation: keep it all"]);
    expect(JSON.stringify(model.requests.at(-1)!.messages).split(LONG.trim()).length - 1).toBe(2);
    // Once per turn, although the answer did not make it shorter.
    expect((await asked()).at(-1)).toMatchObject({
      trigger: "auto",
      cause: "context_window_limit",
      max_context_length: 8_000,
      context_length: expect.any(Number),
    });
  });

  test("what the provider finds too long fails then", async () => {
    const { engine, input, asked } = await long("exit 2", [fail("context_overflow")]);
    const { result } = await play(engine, input({ content: "short" }));
    expect(result).toMatchObject({ status: "failed", error: { code: "context_overflow" } });
    const causes = (await asked()).map(({ cause }) => cause);
    expect(causes.slice(-2)).toEqual(["context_window_limit", "context_window_overflow"]);
  });

  test("one that does not object is no obstacle", async () => {
    const { first, model } = await long("exit 0", []);
    expect(first.events.map(({ type }) => type)).toContain("compaction");
    expect(JSON.stringify(model.requests[0]!.messages)).not.toContain(LONG.trim());
  });
});

test("a matcher means the family of what a tool does, too", async () => {
  const ran: string[] = [];
  const shell = defineTool({
    name: "exec_command",
    description: "",
    args: v.strictObject({ cmd: v.string() }),
    targets: ({ cmd }) => [{ kind: "shell", command: cmd, cwd: "/" }],
    run: async ({ cmd }) => {
      ran.push(cmd);
      return "done";
    },
  }) as AnyTool;
  const model = new FakeModel([use("exec_command", { cmd: "ls" }), say("ok")]);
  const { engine, input, permissions } = await harness(model, [shell], openDatabase(":memory:"), {
    PreToolUse: hook("echo no shells >&2; exit 2", "Bash"),
  });
  permissions.rules.push("exec_command");
  await play(engine, input());
  expect(ran).toEqual([]);
  expect(lastToolResults(model)[0]).toContain("no shells");
});

test("what a prompt hook uses counts against the turn's budget", async () => {
  const model = new FakeModel([use("Free"), say('{"ok":true}'), say("never said")]);
  const { engine, input } = await harness(model, tools(), openDatabase(":memory:"), {
    PreToolUse: [{ hooks: [{ type: "prompt", prompt: "ok?" }] }],
  });
  const { result } = await play(engine, input({ limits: { maxTokens: 30 } }));
  expect(result).toMatchObject({ status: "limit", usage: { total_tokens: 36, step_count: 1 } });
  expect(model.requests).toHaveLength(2);
});
