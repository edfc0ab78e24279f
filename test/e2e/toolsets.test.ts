// The same work with every toolset: a failing test is run, the file is read and fixed, the test passes. Each model uses
// its own tools under its own names; the bytes on disk are the same.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonLines, runLetta, type TempHome, tempHome } from "../support/binary.ts";
import { type ScriptedToolCall, startModelServer } from "../support/model-server.ts";
import { CHAT, callTools, headless, PROTOCOLS, type ProtocolSetup } from "../support/protocols.ts";
import { workingBackends } from "../support/sandbox-world.ts";

const FILES = {
  "price.sh": '# Price with tax.\r\nprice() {\r\n  echo $(($1 * 12 / 100))\r\n}\r\nprice "$1"',
  "test.sh": '[ "$(tr -d "\\r" < price.sh | bash -s 100)" = 120 ] && echo passed || { echo failed; exit 1; }\n',
};
const FIXED = FILES["price.sh"].replace("12 /", "120 /");
const [OLD, NEW] = ["  echo $(($1 * 12 / 100))", "  echo $(($1 * 120 / 100))"];
const PATCH = `*** Begin Patch\n*** Update File: price.sh\n@@ price() {\n-${OLD}\n+${NEW}\n*** End Patch`;

interface Hands {
  run: ScriptedToolCall;
  read: ScriptedToolCall;
  fix: ScriptedToolCall;
  plan: ScriptedToolCall;
}

const edit = (name: string): ScriptedToolCall => ({
  name,
  args: { file_path: "price.sh", old_string: OLD, new_string: NEW },
});
const exec = (cmd: string): ScriptedToolCall => ({ name: "exec_command", args: { cmd, login: false } });
const gemini = (shell: string, read: string, replace: string, todos: string): Hands => ({
  run: { name: shell, args: { command: "sh test.sh", description: "Run the test" } },
  read: { name: read, args: { file_path: "price.sh" } },
  fix: edit(replace),
  plan: { name: todos, args: { todos: [{ description: "Fix", status: "in_progress" }] } },
});
const codex = (patch: string, plan: string): Hands => ({
  run: exec("sh test.sh"),
  read: exec("cat price.sh"),
  fix: { name: patch, args: { input: PATCH } },
  plan: { name: plan, args: { plan: [{ step: "Fix", status: "in_progress" }] } },
});
const HANDS: Record<string, Hands> = {
  default: {
    run: { name: "Bash", args: { command: "sh test.sh" } },
    read: { name: "Read", args: { file_path: "price.sh" } },
    fix: edit("Edit"),
    plan: { name: "TodoWrite", args: { todos: [{ content: "Fix", status: "in_progress" }] } },
  },
  codex: codex("ApplyPatch", "UpdatePlan"),
  codex_snake: codex("apply_patch", "update_plan"),
  gemini: gemini("RunShellCommand", "ReadFileGemini", "Replace", "WriteTodos"),
  gemini_snake: gemini("run_shell_command", "read_file", "replace", "write_todos"),
};

function project(home: TempHome): void {
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(home.workdir, name), content);
}
function contents(home: TempHome): Record<string, string> {
  const names = readdirSync(home.workdir).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(home.workdir, name), "utf8")]));
}

/** `settings` chooses the set for the agent instead of a flag. */
async function fixWith(hands: Hands, setup: ProtocolSetup, toolset: string, by: "flag" | "settings" = "flag") {
  using home = tempHome();
  project(home);
  await using server = await startModelServer([
    { toolCalls: [hands.plan, hands.run] },
    { toolCalls: [hands.read] },
    { toolCalls: [hands.fix] },
    { toolCalls: [hands.run] },
    { text: "Fixed." },
  ]);
  const flags = ["--yolo", "--output-format", "stream-json", "fix the test"];
  const { args, env } = headless(server.url, flags, setup, by === "flag" ? toolset : undefined);
  if (by === "settings") {
    const created = await runLetta(["agents", "create", "--format", "json"], { home, env });
    const { id: agentId } = JSON.parse(created.stdout) as { id: string };
    const baseUrl = `local:${join(home.path, ".letta/local")}`;
    await Bun.write(
      join(home.path, ".letta/settings.json"),
      JSON.stringify({ agents: [{ agentId, baseUrl, toolset }] }),
    );
    args.splice(args.indexOf("--toolset"), 2, "--agent", agentId);
  }
  const run = await runLetta(args, { home, env });
  return { run, requests: server.requests, files: contents(home) };
}

test.each(Object.keys(HANDS))("%s, chosen in the settings, does the same", async (toolset) => {
  const { run, requests, files } = await fixWith(HANDS[toolset]!, CHAT, toolset, "settings");
  expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(files).toEqual({ ...FILES, "price.sh": FIXED });
  expect(requests.at(-1)!.toolResults.at(-1)!.text).toContain("passed");
  const used = Object.values(HANDS[toolset]!).map(({ name }) => name);
  expect(requests[0]!.toolNames).toEqual(expect.arrayContaining(used));
});

describe.each([
  ...Object.keys(HANDS).map((toolset) => [toolset, CHAT, toolset, HANDS[toolset]!] as const),
  ["an OpenAI model", PROTOCOLS[1]!, "auto", HANDS.codex!] as const,
  ["a Gemini model", PROTOCOLS[3]!, "auto", HANDS.default!] as const,
])("%s", (_, setup, toolset, hands) => {
  test("run, read, fix, run", async () => {
    const { run, requests, files } = await fixWith(hands, setup, toolset);
    expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(files).toEqual({ ...FILES, "price.sh": FIXED });
    const results = requests.at(-1)!.toolResults.map(({ text }) => text);
    expect(results).toHaveLength(5);
    expect(results[1]).toContain("failed");
    expect(results[4]).toContain("passed");
    const used = Object.values(hands).map(({ name }) => name);
    expect(requests[0]!.toolNames).toEqual(expect.arrayContaining(used));
    const init = jsonLines(run.stdout)[0] as { tools: string[] };
    expect(requests[0]!.toolNames).toEqual(init.tools);
    // System prompt, tools, and the reminders of the first message.
    expect(JSON.stringify(requests[0]!.body).length).toBeLessThan(24 * 1024);
  });
});

test("a model that uses the names of another family, as an older part of the conversation did, is understood", async () => {
  const { run, files } = await fixWith(HANDS.default!, PROTOCOLS[1]!, "auto");
  expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(files["price.sh"]).toBe(FIXED);
});

test("none offers nothing", async () => {
  await using server = await startModelServer([{ text: "ok" }]);
  const { args, env } = headless(server.url, ["hi"], CHAT, "none");
  expect((await runLetta(args, { env })).exitCode).toBe(0);
  expect(server.requests[0]!.toolNames).toEqual([]);
});

test("a patch whose last hunk does not fit leaves every file byte for byte as it was", async () => {
  using home = tempHome();
  project(home);
  const before = contents(home);
  const input = PATCH.replace(
    "*** End Patch",
    "*** Add File: new.txt\n+x\n*** Delete File: test.sh\n*** Update File: price.sh2\n*** End Patch",
  );
  const bad = PATCH.replace("*** End Patch", "@@\n-not there\n+x\n*** End Patch");
  const both = `*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: test.sh\n${bad.slice(bad.indexOf("*** Update"))}`;
  const { results } = await callTools(
    [
      { id: "a", name: "apply_patch", args: { input } },
      { id: "b", name: "apply_patch", args: { input: both } },
    ],
    { home, args: ["--yolo", "--tools", "apply_patch"] },
  );
  expect(results[0]).toContain("has no hunk");
  expect(results[1]).toContain("(hunk 2 of 2) does not have these lines");
  expect(contents(home)).toEqual(before);
});

test("a deny rule for a file holds against a patch", async () => {
  using home = tempHome();
  project(home);
  const before = contents(home);
  const { results } = await callTools([{ id: "a", name: "apply_patch", args: { input: PATCH } }], {
    home,
    args: ["--yolo", "--tools", "apply_patch", "--disallowedTools", "Edit(price.sh)"],
  });
  expect(results[0]).toContain("Permission denied by rule: Edit(price.sh)");
  expect(contents(home)).toEqual(before);
});

test("a program on a terminal asks, is answered, and does not outlive letta", async () => {
  using home = tempHome();
  const cmd = 'read -p "name? " name; echo "hi $name"; echo $$ > pid; sleep 600';
  await using server = await startModelServer((request, index) => {
    if (index === 0) return { toolCalls: [{ name: "exec_command", args: { cmd, tty: true, yield_time_ms: 1000 } }] };
    const session = /session ID (\d+)/.exec(request.toolResults[0]!.text)![1];
    if (index === 1)
      return {
        toolCalls: [
          { name: "write_stdin", args: { session_id: Number(session), chars: "Ada\n", yield_time_ms: 1500 } },
        ],
      };
    return { text: "done" };
  });
  const { args, env } = headless(server.url, ["--yolo", "go"], CHAT, "codex");
  const { exitCode } = await runLetta(args, { home, env });
  expect(exitCode).toBe(0);
  const [asked, answered] = server.requests[2]!.toolResults.map(({ text }) => text);
  expect(asked).toMatch(/Process running with session ID \d+\n[\s\S]*name\?$/);
  expect(answered).toContain("hi Ada");
  const pid = Number(readFileSync(join(home.workdir, "pid"), "utf8"));
  expect(() => process.kill(pid, 0)).toThrow();
});

/** Starts a shell on a terminal, types these texts at once, and returns what the model was told of each. */
async function typeInto(home: TempHome, flags: string[], texts: string[]): Promise<string[]> {
  await using server = await startModelServer((request, index) => {
    const start = { cmd: "PS1= bash --norc --noprofile", tty: true, login: false, yield_time_ms: 1000 };
    if (index === 0) return { toolCalls: [{ name: "exec_command", args: start }] };
    if (index > 1) return { text: "done" };
    const session = /session ID (\d+)/.exec(request.toolResults[0]!.text)![1];
    const args = { session_id: Number(session), yield_time_ms: 1000 };
    return { toolCalls: texts.map((chars) => ({ name: "write_stdin", args: { ...args, chars } })) };
  });
  const { args, env } = headless(server.url, [...flags, "go"], CHAT, "codex");
  await runLetta(args, { home, env });
  return server.requests[2]!.toolResults.slice(1).map(({ text }) => text);
}

test("deny rules hold for what is typed into a shell, in pieces too, whatever the mode", async () => {
  using home = tempHome();
  writeFileSync(join(home.workdir, "keep"), "");
  const flags = ["--yolo", "--disallowedTools", "Bash(rm:*)"];
  const [whole, begin, rest, other] = await typeInto(home, flags, ["rm keep\n", "r", "m keep\n", "\u0003"]);
  expect(whole).toContain("Permission denied by rule: Bash(rm:*)");
  expect(begin).toContain("running with session ID");
  expect(rest).toContain("nothing was typed. Call again.");
  expect(other).toContain("running with session ID");
  expect(readdirSync(home.workdir)).toEqual(["keep"]);
});

test.skipIf((await workingBackends()).length === 0)(
  "a confined session may be typed into without a person",
  async () => {
    using home = tempHome();
    const [result] = await typeInto(home, ["--sandbox", "workspace"], ["echo typed > made; echo $((6 * 7))\n"]);
    expect(result).toContain("42");
    expect(readFileSync(join(home.workdir, "made"), "utf8")).toBe("typed\n");
  },
);

test("with lines in both directions, a message chooses the tools of its turn", async () => {
  await using server = await startModelServer(Array.from({ length: 4 }, () => ({ text: "ok" })));
  const lines = [
    {},
    { client_toolset: { base: "codex_snake", include: ["Glob"] }, exclude_interactive_tools: true },
    { client_tool_allowlist: ["Read", "apply_patch", "unknown_here"] },
    { client_tool_allowlist: [] },
  ].map((wish, index) => JSON.stringify({ type: "user", message: { content: `message ${index}` }, ...wish }));
  const { args, env } = headless(server.url, ["--input-format", "stream-json", "--output-format", "stream-json"]);
  const run = await runLetta(args, { env, stdin: `${lines.join("\n")}\n` });
  expect(run).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("Error") });
  const [plain, wished, only, none] = server.requests.map(({ toolNames }) => toolNames);
  expect(plain).toEqual(expect.arrayContaining(["Bash", "Monitor", "AskUserQuestion"]));
  expect(wished).toEqual(expect.arrayContaining(["exec_command", "apply_patch", "Glob"]));
  expect(wished).not.toContain("Bash");
  expect(wished).not.toContain("AskUserQuestion");
  expect(only).toEqual(["Read", "apply_patch"]);
  expect(none).toEqual([]);
});

test("letta tools list shows a set as its models see it", async () => {
  const { stdout } = await runLetta(["tools", "list", "--toolset", "codex_snake", "--json"]);
  expect((JSON.parse(stdout) as { data: { name: string }[] }).data.map(({ name }) => name)).toEqual([
    "exec_command",
    "write_stdin",
    "view_image",
    "apply_patch",
    "web_fetch",
    "update_plan",
    "memory_apply_patch",
  ]);
  const wrong = await runLetta(["tools", "list", "--toolset", "codec"]);
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("Did you mean codex?")]);
});
