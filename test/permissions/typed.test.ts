// Text that is typed into a program that runs: forbidden like a command, allowed like none.

import { afterAll, expect, test } from "bun:test";
import { brief, worldPool } from "../support/permission-world.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

const CONFINED = { shell: true, edits: true };
const DENY = { user: { permissions: { deny: ["Bash(rm:*)", "Bash(git push:*)", "Read(.env)"] } } };

async function type(
  text: string,
  files: Parameters<typeof worlds.make>[0],
  options: NonNullable<Parameters<typeof worlds.make>[1]> & { reshaped?: boolean; unconfined?: boolean } = {},
) {
  const { reshaped = false, unconfined, ...rest } = options;
  const world = await worlds.make(files, rest);
  const typed = { tool: "write_stdin", reshaped };
  return world.checker.check("write_stdin", [
    { kind: "shell", command: text, cwd: world.project, typed, ...(unconfined && { unconfined }) },
  ]);
}

test.each([
  ["a command", "rm -rf x", "deny"],
  ["one among others", "cd src && rm x", "deny"],
  ["a shell escape of an editor", ":!rm x", "deny"],
  ["a call in another language", "import os; os.system('rm x')", "deny"],
  ["a command of another language", 'system "rm x"', "deny"],
  ["all words of a rule", "git -C . push", "deny"],
  ["a file that a rule names", "print(open('.env').read())", "deny"],
  ["what is put together when it runs", "$a$b x", "ask"],
  ["what only begins like it", "rmdir-tool x; permit", "allow"],
  ["anything else", "print(1)", "allow"],
] as const)("deny rules hold in unrestricted mode: %s", async (_, text, expected) => {
  expect(brief(await type(text, DENY, { mode: "unrestricted" }))).toBe(expected);
});

test("a line that keys have edited may say what is denied", async () => {
  expect(brief(await type("xrm", DENY, { mode: "unrestricted", reshaped: true }))).toBe("ask");
  const files = { user: { permissions: { deny: ["Read(.env)"] } } };
  expect(brief(await type("x", files, { mode: "unrestricted", reshaped: true }))).toBe("ask");
  expect(brief(await type("x", {}, { mode: "unrestricted", reshaped: true }))).toBe("allow");
});

test.each([
  ["in the sandbox", { confinement: CONFINED }, "allow"],
  ["what a person let out of it", { confinement: CONFINED, unconfined: true }, "ask"],
  ["the same in unrestricted mode", { mode: "unrestricted", confinement: CONFINED, unconfined: true }, "ask"],
  ["without one", {}, "ask"],
  ["in plan mode", { mode: "plan", confinement: CONFINED }, "deny"],
  ["in strict mode", { mode: "strict", confinement: CONFINED }, "ask"],
] as const)("who answers: %s", async (_, options, expected) => {
  expect(brief(await type("ls", {}, options))).toBe(expected);
});

test("a breaker asks in every mode", async () => {
  expect(brief(await type("rm -rf ~", {}, { mode: "unrestricted", confinement: CONFINED }))).toBe("ask!");
});

test("a rule for a command does not allow its text, a rule for the tool does", async () => {
  const exact = { user: { permissions: { allow: ["Bash(npm test)", "Bash(npm:*)"] } } };
  expect(brief(await type("npm test", exact))).toBe("ask");
  const verdict = await type("npm test", {});
  if (verdict.behavior !== "ask") throw new Error(verdict.behavior);
  expect(verdict.allowFlag).toBe("--allowedTools 'write_stdin'");
  expect(verdict.suggestions.map(({ rule }) => rule)).toEqual(["write_stdin", "write_stdin"]);
  expect(brief(await type("npm test", {}, { allowedTools: ["write_stdin"] }))).toBe("allow");
  expect(brief(await type("ls", {}, { mode: "unrestricted", disallowedTools: ["write_stdin"] }))).toBe("deny");
});

test("the trace has none of the text", async () => {
  const lines: string[] = [];
  await type("hunter2-password", {}, { trace: (line) => lines.push(line) });
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("hunter2");
  expect(lines[0]).toContain("<16 characters>");
});
