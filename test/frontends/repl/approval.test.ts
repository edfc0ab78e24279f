import { expect, test } from "bun:test";
import {
  type ApprovalRequest,
  approvalBlock,
  approvalChoice,
  decisionLine,
  toDecision,
} from "@/frontends/repl/approval.ts";
import { createTheme } from "@/frontends/repl/theme.ts";
import type { RuleSuggestion } from "@/permissions/types.ts";
import type { FileDiff } from "@/tools/define-tool.ts";
import { call } from "./scripted-app.ts";

const VIEW = { theme: createTheme(false), columns: 40, cwd: "/w" };

function request(patch: Partial<ApprovalRequest>): ApprovalRequest {
  return {
    type: "approval_requested",
    turnId: "t",
    approvalId: "a",
    call: call("Bash", { command: "ls" }),
    reason: { by: "default", detail: "nothing allows this" },
    suggestions: [],
    diffs: [],
    index: 1,
    count: 1,
    ...patch,
  };
}

const block = (patch: Partial<ApprovalRequest>): string => approvalBlock(request(patch), VIEW).join("\n");

const diff: FileDiff = {
  path: "/w/src/a.ts",
  kind: "update",
  added: 1,
  removed: 1,
  hunks: [
    {
      oldStart: 9,
      oldLines: 2,
      newStart: 9,
      newLines: 2,
      lines: [
        { type: "context", content: "function f() {" },
        { type: "remove", content: "  return '\u202eevil\u202c';\r" },
        { type: "add", content: "  return someValue + anotherValue + aThird;" },
      ],
    },
  ],
};

test("a command, whole, with everything deceptive spelled out", () => {
  const args = { command: "echo safe \x1b[2K\u202e && rm -rf ./build\nsecond line", description: "List\nfiles" };
  expect(block({ call: call("Bash", args), index: 2, count: 3 })).toBe(
    [
      "? Run this command? (2 of 3)",
      "  echo safe \\x1b[2K\\u202e && rm -rf",
      "  ./build",
      "  second line",
      "  # List files",
      "  asked because: nothing allows this",
    ].join("\n"),
  );
});

test("an edit with numbered lines, nothing cut at the edge", () => {
  expect(block({ call: call("Edit", {}), diffs: [diff] })).toBe(
    [
      "? Make this edit?",
      "  src/a.ts +1 -1",
      "   9   function f() {",
      "  10 -   return '\\u202eevil\\u202c';\\x0d",
      "  10 +   return someValue +",
      "     anotherValue + aThird;",
      "  asked because: nothing allows this",
    ].join("\n"),
  );
});

test.each([
  [[{ ...diff, kind: "create" as const }], "? Create this file?"],
  [[{ ...diff, kind: "delete" as const }], "? Delete this file?"],
  [[diff, diff], "? Make these edits?"],
])("question %#", (diffs, first) => expect(block({ diffs }).split("\n")[0]).toBe(first));

test("anything else with its arguments", () => {
  expect(block({ call: call("mcp__x__send", { to: "a@b", body: { n: 1 } }) })).toBe(
    ["? Use mcp__x__send?", "  to: a@b", '  body: {"n":1}', "  asked because: nothing allows this"].join("\n"),
  );
});

test("of a very long command the beginning and the end are shown", () => {
  const command = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
  const lines = block({ call: call("Bash", { command }) }).split("\n");
  expect(lines).toContain("  line 0");
  expect(lines).toContain("  … 60 more lines …");
  expect(lines).toContain("  line 99");
});

const session: RuleSuggestion = { rule: "Bash(npm test:*)", scope: "session", description: "" };
const local: RuleSuggestion = { ...session, scope: "local" };

test("1 is yes, 2 the narrowest rule, 3 no; wider scopes come after", () => {
  const labels = (suggestions: RuleSuggestion[], args = { command: "npm test x" }) =>
    approvalChoice(request({ suggestions, call: call("Bash", args) })).items.map(({ label }) => label);
  expect(labels([])).toEqual(["Yes", "No, and tell the agent why"]);
  expect(labels([session, local])).toEqual([
    "Yes",
    "Yes, and don't ask again in this session for Bash(npm test:*)",
    "No, and tell the agent why",
    "Yes, and don't ask again in this project for Bash(npm test:*)",
  ]);
  expect(labels([{ ...session, rule: "Bash(npm test x)" }])[1]).toContain("for exactly this command");
});

test.each([
  [{ values: ["yes" as const] }, { behavior: "allow" }],
  [{ values: ["local" as const] }, { behavior: "allow", addRules: [local] }],
  [
    { values: ["no" as const], text: "because" },
    { behavior: "deny", reason: "because" },
  ],
  [{ values: ["no" as const], text: "" }, { behavior: "deny" }],
  [null, { behavior: "deny", reason: "The user cancelled.", interrupt: true }],
] as const)("%j", (answer, decision) =>
  expect(toDecision(request({ suggestions: [session, local] }), answer as never)).toEqual(decision as never),
);

test.each([
  [{ behavior: "allow" }, "  yes"],
  [{ behavior: "allow", addRules: [local] }, "  yes, and don't ask again in this project"],
  [{ behavior: "deny", reason: "because" }, "  no: because"],
  [{ behavior: "deny", reason: "The user cancelled.", interrupt: true }, "  no"],
] as const)("%j stays in the scrollback as %j", (decision, line) =>
  expect(decisionLine(decision as never, createTheme(false))).toBe(line),
);

test("a plan is shown whole, a command whatever its argument is called", () => {
  const plan = Array.from({ length: 60 }, (_, index) => `step ${index}`).join("\n");
  const lines = block({ call: call("ExitPlanMode", { plan }) }).split("\n");
  expect(lines[0]).toBe("? Carry out this plan?");
  expect(lines.slice(1, 61)).toEqual(plan.split("\n").map((line) => `  ${line}`));
  expect(block({ call: call("exec_command", { cmd: "ls -a", workdir: "src" }) })).toBe(
    "? Run this command?\n  ls -a\n  workdir: src\n  asked because: nothing allows this",
  );
});
