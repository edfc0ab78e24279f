// One turn with everything in it, as a person reads it: colours and none, wide and narrow.

import { expect, test } from "bun:test";
import type { ToolOutcome } from "@/engine/events.ts";
import { busyLine, EventRenderer } from "@/frontends/repl/renderer.ts";
import { createTheme } from "@/frontends/repl/theme.ts";
import { finishedLines } from "@/frontends/repl/tool-view.ts";
import { expectGolden } from "../../support/golden.ts";
import { call, type EventBody, text, turnResult } from "./scripted-app.ts";

const HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J";

const read = call("Read", { file_path: "/w/src/a.ts" }, "src/a.ts");
const bash = call("Bash", { command: "npm test" }, "npm test");
const edit = call("Edit", { file_path: "/w/src/a.ts" }, "src/a.ts");
const denied = call("Bash", { command: "rm -rf x" }, "rm -rf x", "call-denied");
const stopped = call("Bash", { command: "sleep 60" }, "sleep 60", "call-stopped");
const broken = call("Grep", { pattern: "(" }, `(${HOSTILE}`, "call-broken");
const todo = call(
  "TodoWrite",
  {
    todos: [
      { content: "one", status: "completed" },
      { content: `two${HOSTILE}`, status: "in_progress" },
      { content: "three", status: "pending" },
    ],
  },
  "",
);
const diff = {
  path: "/w/src/a.ts",
  kind: "update" as const,
  added: 1,
  removed: 1,
  hunks: [
    {
      oldStart: 1,
      oldLines: 2,
      newStart: 1,
      newLines: 2,
      lines: [
        { type: "context" as const, content: "const a = 1;" },
        { type: "remove" as const, content: "const b = 1;" },
        { type: "add" as const, content: `const b = 2; // ${HOSTILE}` },
      ],
    },
  ],
};

const finished = (
  which: typeof read,
  result: Partial<Extract<EventBody, { type: "tool_finished" }>["result"]>,
  durationMs = 20,
): EventBody => ({
  type: "tool_finished",
  call: which,
  durationMs,
  result: { status: "success", outcome: "executed", output: "", ...result },
});

const position = { messageId: "m", otid: "o", runId: "r", seqId: 1 };

const EVENTS: EventBody[] = [
  { type: "turn_started", agentId: "a", conversationId: "c", model: "m" },
  { type: "recovery", kind: "interrupted_tool", message: "Bash was interrupted by a crash; its outcome is unknown" },
  { type: "step_started", step: 1 },
  { type: "reasoning_delta", text: "Let me think.", ...position },
  text(`I will **look** first.${HOSTILE}\n\n- a\n- b`),
  { type: "tool_call", call: read, runId: "r" },
  { type: "tool_call", call: broken, runId: "r" },
  { type: "auto_decided", call: read, behavior: "allow", reason: { by: "workspace", detail: "" } },
  { type: "tool_started", call: read },
  finished(read, { output: "x", summary: "42 lines" }),
  finished(broken, { status: "error", outcome: "invalid", output: `bad pattern ${HOSTILE}\nsee the manual` }),
  { type: "step_finished", runId: "r", stopReason: "requires_approval", usage: null },
  {
    type: "retry",
    attempt: 1,
    maxAttempts: 5,
    delayMs: 2500,
    code: "rate_limit",
    reason: `429 Too Many Requests, the provider asks for patience and says so at some length${HOSTILE}`,
  },
  text("Now the tests.", "o2"),
  { type: "tool_started", call: bash },
  { type: "tool_output", toolCallId: bash.toolCallId, text: `line${HOSTILE}\n` },
  finished(bash, { output: Array.from({ length: 9 }, (_, index) => `line ${index}`).join("\n") }, 4200),
  finished(edit, { output: "ok", diff: [diff] }),
  { type: "approval_resolved", approvalId: "x", call: denied, behavior: "deny", reason: "no" },
  finished(denied, { status: "error", outcome: "denied", output: "Error: denied. User reason: no" }),
  finished(stopped, { status: "error", outcome: "interrupted", output: "Interrupted by user" }),
  finished(todo, { output: "ok" }),
  {
    type: "compaction",
    trigger: "context_window_limit",
    summary: "…",
    messageId: "m",
    stats: {
      trigger: "context_window_limit",
      context_tokens_before: 180_000,
      context_tokens_after: 21_000,
      context_window: 200_000,
      messages_count_before: 120,
      messages_count_after: 14,
    },
  },
  { type: "notice", level: "warning", text: `the model said nothing${HOSTILE}` },
  text("Done:\n\n```ts\nconst b = 2;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "o3"),
  {
    type: "turn_ended",
    result: turnResult({
      status: "failed",
      stopReason: "error",
      error: { code: "network", message: `connection lost${HOSTILE}`, hint: "Is the network up?", retryable: true },
    }),
  },
];

function show(columns: number, colors: boolean, interactive = true): string {
  const lines: string[] = [];
  let open = "";
  let now = 0;
  const renderer = new EventRenderer({
    output: {
      commit: (committed) => {
        lines.push(...committed.map((line, index) => (index === 0 ? open + line : line)));
        open = "";
      },
      append: (appended) => {
        const pieces = (open + appended).split("\n");
        open = pieces.pop() ?? "";
        lines.push(...pieces);
      },
    },
    theme: createTheme(colors),
    columns: () => columns,
    cwd: () => "/w",
    interactive,
    now: () => {
      now += 700;
      return now;
    },
  });
  for (const event of EVENTS) renderer.show({ ...event, turnId: "t" } as never);
  return `${lines.join("\n")}\n`;
}

test.each([
  ["80", 80, false, true],
  ["40", 40, false, true],
  ["80-colour", 80, true, true],
  ["plain", 80, false, false],
] as const)("a turn (%s)", (name, columns, colors, interactive) => {
  const shown = show(columns, colors, interactive);
  expectGolden(`repl/turn-${name}.txt`, shown);
  expect(shown).not.toMatch(/\x1b\]|\x1b\[\d*[A-HJKSTf]|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/);
});

test("lines fit the terminal", () => {
  for (const columns of [80, 40])
    for (const line of show(columns, true).split("\n")) expect(Bun.stringWidth(line)).toBeLessThan(columns);
});

test("what still changes is shown live: words, reasoning, the last lines of a shell", () => {
  let now = 0;
  const renderer = new EventRenderer({
    output: { commit() {}, append() {} },
    theme: createTheme(false),
    columns: () => 40,
    cwd: () => "/w",
    interactive: true,
    now: () => now,
  });
  const emit = (event: EventBody): void => renderer.show({ ...event, turnId: "t" } as never);
  emit({ type: "reasoning_delta", text: "hm", ...position });
  expect(renderer.liveLines(10)).toEqual(["  hm"]);
  emit(text("He"));
  expect(renderer.liveLines(10)).toEqual(["", "He"]);
  emit({ type: "tool_call", call: bash, runId: "r" });
  emit({ type: "tool_started", call: bash });
  emit({ type: "tool_output", toolCallId: bash.toolCallId, text: "1\n2\n3\n4\n5\n6\n7" });
  now = 3200;
  expect(renderer.liveLines(10)).toEqual(["", "◦ Bash npm test (3.0s)", "    3", "    4", "    5", "    6", "    7"]);
  expect(renderer.liveLines(2)).toEqual(["    6", "    7"]);
  emit({ type: "turn_ended", result: turnResult() });
  expect(renderer.liveLines(10)).toEqual([]);
});

test("a long command is wrapped within two rows and its time stays readable", () => {
  const options = { theme: createTheme(false), columns: 40, cwd: "/w", expandable: true };
  const call = { ...bash, title: `sh test.sh && echo ${"a-long-word-".repeat(9)}` };
  const result: ToolOutcome = { status: "success", outcome: "executed", output: "1\n2\n3\n4" };
  expect(finishedLines({ call, result, durationMs: 4200, live: true, seenDiff: false }, options)).toEqual([
    "• Bash sh test.sh && echo",
    "  a-long-word-a-long-word-a-lon… (4.2s)",
    "  └ 1",
    "    2",
    "    3",
    "    4",
  ]);
});

test.each([
  [80, "⠋ Running Bash… (12s · 1.5k tokens · esc to interrupt)"],
  [44, "⠋ Running Bash… (12s · esc to interrupt)"],
  [40, "⠋ Running Bash… (esc to interrupt)"],
])("the busy line at %i columns loses facts, not letters", (columns, expected) => {
  const state = { activity: "Running Bash", elapsedMs: 12_300, tokens: 1500, frame: "⠋" };
  expect(busyLine(state, createTheme(false), columns)).toBe(expected);
});

test("of a session people see what it wrote and how it ended, and plans of every family", () => {
  const view = (tool: string, args: Record<string, unknown>, output: string, status: "success" | "error" = "success") =>
    finishedLines(
      {
        call: { toolCallId: "c", tool, argumentsText: "", args, title: "t" },
        result: { status, output, outcome: "executed" },
        durationMs: 1,
        live: true,
        seenDiff: false,
      },
      { theme: createTheme(false), columns: 60, cwd: "/w", expandable: false },
    ).slice(1);
  const envelope = (state: string) =>
    `Chunk ID: 0a1b2c\nWall time: 0.1000 seconds\n${state}\nOriginal token count: 1\nOutput:\nhi`;
  expect(view("exec_command", {}, envelope("Process exited with code 0"))).toEqual(["  └ hi"]);
  expect(view("exec_command", {}, envelope("Process exited with code 3"), "error")).toEqual([
    "  └ hi",
    "    Process exited with code 3",
  ]);
  expect(view("write_stdin", {}, envelope("Process running with session ID 4"))).toEqual([
    "  └ hi",
    "    Process running with session ID 4",
  ]);
  const items = ["  └ ☒ a", "    ☐ b"];
  const [done, open] = ["completed", "pending"];
  expect(
    view(
      "UpdatePlan",
      {
        plan: [
          { step: "a", status: done },
          { step: "b", status: open },
        ],
      },
      "ok",
    ),
  ).toEqual(items);
  expect(
    view(
      "WriteTodos",
      {
        todos: [
          { description: "a", status: "cancelled" },
          { description: "b", status: open },
        ],
      },
      "ok",
    ),
  ).toEqual(items);
});
