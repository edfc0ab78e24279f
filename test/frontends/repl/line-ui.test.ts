// Sittings without a terminal to draw on: lines in, lines out.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runRepl } from "@/frontends/repl/run.ts";
import type { Terminal } from "@/lib/terminal.ts";
import { call, type ScriptedAppOptions, SELECTION, type Step, scriptedApp, text } from "./scripted-app.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "letta-line-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Everything is there from the start, as in a pipe. */
async function run(input: string, options: Omit<ScriptedAppOptions, "home"> = {}, typed = false) {
  let output = "";
  const terminal: Terminal = {
    interactive: false,
    typed,
    columns: 80,
    rows: 24,
    write(written) {
      output += written;
    },
    drain: async () => {},
    onData(listener) {
      queueMicrotask(() => {
        listener(new TextEncoder().encode(input));
        listener(null);
      });
    },
    onResize() {},
    onContinue() {},
    suspend() {},
    pause() {},
    resume() {},
    close() {},
  };
  const scripted = scriptedApp({ home, ...options });
  const code = await runRepl(scripted.app, { selection: SELECTION, terminal, now: () => 0 });
  return { output, code, ...scripted };
}

const bash = call("Bash", { command: "ls" }, "ls");
const approval: Step[] = [
  {
    type: "approval_requested",
    approvalId: "a1",
    call: bash,
    reason: { by: "default", detail: "nothing allows this" },
    suggestions: [],
    diffs: [],
    index: 1,
    count: 1,
  },
  async (turn) => void (await turn.decision("a1")),
  text("after"),
];

test("messages in order, plain text out, no cursor movement", async () => {
  const { output, code, turns } = await run("one\ntwo\n", { turns: [[text("**first**\x1b[2J")], [text("second")]] });
  expect(code).toBe(0);
  expect(turns.map((turn) => turn.input.content)).toEqual(["one", "two"]);
  expect(output).not.toContain("\x1b");
  expect(output).not.toContain("\r");
  expect(output).toContain("**first**\n");
  expect(output.indexOf("first")).toBeLessThan(output.indexOf("second"));
});

test("an escape sequence that comes in pieces is not obeyed either", async () => {
  const pieces = [..."a\x1b]52;c;aGk=\x07b\x1b[31mc\n"].map((piece) => text(piece));
  const { output } = await run("go\n", { turns: [pieces] });
  expect(output).toContain("abc\n");
  expect(output).not.toContain("\x1b");
});

test.each([
  ["1", { behavior: "allow" }],
  ["yes", { behavior: "allow" }],
  ["\n1", { behavior: "allow" }],
  ["n", { behavior: "deny" }],
  ["not that one", { behavior: "deny", reason: "not that one" }],
] as const)("the line after a question answers it: %j", async (line, decision) => {
  const { output, turns } = await run(`go\n${line}\nnext\n`, { turns: [approval, [text("done")]] });
  expect(turns[0]?.decisions.get("a1")).toEqual(decision as never);
  expect(turns[1]?.input.content).toBe("next");
  expect(output).toContain("? Run this command?\n  ls\n");
  expect(output).toContain("  1. Yes\n  2. No, and tell the agent why\n[1/2] ");
});

test("what a person typed before the question is the next message, not the answer", async () => {
  const { turns } = await run("go\ny\n", { turns: [approval, [text("done")]] }, true);
  expect(turns[0]?.decisions.get("a1")).toMatchObject({ behavior: "deny", interrupt: true });
});

test("the end of the input denies what is asked", async () => {
  const { turns } = await run("go\n", { turns: [approval] });
  expect(turns[0]?.decisions.get("a1")).toMatchObject({ behavior: "deny", interrupt: true });
});

test("a question at the start takes the first line, the prompt comes back after it", async () => {
  let granted = 0;
  const trust = {
    status: "untrusted" as const,
    items: [{ file: ".letta/settings.json", description: "allow rule Bash" }],
    grant: async () => {
      granted += 1;
    },
  };
  const { output, turns } = await run("2\nhello\n", { trust });
  expect(granted).toBe(1);
  expect(turns.map((turn) => turn.input.content)).toEqual(["hello"]);
  expect(output).toMatch(/\[1\/2\] [\s\S]*> [\s\S]*ok\n/);
});

test("commands and refusals", async () => {
  const { output, turns } = await run("/usage\n/hlep\n/mode plan\nexit\nnever\n");
  expect(output).toContain("waiting for the model");
  expect(output).toContain("Did you mean /help?");
  expect(output).toContain("not sent: /hlep");
  expect(output).toContain("Mode: plan");
  expect(turns).toHaveLength(0);
});
