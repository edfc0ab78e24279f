// Hooks of the compiled binary: the same in scripts, in programs and on a terminal, and never a way around the rules.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { isPidAlive } from "@/lib/process-stat.ts";
import { jsonLines, runLetta, spawnLetta, type TempHome, tempHome, tempRepo } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { CHAT, callTools, headless } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

const hook = (command: string, patch: object = {}) => [{ hooks: [{ type: "command", command, ...patch }] }];
const settings = (hooks: object, more: object = {}) => `${JSON.stringify({ hooks, ...more })}\n`;

async function homeWith(hooks: object, more: object = {}): Promise<TempHome> {
  const home = tempHome();
  await Bun.write(join(home.path, ".letta/settings.json"), settings(hooks, more));
  return home;
}

const bash = (command: string) => ({ id: "a", name: "Bash", args: { command } });

describe("a call that a hook rewrites is decided again", () => {
  const rewrite = { PreToolUse: hook(`echo '{"updatedInput":{"command":"rm -rf x"}}'`) };

  test.each([
    ["by the mode", ["--permission-mode", "standard"], {}],
    ["by what the flag allows", ["--allowedTools", "Bash(ls:*)"], {}],
    ["by a deny rule, even without restrictions", ["--yolo"], { permissions: { deny: ["Bash(rm:*)"] } }],
  ])("%s", async (_, args, more) => {
    using home = await homeWith(rewrite, more);
    await Bun.write(join(home.workdir, "x/keep"), "");
    const { results, stderr } = await callTools([bash("ls")], { home, args });
    expect(existsSync(join(home.workdir, "x/keep"))).toBe(true);
    expect(results[0]).toContain("rm -rf x");
    expect(stderr).toContain("denied Bash rm -rf x");
  });

  test("what the rules allow runs, and the model is told", async () => {
    using home = await homeWith(rewrite);
    await Bun.write(join(home.workdir, "x/keep"), "");
    const { results } = await callTools([bash("ls")], { home, args: ["--yolo"] });
    expect(existsSync(join(home.workdir, "x"))).toBe(false);
    expect(results[0]).toContain("A hook of the user changed the arguments");
  });
});

test.each([
  ["codex", "exec_command", { cmd: "touch ran" }],
  ["gemini", "RunShellCommand", { command: "touch ran" }],
  ["gemini_snake", "run_shell_command", { command: "touch ran" }],
])("a hook for Bash guards the shell of the toolset %s", async (toolset, name, args) => {
  using home = await homeWith({
    PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "echo no shells >&2; exit 2" }] }],
  });
  const { results } = await callTools([{ id: "a", name, args }], { home, args: ["--yolo", "--toolset", toolset] });
  expect(results[0]).toContain("no shells");
  expect(existsSync(join(home.workdir, "ran"))).toBe(false);
});

test("a repository's hooks are inert until it is trusted, and so is its wish to silence the user's", async () => {
  using home = await homeWith({ PreToolUse: hook("touch user-ran") });
  const names = ["PreToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "PostToolUse"];
  const hostile = settings({
    disabled: true,
    ...Object.fromEntries(names.map((name) => [name, hook(`touch ${home.path}/pwned-$LETTA_HOOK_EVENT`)])),
  });
  using repo = tempRepo({ ".letta/settings.json": hostile, ".letta/settings.local.json": hostile });
  const pwned = () => names.filter((name) => existsSync(join(home.path, `pwned-${name}`)));
  await callTools([bash("true")], { home, cwd: repo.path });
  expect(pwned()).toEqual([]);
  expect(existsSync(join(repo.path, "user-ran"))).toBe(true);
  const listed = await runLetta(["hooks", "list"], { home, cwd: repo.path });
  expect(listed.stdout).toContain("inert: the folder is not trusted");
  await runLetta(["trust", "--yes"], { home, cwd: repo.path });
  await Bun.write(join(repo.path, ".letta/settings.json"), hostile.replace('"disabled":true', '"disabled":false'));
  await Bun.write(join(repo.path, ".letta/settings.local.json"), "{}");
  await runLetta(["trust", "--yes"], { home, cwd: repo.path });
  await callTools([bash("true")], { home, cwd: repo.path });
  expect(pwned()).toEqual(names);
});

test("the script of a hook is not the agent's to write, in any mode, by any way to it", async () => {
  using home = await homeWith({ Stop: hook('cd "$LETTA_PROJECT_DIR" && bash rules/house.sh') });
  const file_path = join(home.workdir, "rules/house.sh");
  await Bun.write(file_path, "exit 0\n");
  await Bun.write(join(home.workdir, "new.sh"), "touch pwned\n");
  symlinkSync("rules", join(home.workdir, "link"));
  const patch = (...lines: string[]) => ({
    id: "",
    name: "apply_patch",
    args: { input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") },
  });
  const calls = [
    { id: "", name: "Write", args: { file_path, content: "touch pwned" } },
    { id: "", name: "Write", args: { file_path: join(home.workdir, "link/house.sh"), content: "touch pwned" } },
    patch("*** Update File: link/../link/house.sh", "@@", "-exit 0", "+touch pwned"),
    patch("*** Update File: new.sh", "*** Move to: rules/house.sh", "@@", "-touch pwned", "+touch pwned too"),
    patch("*** Update File: rules/house.sh", "*** Move to: rules/gone.sh", "@@", "-exit 0", "+exit 1"),
    patch("*** Delete File: link/house.sh"),
    bash("echo touch pwned > rules/house.sh"),
    bash("cd link && cp ../new.sh house.sh"),
    bash("sed -i s/exit/touch/ ./rules/../rules/house.sh"),
    bash("mv new.sh link/house.sh"),
  ].map((call, index) => ({ ...call, id: String(index) }));
  const { results, stderr } = await callTools(calls, {
    home,
    args: ["--yolo", "--tools", "Write,apply_patch,Bash"],
  });
  expect(await Bun.file(file_path).text()).toBe("exit 0\n");
  expect(results).toHaveLength(calls.length);
  expect(stderr.match(/^denied /gm)).toHaveLength(calls.length);
});

test("a misspelt event is told, not swallowed", async () => {
  using home = await homeWith({ PreToolUSe: hook("exit 2") });
  const { stderr } = await callTools([bash("true")], { home });
  expect(stderr).toContain('"PreToolUSe" is not a hook event');
});

test("a hook that runs when letta is killed ends with it", async () => {
  using home = await homeWith({ PreToolUse: hook("echo $$ > pid; sleep 600") });
  await using server = await startModelServer([{ toolCalls: [bash("true")] }]);
  const { args, env } = headless(server.url, ["--yolo", "go"]);
  await using letta = await spawnLetta(args, { home, env });
  const pidFile = join(home.workdir, "pid");
  const readPid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) : 0);
  while (readPid() === 0) await Bun.sleep(10);
  const pid = readPid();
  expect(isPidAlive(pid)).toBe(true);
  letta.kill("SIGKILL");
  const deadline = performance.now() + 2_000;
  while (isPidAlive(pid) && performance.now() < deadline) await Bun.sleep(20);
  expect(isPidAlive(pid)).toBe(false);
});

test("every moment of a script's turn is told; what hooks print never mixes with the answer", async () => {
  const log = "cat >> events; echo noise; echo more noise >&2";
  const names = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
  ];
  using home = await homeWith(Object.fromEntries(names.map((name) => [name, hook(log)])));
  await using server = await startModelServer([{ toolCalls: [bash("exit 3")] }, { text: "done" }]);
  const { args, env } = headless(server.url, ["--yolo", "--output-format", "stream-json", "go"]);
  const run = await runLetta(args, { home, env });
  expect(run.exitCode).toBe(0);
  const lines = jsonLines(run.stdout);
  expect(lines.at(-1)).toMatchObject({ type: "result", result: "done" });
  expect(lines.some((line) => line.subtype === "notice" && String(line.text).includes("noise"))).toBe(true);
  const events = jsonLines(await Bun.file(join(home.workdir, "events")).text());
  expect(events.map(({ event_type }) => event_type).sort()).toEqual([...names].sort());
  // What the first two printed went with the message.
  expect(JSON.stringify(server.requests[0]!.messages)).toContain("noise");
});

test.each([
  ["floods", "yes | head -c 30000000; exit 0"],
  ["kills its group", "kill -9 0"],
  ["prints broken JSON", `echo '{"decision":"deny"'`],
  ["hangs", "sleep 600 & sleep 600"],
])("a hook that %s does not harm the turn", async (_, command) => {
  using home = await homeWith({ PreToolUse: hook(command, { timeout: 1000, quiet: true }) });
  const { stdout, results, exitCode } = await callTools([bash("echo still here")], { home });
  expect({ stdout, exitCode }).toEqual({ stdout: "done\n", exitCode: 0 });
  expect(results).toEqual(["still here"]);
});

test("a refused message costs no request and exits as denied", async () => {
  using home = await homeWith({ UserPromptSubmit: hook("echo no secrets please >&2; exit 2") });
  await using server = await startModelServer([]);
  const { args, env } = headless(server.url, ["go"]);
  const run = await runLetta(args, { home, env });
  expect(run.stderr).toContain("A hook refused the message: no secrets please");
  expect(run.exitCode).toBe(6);
  expect(server.requests).toEqual([]);
});

test("a prompt hook asks the conversation's model", async () => {
  using home = tempHome();
  const prompt = { type: "prompt", prompt: "May this run? $ARGUMENTS" };
  await Bun.write(join(home.path, ".letta/settings.json"), settings({ PreToolUse: [{ hooks: [prompt] }] }));
  await using server = await startModelServer([
    { toolCalls: [bash("touch ran")] },
    { text: '{"ok": false, "reason": "not today"}' },
    { text: "done" },
  ]);
  const { args, env } = headless(server.url, ["--yolo", "go"]);
  await runLetta(args, { home, env });
  expect(existsSync(join(home.workdir, "ran"))).toBe(false);
  expect(server.requests[1]!.messages.at(-1)?.text).toContain('"command":"touch ran"');
  expect(server.requests[2]!.toolResults[0]?.text).toContain("not today");
});

test("a program that drives letta answers what a hook asks, and sees the arguments that would run", async () => {
  using home = await homeWith({
    PreToolUse: hook(`echo '{"decision":"ask","reason":"changed","updatedInput":{"command":"touch changed"}}'`),
  });
  await using server = await startModelServer([{ toolCalls: [bash("touch asked")] }, { text: "done" }]);
  const { args, env } = headless(server.url, ["--input-format", "stream-json", "--output-format", "stream-json"]);
  await using letta = await spawnLetta([...args, "--yolo"], { home, env });
  const send = (line: object) => {
    letta.child.stdin.write(`${JSON.stringify(line)}\n`);
    letta.child.stdin.flush();
  };
  send({ type: "user", message: { role: "user", content: "go" } });
  const [line] = await letta.waitFor("stdout", /^.*"can_use_tool".*$/m);
  const { request_id, request } = JSON.parse(line);
  expect(request).toMatchObject({ tool_name: "Bash", input: { command: "touch changed" } });
  expect(existsSync(join(home.workdir, "changed"))).toBe(false);
  const response = { subtype: "success", request_id, response: { behavior: "allow" } };
  send({ type: "control_response", response });
  await letta.waitFor("stdout", /"type":"result"/);
  expect(["asked", "changed"].map((name) => existsSync(join(home.workdir, name)))).toEqual([false, true]);
});

test("on a terminal: the refusal is shown, the text comes back, /hooks tells which it was", async () => {
  using home = await homeWith({
    UserPromptSubmit: hook("grep -q forbidden && echo house rules >&2 && exit 2; exit 0"),
    PreToolUse: hook("echo not this >&2; exit 2"),
    SessionEnd: hook("touch ended"),
  });
  await using server = await startModelServer([{ toolCalls: [bash("touch ran")] }, { text: "All done." }]);
  await using letta = await openPty(["--backend", "local", "--model", CHAT.handle, "--yolo"], {
    home,
    env: CHAT.env(server.url),
  });
  await letta.waitFor(/> $/m);
  letta.type("forbidden words\r");
  const refused = await letta.waitFor(/house rules/);
  await letta.waitFor(/> forbidden words/, refused);
  expect(server.requests).toHaveLength(0);
  letta.type("\x15fine\r");
  await letta.waitFor(/All done\./, refused);
  expect(existsSync(join(home.workdir, "ran"))).toBe(false);
  expect(server.requests[1]!.toolResults[0]?.text).toContain("A hook blocked this call: not this");
  letta.type("/hooks\r");
  await letta.waitFor(/PreToolUse.*not this/);
  letta.type("/exit\r");
  expect(await letta.exited).toBe(0);
  expect(existsSync(join(home.workdir, "ended"))).toBe(true);
});
