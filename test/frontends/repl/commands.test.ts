import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMMANDS, findCommand, nearestCommand } from "@/frontends/repl/commands/registry.ts";
import { createHistory } from "@/frontends/repl/history.ts";
import { ReplSession } from "@/frontends/repl/session.ts";
import { createTheme } from "@/frontends/repl/theme.ts";
import type { Ui } from "@/frontends/repl/ui.ts";
import { codeOf } from "@/lib/errors.ts";
import { readTool } from "@/tools/read.ts";
import { AGENT, conversation, scriptedApp } from "./scripted-app.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "letta-commands-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A session whose surface keeps what is printed and answers questions from a list of labels. */
function open(answers: string[] = []) {
  const printed: string[] = [];
  const inputs: string[] = [];
  const ui: Ui = {
    interactive: true,
    theme: createTheme(false),
    columns: () => 80,
    print: (lines) => void printed.push(...lines),
    append: (text) => void printed.push(text),
    drain: async () => {},
    async choose(choice) {
      const label = answers.shift();
      const item = choice.items.find((candidate) => candidate.label.startsWith(label ?? "\0"));
      return item ? { values: [item.value] } : null;
    },
    askLine: async () => answers.shift() ?? null,
    setInput: (text) => void inputs.push(text),
    bell() {},
    clear() {},
    refresh() {},
    start() {},
    stop() {},
  };
  const scripted = scriptedApp({ home });
  const session = new ReplSession({
    app: scripted.app,
    ui,
    history: createHistory(scripted.app.paths.history, "/p"),
    agent: { ...AGENT },
    conversation: conversation("conv-1"),
    model: AGENT.model,
    now: () => 1_750_000_000_000,
  });
  const run = async (line: string): Promise<string> => {
    printed.length = 0;
    const [, name = "", args = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(line) ?? [];
    const command = findCommand(name);
    if (!command) throw new Error(`no command ${name}`);
    await command.run(args, session);
    return printed.filter((text) => text !== "").join("\n");
  };
  return { run, session, printed, inputs, ...scripted };
}

test("names are unique, whole words, and near ones are found", () => {
  const names = COMMANDS.flatMap((command) => [command.name, ...(command.aliases ?? [])]);
  expect(new Set(names).size).toBe(names.length);
  expect(findCommand("Help")?.name).toBe("help");
  expect(findCommand("helpme")).toBeUndefined();
  expect(nearestCommand("modle")).toBe("model");
});

test("/help names every command", async () => {
  const shown = await open().run("/help");
  for (const { name, summary } of COMMANDS) {
    expect(shown).toContain(`/${name}`);
    expect(shown.replace(/\s+/g, " ")).toContain(summary);
  }
});

test("/new, /clear and /resume change the conversation and remember it", async () => {
  const { run, session, app, conversations } = open();
  await run("/new about tests");
  expect(session.conversation).toMatchObject({ id: "conv-3", summary: "about tests" });
  expect(app.settings.user.sessionsByServer).toEqual({
    "local:test": { agentId: "agent-1", conversationId: "conv-3" },
  });
  await run("/clear");
  expect(conversations).toHaveLength(4);
  await run("/resume conv-2");
  expect(session.conversation.id).toBe("conv-2");
  expect(run("/resume nowhere")).rejects.toThrow("no conversation nowhere");
});

test("/permissions explain says what would happen, and why", async () => {
  const { run, app } = open();
  const reason = { by: "shell", detail: "`rm` is not known" };
  const explain = async (tool: string) => ({
    ...{ tool, behavior: "ask", always: false, reason, trace: [reason], mode: "standard", modeSource: "default" },
    ...{ commands: [], changes: ["Allowed for one run with --yolo."] },
  });
  Object.assign(app.permissions, { explain });
  expect(await run("/permissions explain rm x")).toBe(`Bash: asks
  because: shell: \`rm\` is not known
  mode: standard (default)
What would change it
  Allowed for one run with --yolo.`);
});

test("/resume shows earlier calls by their titles, like the start does", async () => {
  const { run, app } = open();
  const call = { tool_call_id: "c", name: "Read", arguments: '{"file_path":"AGENTS.md"}' };
  const message = { message_type: "approval_request_message", id: "m", date: "", tool_call: call };
  Object.assign(app.tools, { find: () => readTool });
  Object.assign(app.backend, { resumeTail: async () => ({ messages: [message], pendingToolCallIds: [] }) });
  expect(await run("/resume conv-2")).toContain("Read AGENTS.md");
});

test("/resume without an id asks", async () => {
  const { run, session } = open(["about tests"]);
  await run("/resume");
  expect(session.conversation.id).toBe("conv-2");
});

test.each([
  ["/rename agent Ada", "The agent is now called Ada."],
  ["/rename convo My title", "This conversation is now called My title."],
  ["/pin", "Memo is pinned."],
  ["/usage", "0ms here · 0ms waiting for the model\n0 turns · 0 steps · 0 tokens in · 0 out"],
  ["/mode acceptEdits", "Mode: acceptEdits (edits inside the workspace are free too)"],
  ["/permissions", "Mode: standard (default)\n  allow     Bash(npm test) user"],
  ["/permissions deny Read(.env) --scope local", "deny Read(.env) (local)"],
  ["/queue", "Nothing is queued."],
  ["/search nothing", "Nothing found."],
  ["/model scripted/stand-in", "Model: scripted/stand-in"],
])("%s", async (line, shown) => expect(await open().run(line)).toBe(shown));

test.each([
  "/rename",
  "/rename agent Ada/../x",
  "/mode wild",
  "/mode unrestricted",
  "/permissions maybe Bash",
  "/permissions allow Bash --scope moon",
  "/queue drop 7",
  "/queue sort",
  "/steer",
  "/search",
  "/compact sideways",
])("%s is wrong usage", async (line) => {
  const code = await open()
    .run(line)
    .then(() => "none", codeOf);
  expect(code).toBe("usage");
});

test("/queue lists, edits, drops and clears", async () => {
  const { run, session, inputs } = open();
  for (const text of ["one", "two", "three"]) session.queue.enqueue(text);
  expect(await run("/queue")).toBe("3 messages queued.\n  1. one\n  2. two\n  3. three");
  await run("/queue edit 2 zwei");
  await run("/queue drop 1");
  expect(session.queue.list().map((item) => item.content)).toEqual(["zwei", "three"]);
  await run("/queue edit 1");
  expect(inputs).toEqual(["zwei"]);
  expect(await run("/queue clear")).toBe("1 message dropped.");
});

test("/cd goes to directories that exist", async () => {
  const { run, app } = open();
  mkdirSync(join(home, "sub"));
  await run("/cd sub");
  expect(app.cwd).toBe(join(home, "sub"));
  await run("/cd ~");
  expect(app.cwd).toBe(home);
  expect(
    await open()
      .run("/cd nowhere")
      .then(() => "none", codeOf),
  ).toBe("not_found");
});

test("/agents switches, /model asks for the scope", async () => {
  const { run, session } = open(["scripted/stand-in", "this conversation"]);
  await run("/model");
  expect(session.conversation.model).toBe("scripted/stand-in");
  expect(await open(["Memo"]).run("/agents")).toBe("Memo is the current agent.");
});
