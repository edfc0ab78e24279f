// Whole sittings on a terminal in memory: bytes in, what a person sees out.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runRepl } from "@/frontends/repl/run.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { call, type ScriptedAppOptions, SELECTION, type Step, scriptedApp, text, turnResult } from "./scripted-app.ts";

const ESC = "\x1b";
const CTRL_C = "\x03";
const CTRL_D = "\x04";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "letta-repl-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A clock that passes the time in which a question ignores keys with every reading. */
function steppingClock(): () => number {
  let now = 1_700_000_000_000;
  return () => {
    now += 1000;
    return now;
  };
}

async function start(options: Omit<ScriptedAppOptions, "home"> = {}, columns = 80) {
  const terminal = new FakeTerminal(columns);
  const scripted = scriptedApp({ home, vars: { NO_COLOR: "1" }, ...options });
  const done = runRepl(scripted.app, { selection: SELECTION, terminal, now: steppingClock() });
  await terminal.until(() => terminal.reading);
  return { terminal, done, ...scripted };
}

const untilAborted: Step = (turn) => turn.untilAborted();

test("a message, its answer, and the way out", async () => {
  const usage = turnResult().usage;
  const finished: Step = { type: "step_finished", runId: "r1", stopReason: "end_turn", usage };
  const { terminal, done, turns } = await start({
    turns: [[text("Hello **there**.\n\nMore"), text(" text."), finished]],
  });
  terminal.type("hi\r");
  await terminal.untilShown("More text.");
  await terminal.untilShown(/12% context\n>$/);
  terminal.type(CTRL_D);
  expect(await done).toBe(0);
  expect(turns[0]?.input).toMatchObject({ content: "hi", approver: "front_end", agentId: "agent-1" });
  const lines = terminal.screen().split("\n");
  expect(lines.slice(0, 8)).toEqual([
    expect.stringContaining("letta"),
    expect.stringContaining("Memo"),
    "",
    "> hi",
    "",
    "Hello there.",
    "",
    "More text.",
  ]);
  expect(terminal.screen()).toContain("letta --conv conv-1");
  expect(terminal.closed).toBe(true);
});

test("what is typed while the agent works waits, and goes out as one message", async () => {
  const gate = Promise.withResolvers<void>();
  const { terminal, done, turns } = await start({ turns: [[text("working"), () => gate.promise], [text("second")]] });
  terminal.type("first\r");
  await terminal.untilShown("working");
  terminal.type("one\rtwo\rhalf");
  await terminal.untilShown("queued (2)");
  gate.resolve();
  await terminal.untilShown("second");
  expect(turns[1]?.input.content).toBe("one\ntwo");
  expect(terminal.screen()).toContain("> half");
  terminal.type(`\x15${CTRL_D}`);
  await done;
});

test.each([
  ["Ctrl-C", CTRL_C],
  ["Esc", ESC],
])("%s stops the turn and holds the queue until Enter", async (_name, key) => {
  const { terminal, done, turns } = await start({ turns: [[text("working"), untilAborted], [text("went on")]] });
  terminal.type("first\r");
  await terminal.untilShown("working");
  terminal.type("later\r");
  await terminal.untilShown("queued (1)");
  terminal.type(key);
  await terminal.untilShown("1 queued message held");
  expect(turns).toHaveLength(1);
  expect(turns[0]?.aborted).toBe(true);
  terminal.type("\r");
  await terminal.untilShown("went on");
  expect(turns[1]?.input.content).toBe("later");
  terminal.type(CTRL_D);
  await done;
});

test("Ctrl-C clears the line, then a second one at an empty prompt leaves", async () => {
  const terminal = new FakeTerminal();
  const { app } = scriptedApp({ home });
  const done = runRepl(app, { selection: SELECTION, terminal, now: () => 5_000 });
  await terminal.until(() => terminal.reading);
  terminal.type("draft");
  await terminal.untilShown("> draft");
  terminal.type(CTRL_C);
  await terminal.untilShown(/>$/);
  terminal.type(CTRL_C);
  await terminal.untilShown("Ctrl-C again to leave");
  terminal.type(CTRL_C);
  expect(await done).toBe(0);
});

const bash = call("Bash", { command: "npm test" }, "npm test");
const asks = (suggestions: { rule: string; scope: "project"; description: string }[] = []): Step[] => [
  { type: "tool_call", call: bash, runId: "r1" },
  {
    type: "approval_requested",
    approvalId: "a1",
    call: bash,
    reason: { by: "default", detail: "not read-only" },
    suggestions,
    diffs: [],
    index: 1,
    count: 1,
  },
  async (turn) => {
    const decision = await turn.decision("a1");
    turn.emit({ type: "approval_resolved", approvalId: "a1", call: bash, behavior: decision?.behavior ?? "deny" });
  },
  text("after", "o2"),
];
const rule = { rule: "Bash(npm test:*)", scope: "project" as const, description: "npm test" };

test.each([
  ["1", { behavior: "allow" }],
  ["y", { behavior: "allow" }],
  ["2", { behavior: "allow", addRules: [rule] }],
  ["3because\r", { behavior: "deny", reason: "because" }],
  ["use bun instead\r", { behavior: "deny", reason: "use bun instead" }],
  ["n\r", { behavior: "deny" }],
  [ESC, { behavior: "deny", interrupt: true, reason: "The user cancelled." }],
  [CTRL_C, { behavior: "deny", interrupt: true, reason: "The user cancelled." }],
] as const)("an approval answered with %j", async (keys, decision) => {
  const { terminal, done, turns } = await start({ turns: [asks([rule])] });
  terminal.type("go\r");
  await terminal.untilShown("3. No");
  expect(terminal.screen()).toContain("? Run this command?\n  npm test");
  terminal.type(keys);
  await terminal.untilShown("after");
  expect(turns[0]?.decisions.get("a1")).toEqual(decision as never);
  terminal.type(CTRL_D);
  await done;
});

test("a question that opens under someone's fingers does not take the next letter as its answer", async () => {
  let now = 1_000_000;
  const terminal = new FakeTerminal();
  const gate = Promise.withResolvers<void>();
  const { app, turns } = scriptedApp({ home, turns: [[() => gate.promise, ...asks()]] });
  const done = runRepl(app, { selection: SELECTION, terminal, now: () => now });
  await terminal.until(() => terminal.reading);
  terminal.type("go\r");
  await terminal.untilShown("> go");
  terminal.type("happ");
  gate.resolve();
  now += 20;
  await terminal.untilShown("1. Yes");
  now += 100;
  terminal.type("y");
  expect(turns[0]?.decisions.size).toBe(0);
  now += 1000;
  terminal.type("y");
  await terminal.untilShown("after");
  await terminal.untilShown("> happy");
  terminal.type(`\x15${CTRL_D}`);
  await done;
});

test("the question tool: options, several, and own words", async () => {
  const questions = [
    { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }] },
    { question: "Sizes?", options: [{ label: "S" }, { label: "L" }], multiSelect: true },
    { question: "Name?", options: [{ label: "A" }, { label: "B" }] },
  ];
  const ask = call("AskUserQuestion", { questions }, "Colour");
  const steps: Step[] = [
    {
      type: "approval_requested",
      approvalId: "q1",
      call: ask,
      reason: { by: "tool", detail: "" },
      suggestions: [],
      diffs: [],
      index: 1,
      count: 1,
    },
    async (turn) => void (await turn.decision("q1")),
    text("thanks"),
  ];
  const { terminal, done, turns } = await start({ turns: [steps] });
  terminal.type("go\r");
  await terminal.untilShown("Which colour?");
  await terminal.untilShown("3. Other");
  terminal.type("2");
  await terminal.untilShown("☐ S");
  terminal.type("12\r");
  await terminal.untilShown("Name?");
  await terminal.untilShown("1. A");
  terminal.type("Zoe\r");
  await terminal.untilShown("thanks");
  expect(turns[0]?.decisions.get("q1")).toEqual({
    behavior: "allow",
    updatedArgs: { questions, answers: { "Which colour?": "Blue", "Sizes?": "S, L", "Name?": "Zoe" } },
  });
  terminal.type(CTRL_D);
  await done;
});

test("an unknown command is refused with the nearest name and kept; a path is a message", async () => {
  const { terminal, done, turns } = await start();
  terminal.type("/hlep me\r");
  await terminal.untilShown("Did you mean /help?");
  await terminal.untilShown(/> \/hlep me$/);
  terminal.type("\x15/usr/bin/x is broken\r");
  await terminal.until(() => turns.length === 1);
  expect(turns[0]?.input.content).toBe("/usr/bin/x is broken");
  await terminal.untilShown("ok");
  terminal.type(CTRL_D);
  await done;
});

test("a command that has to wait keeps its text; others run while the agent works", async () => {
  const { terminal, done } = await start({ turns: [[text("working"), untilAborted]] });
  terminal.type("first\r");
  await terminal.untilShown("working");
  terminal.type("/fork\r");
  await terminal.untilShown("/fork has to wait");
  await terminal.untilShown("> /fork");
  terminal.type("\x15/usage\r");
  await terminal.untilShown("waiting for the model");
  terminal.type("/steer look at b.ts\r");
  await terminal.untilShown("goes with the next tool results");
  terminal.type(CTRL_C);
  await terminal.untilShown("Interrupted");
  terminal.type(CTRL_D);
  await done;
});

test("Ctrl-Enter says it inside the running turn", async () => {
  const { terminal, done, turns } = await start({ turns: [[text("working"), untilAborted]] });
  terminal.type("first\r");
  await terminal.untilShown("working");
  terminal.type(`now${ESC}[13;5u`);
  await terminal.until(() => (turns[0]?.steered.length ?? 0) > 0);
  expect(turns[0]?.steered).toEqual(["now"]);
  terminal.type(CTRL_C);
  await terminal.untilShown("Interrupted");
  terminal.type(CTRL_D);
  await done;
});

test("without a model the text is kept and the ways to get one are named", async () => {
  const { terminal, done, turns } = await start({ model: "" });
  await terminal.untilShown("Three ways to get one");
  terminal.type("hello\r");
  await terminal.untilShown("/connect adds one");
  await terminal.untilShown(/> hello$/);
  expect(turns).toHaveLength(0);
  terminal.type(`\x15${CTRL_D}`);
  await done;
});

test("a conversation that is busy elsewhere: back, a new one, or wait", async () => {
  const busy: Step = {
    type: "turn_ended",
    result: turnResult({
      status: "failed",
      error: { code: "busy", message: "process 7 works in it", retryable: false },
    }),
  };
  const { terminal, done, turns, conversations } = await start({
    turns: [[busy], [busy], [text("in the new one")], [busy], [text("waited")]],
  });
  terminal.type("hi\r");
  await terminal.untilShown("Take it back");
  expect(terminal.screen()).toContain("process 7 works in it");
  terminal.type("b");
  await terminal.untilShown(/> hi$/);
  terminal.type("\r");
  await terminal.until(() => turns.length === 2);
  await terminal.untilShown(/3\. Take it back$/);
  terminal.type("n");
  await terminal.untilShown("in the new one");
  expect(turns[2]?.input).toMatchObject({ conversationId: "conv-3", otid: turns[1]?.input.otid });
  expect(conversations).toHaveLength(3);
  terminal.type("again\r");
  await terminal.untilShown(/3\. Take it back$/);
  terminal.type("w");
  await terminal.untilShown("waited");
  expect(turns[4]?.input.otid).toBe(turns[3]?.input.otid ?? "");
  terminal.type(CTRL_D);
  await done;
});

test("an untrusted folder is asked about once, with what it brings, and no is the default", async () => {
  let granted = 0;
  const trust = {
    status: "untrusted" as const,
    items: [{ file: ".letta/settings.json", description: "allow rule Bash(npm test)\x1b[2J" }],
    grant: async () => {
      granted += 1;
    },
  };
  for (const [keys, expected] of [
    ["\r", 0],
    ["2", 1],
  ] as const) {
    const { terminal, done } = await start({ trust });
    await terminal.untilShown("Trust this folder?");
    await terminal.untilShown("I trust");
    expect(terminal.screen()).toContain("allow rule Bash(npm test)\\x1b[2J (.letta/settings.json)");
    terminal.type(keys);
    await terminal.untilShown(expected ? "it asks again" : "`letta trust` changes that");
    expect(granted).toBe(expected);
    terminal.type(CTRL_D);
    await done;
  }
});

test("coming back shows the end of the conversation, what was cut, and no reminders", async () => {
  const { terminal, done } = await start({
    messages: [
      {
        id: "1",
        date: "",
        message_type: "user_message",
        content: [
          { type: "text", text: "<system-reminder>secret</system-reminder>" },
          { type: "text", text: "the question" },
        ],
      },
      {
        id: "2",
        date: "",
        message_type: "tool_call_message",
        tool_call: { tool_call_id: "t", name: "Bash", arguments: '{"command":"ls"}' },
      },
      {
        id: "3",
        date: "",
        message_type: "tool_return_message",
        tool_call_id: "t",
        tool_return: "x",
        status: "success",
      },
      { id: "4", date: "", message_type: "assistant_message", content: "half an ans", interrupted: true },
    ],
  });
  await terminal.untilShown("(interrupted)");
  expect(terminal.screen()).toContain('> the question\n\n• Bash {"command":"ls"}\n\nhalf an ans\n(interrupted)');
  expect(terminal.screen()).not.toContain("secret");
  terminal.type(CTRL_D);
  await done;
});

test("history is there in the next sitting", async () => {
  const first = await start();
  first.terminal.type("remember me\r");
  await first.terminal.untilShown("ok");
  first.terminal.type(CTRL_D);
  await first.done;
  const second = await start();
  second.terminal.type("\x1b[A");
  await second.terminal.untilShown(/> remember me$/);
  second.terminal.type(`\x15${CTRL_D}`);
  await second.done;
  expect(readFileSync(join(home, ".letta/history.jsonl"), "utf8")).toContain("remember me");
});

test("files complete after @, commands after /", async () => {
  writeFileSync(join(home, "alpha.txt"), "");
  const { terminal, done } = await start();
  terminal.type("see @alp");
  await terminal.untilShown("❯ alpha.txt");
  terminal.type("\t");
  await terminal.untilShown("> see alpha.txt");
  terminal.type("\x15/usa");
  await terminal.untilShown("❯ /usage");
  terminal.type("\r");
  await terminal.untilShown("waiting for the model");
  terminal.type(CTRL_D);
  await done;
});

test("a narrow terminal, resized while it streams, leaves no half-erased rows", async () => {
  const gate = Promise.withResolvers<void>();
  const turns: Step[][] = [[text("A paragraph that is longer than a row of this."), () => gate.promise]];
  const { terminal, done } = await start({ turns }, 20);
  terminal.type("hello\r");
  await terminal.untilShown("of this.");
  terminal.resize(40);
  terminal.type("typed");
  await terminal.untilShown("> typed");
  expect(terminal.screen().match(/> typed/g)).toHaveLength(1);
  gate.resolve();
  await terminal.untilShown(/this\.\n\nMemo.*\n> typed$/);
  expect(terminal.screen().match(/paragraph/g)).toHaveLength(1);
  terminal.type(`\x15${CTRL_D}`);
  await done;
});

test("the end of the input ends the sitting, also in the middle of a turn", async () => {
  const { terminal, done, turns } = await start({ turns: [[text("working"), untilAborted]] });
  terminal.type("go\r");
  await terminal.untilShown("working");
  terminal.end();
  expect(await done).toBe(0);
  expect(turns[0]?.aborted).toBe(true);
});

test("Shift-Tab goes through the modes, never to unrestricted", async () => {
  const { terminal, done, app } = await start();
  const seen: string[] = [];
  for (let press = 0; press < 4; press++) {
    terminal.type("\x1b[Z");
    seen.push(app.permissions.mode);
  }
  expect(seen).toEqual(["acceptEdits", "plan", "standard", "acceptEdits"]);
  await terminal.untilShown("acceptEdits");
  terminal.type(CTRL_D);
  await done;
});

test("news of a background task start a turn by themselves", async () => {
  const { terminal, done, app, turns } = await start({ turns: [[text("noted")]] });
  const queue = app.engine.queue({ agentId: "agent-1", conversationId: "conv-1" });
  queue.enqueue("<task-notification>done</task-notification>", "task_notification");
  await terminal.untilShown("noted");
  expect(turns[0]?.input.content).toBe("<task-notification>done</task-notification>");
  expect(terminal.screen()).toContain("A background task has news for the agent.");
  expect(terminal.screen()).not.toContain("task-notification");
  terminal.type(CTRL_D);
  await done;
});

test("Ctrl-Z suspends and leaves the scrollback as it is", async () => {
  const { terminal, done } = await start();
  terminal.type("half\x1a");
  await terminal.until(() => terminal.suspended === 1);
  expect(terminal.screen()).not.toContain("> half");
  terminal.continue();
  await terminal.untilShown("> half");
  terminal.type(`\x15${CTRL_D}`);
  await done;
});
