import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseExpectations, runPermissionsExplain, runPermissionsTest } from "@/commands/permissions-explain.ts";
import type { ExplainApp } from "@/permissions/explain-text.ts";
import { parseNamedCall } from "@/permissions/named-call.ts";
import type { PermissionSettings } from "@/store/settings.ts";
import { builtinTools } from "@/tools/builtin.ts";
import { createToolRegistry } from "@/tools/registry.ts";
import { worldPool } from "../support/permission-world.ts";
import { openWorkbench } from "../tools/support.ts";
import { recordingIo } from "./support.ts";

const worlds = worldPool();
afterAll(worlds.dispose);
const bench = openWorkbench();
afterAll(() => bench[Symbol.asyncDispose]());

async function openApp(permissions: PermissionSettings = {}): Promise<ExplainApp> {
  const world = await worlds.make({ user: { permissions } });
  const tools = createToolRegistry(builtinTools());
  return {
    permissions: world.checker as ExplainApp["permissions"],
    tools,
    services: bench.services,
    cwd: world.project,
  };
}

async function explain(call: string, permissions?: PermissionSettings): Promise<string> {
  const io = recordingIo();
  expect(await runPermissionsExplain(await openApp(permissions), { call }, io)).toBe(0);
  return io.out;
}

test("each command of a line, what decided, and what would change it", async () => {
  expect(await explain("git diff && npm test | tail -3", { allow: ["Bash(npm test)"] })).toBe(`Bash: allowed
  because: rule: allow rule of user settings — Bash(npm test)
  mode: standard (default)

What the parser saw
  reads  git diff  (only reads)
  rule   npm test  (Bash(npm test) (~/.letta/settings.json))
  reads  tail -3  (only reads)

Would decide next
  shell: \`npm test\` is not a known read-only command

What would change it
  Without the rule Bash(npm test) in ~/.letta/settings.json the next reason would decide.
`);
});

test("what is not plain shows everything that may run", async () => {
  expect(await explain("make $(cat x)")).toContain(`What the parser saw (not plain: a command substitution)
  -      cat x  (may run)
  -      make $(cat x)  (may run)
`);
});

test("what runs in its place is shown", async () => {
  const shown = await explain("git diff");
  expect(shown).toMatch(/Runs as\n {2}GIT_DIR='\S+' GIT_COMMON_DIR='\S+' GIT_WORK_TREE='\S+' git 'diff' /);
  expect(shown).toContain("git 'diff' '--no-ext-diff' '--no-textconv' '--' ':/' ");
});

test("rules to add, and rules in the way", async () => {
  expect(await explain("npm test")).toContain("Allowed with the rule Bash(npm test).\n");
  expect(await explain("rm x", { deny: ["Bash(rm:*)"] })).toContain(
    "Only without the rule Bash(rm:*) in ~/.letta/settings.json; no allow rule beats it.",
  );
  expect(await explain("rm -rf /")).toContain("a person answers this each time, in every mode");
});

test("other tools, in the form of a rule or as JSON", async () => {
  expect(await explain("Write(.git/hooks/x)")).toStartWith("Write: asks a person, in every mode\n");
  expect(await explain('{"name":"Read","arguments":{"file_path":"a"}}')).toStartWith("Read: allowed\n");
  expect(await explain('{"name":"exec_command","arguments":{"cmd":"ls"}}')).toStartWith("exec_command: allowed\n");
});

test.each([
  ["ls -la", { tool: "Bash", args: { command: "ls -la" } }],
  ["Bash(ls)", { tool: "Bash", args: { command: "ls" } }],
  ["Edit(a b)", { tool: "Edit", args: { file_path: "a b" } }],
  ["{ ls; }", { tool: "Bash", args: { command: "{ ls; }" } }],
  ["f(x)", { tool: "Bash", args: { command: "f(x)" } }],
  ["mcp__github__search", { tool: "mcp__github__search", args: {} }],
  ['{"tool":"Read","input":{"file_path":"a"}}', { tool: "Read", args: { file_path: "a" } }],
  ['{"function":{"name":"Bash","arguments":"{\\"command\\":\\"ls\\"}"}}', { tool: "Bash", args: { command: "ls" } }],
])("%s is a call", (text, call) => expect(parseNamedCall(text)).toEqual(call));

test("JSON that is no call, arguments that are not the tool's", async () => {
  expect(() => parseNamedCall('{"a":1}')).toThrow("not a tool call");
  const app = await openApp();
  const call = '{"name":"Read","arguments":{"file":"a"}}';
  expect(runPermissionsExplain(app, { call }, recordingIo())).rejects.toThrow("file");
});

test("a team's expectations: what fails is named with its line, and the exit code says so", async () => {
  const app = await openApp({ deny: ["Read(.env)"], allow: ["Bash(npm test)"] });
  const check = async (text: string) => {
    writeFileSync(join(app.cwd, "expect.txt"), text);
    const io = recordingIo();
    return { code: await runPermissionsTest(app, { file: "expect.txt" }, io), out: io.out };
  };
  const good =
    "# ours\nallow git status\nallow npm test\ndeny cat .env\ndeny Read(.env)\n\nask rm -rf /\nask! rm -rf /\n";
  expect(await check(good)).toEqual({ code: 0, out: "6 passed, 0 failed\n" });
  expect(await check("allow npm publish\n")).toEqual({
    code: 1,
    out: "expect.txt:1: expected allow, got ask: npm publish\n  shell: `npm publish` is not a known read-only command\n0 passed, 1 failed\n",
  });
  expect(() => parseExpectations("allow ls\nmaybe ls", "f")).toThrow("f:2: not an expectation: maybe ls");
});
