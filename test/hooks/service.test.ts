import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STDOUT_CHARS } from "@/hooks/limits.ts";
import { createHooks, denialOf, type HookInput } from "@/hooks/service.ts";
import { createSessionHooks } from "@/hooks/session-hooks.ts";
import { createRedactor } from "@/lib/redactor.ts";
import { readEnv } from "@/store/env.ts";
import type { CommandHook } from "@/store/hook-settings.ts";
import { resolvePaths } from "@/store/paths.ts";
import type { UserSettings } from "@/store/settings.ts";
import { NO_SECRET_GUARD } from "@/tools/secret-guard.ts";
import { createToolServices } from "@/tools/services.ts";
import { FakeModel, say } from "../support/fake-model.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "letta-hooks-")));
const vars = { HOME: root, PATH: process.env.PATH, MY_API_KEY: "secret", BUN_OPTIONS: "--smol", HARMLESS: "1" };
const env = readEnv(vars);
const services = createToolServices({ env, paths: resolvePaths(env), shadow: null });
afterAll(async () => {
  await services.shells.killAll();
  rmSync(root, { recursive: true, force: true });
});

const command = (text: string, patch: Partial<CommandHook> = {}) => ({
  type: "command" as const,
  command: text,
  ...patch,
});

function hooksOf(settings: UserSettings["hooks"], models = new FakeModel()) {
  return createHooks({
    settings: { user: { hooks: settings }, project: {}, local: {}, projectRoot: root },
    trust: { accepts: () => false },
    services,
    models,
  });
}

const place = (signal = new AbortController().signal) => ({
  agentId: "agent-1",
  conversationId: "conv-1",
  cwd: root,
  model: null,
  signal,
});
const NEVER = new AbortController().signal;
const PRE: HookInput = { event_type: "PreToolUse", tool_name: "Bash", tool_input: { command: "ls" } };

async function runOne(hook: ReturnType<typeof command>, input = PRE) {
  const result = await hooksOf({ [input.event_type]: [{ hooks: [hook] }] }).run(input, place());
  return { run: result.runs[0]!, ...result };
}

test("a command reads the event as JSON and sees an environment without secrets", async () => {
  const { run } = await runOne(command("cat; echo; env"));
  const [json = "", ...lines] = run.stdout.trim().split("\n");
  expect(JSON.parse(json)).toEqual({
    ...PRE,
    working_directory: root,
    session_id: "conv-1",
    agent_id: "agent-1",
  });
  const seen = lines.filter((line) => line !== "");
  expect(seen).toContain("HARMLESS=1");
  expect(seen).toContain("LETTA_HOOK_EVENT=PreToolUse");
  expect(seen).toContain(`LETTA_WORKING_DIR=${root}`);
  expect(seen).toContain(`LETTA_PROJECT_DIR=${root}`);
  expect(seen).toContain("AGENT_ID=agent-1");
  expect(seen.filter((line) => /^(MY_API_KEY|BUN_OPTIONS|CONVERSATION_ID|LETTA_CONVERSATION_ID)=/.test(line))).toEqual(
    [],
  );
});

test.each([
  ["exit 0", "ok", null],
  ["echo no >&2; exit 2", "ok", "no"],
  ["exit 2", "ok", "A hook blocked this."],
  [`echo '{"decision":"deny","reason":"json"}'`, "ok", "json"],
  ["echo oops >&2; exit 1", "failed", null],
  ["kill -9 0", "failed", null],
  ["kill -TERM $$", "failed", null],
  [`echo '{"decision":"allow'`, "failed", null],
  ["no-such-command-at-all", "failed", null],
  // Nobody reads the input.
  ["exec <&-; exit 0", "ok", null],
])("%s → %s", async (text, status, denial) => {
  const result = await runOne(command(text));
  expect(result.run.status).toBe(status as typeof result.run.status);
  expect(denialOf(result)).toBe(denial);
  expect(result.notices.map(({ level }) => level)).toEqual(status === "failed" ? ["warning"] : []);
});

test.each([
  ["echo my-s3cr3t-value >&2; exit 2", "deny", "KEY=<REDACTED>"],
  [`echo '{"decision":"deny","reason":"no my-s3cr3t-value"}'`, "deny", "no KEY=<REDACTED>"],
  ["echo my-s3cr3t-value >&2; exit 1", null, null],
] as const)("what a hook says has no secret in it: %s", async (text, decision, reason) => {
  const redactor = createRedactor([{ name: "KEY", value: "my-s3cr3t-value" }]);
  const guarded = { ...services, secrets: { ...NO_SECRET_GUARD, refresh: async () => redactor } };
  const input = { updatedInput: { command: "use my-s3cr3t-value" }, additionalContext: "my-s3cr3t-value" };
  const hooks = createHooks({
    settings: {
      user: { hooks: { PreToolUse: [{ hooks: [command(`echo '${JSON.stringify(input)}'`), command(text)] }] } },
      project: {},
      local: {},
      projectRoot: root,
    },
    trust: { accepts: () => false },
    services: guarded,
    models: new FakeModel(),
  });
  const { runs, notices } = await hooks.run(PRE, place());
  expect(runs[1]!.answer).toMatchObject({ decision, reason });
  // What it puts into the call is its own doing.
  expect(runs[0]!.answer).toMatchObject({ updatedInput: input.updatedInput, additionalContext: "KEY=<REDACTED>" });
  expect(JSON.stringify([runs[1], notices]).replaceAll(/"command":"(?:[^"\\]|\\.)*"/g, "")).not.toMatch(
    /: my-s3cr3t|no my-s3cr3t/,
  );
});

test("a large event does not block a hook that does not read it", async () => {
  const input = { ...PRE, tool_input: { content: "x".repeat(4_000_000) } };
  expect((await runOne(command("exit 0"), input)).run.status).toBe("ok");
  expect((await runOne(command("wc -c"), input)).run.stdout.trim().length).toBeGreaterThan(6);
});

test("one that hangs is ended with everything it started", async () => {
  const marker = join(root, "late");
  const { run, notices } = await runOne(command(`(sleep 30 && touch ${marker}) & sleep 30`, { timeout: 100 }));
  expect(run).toMatchObject({ status: "timeout", exitCode: null });
  expect(notices[0]?.text).toContain("no end after 100 ms");
  expect(existsSync(marker)).toBe(false);
  const left = Bun.spawnSync(["pgrep", "-f", marker], { stdout: "pipe" });
  expect(left.stdout.toString()).toBe("");
});

test("a flood is read to its end and kept in part", async () => {
  const { run } = await runOne(
    command("head -c 20000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero | tr '\\0' y >&2"),
  );
  expect(run).toMatchObject({ status: "ok", exitCode: 0 });
  expect(run.stdout).toHaveLength(STDOUT_CHARS);
});

test("one after the other until the first that blocks; observers all at once", async () => {
  const log = join(root, "order");
  const three = ["a", "b", "c"].map((name) => command(`echo ${name} >> ${log}; ${name === "b" ? "exit 2" : "exit 0"}`));
  const serial = await hooksOf({ PreToolUse: [{ hooks: three }] }).run(PRE, place());
  expect(serial.runs).toHaveLength(2);
  expect(await Bun.file(log).text()).toBe("a\nb\n");
  const parallel = await hooksOf({ PostToolUse: [{ hooks: three }] }).run({ event_type: "PostToolUse" }, place());
  expect(parallel.runs.map(({ exitCode }) => exitCode)).toEqual([0, 2, 0]);
});

test("what a hook prints is shown unless it is quiet", async () => {
  expect((await runOne(command("echo hello"))).notices).toEqual([
    { level: "info", text: "PreToolUse hook (echo hello): hello" },
  ]);
  expect((await runOne(command("echo hello", { quiet: true }))).notices).toEqual([]);
});

test("an aborted turn ends its hooks quietly", async () => {
  const stop = new AbortController();
  const running = hooksOf({ PreToolUse: [{ hooks: [command("sleep 30")] }] }).run(PRE, place(stop.signal));
  stop.abort();
  expect(await running).toMatchObject({ runs: [{ status: "cancelled" }], notices: [] });
});

test("a prompt hook asks the model; where it could change nothing it says so", async () => {
  const models = new FakeModel([say('{"ok":false,"reason":"bad"}')]);
  const prompt = { type: "prompt" as const, prompt: "ok?" };
  const hooks = hooksOf({ PreToolUse: [{ hooks: [prompt] }], Notification: [{ hooks: [prompt] }] }, models);
  expect(denialOf(await hooks.run(PRE, place()))).toBe("bad");
  const notification = await hooks.run({ event_type: "Notification" }, place());
  expect(notification.notices[0]?.text).toContain("no effect on Notification");
});

test("a session's beginning reaches the first message once, its end is told what was used", async () => {
  const log = join(root, "end");
  let now = 1_000;
  const hooks = hooksOf({
    SessionStart: [{ hooks: [command("echo from the hook; exit 1"), command(`echo '{"additionalContext":"json"}'`)] }],
    SessionEnd: [{ hooks: [command(`cat > ${log}`)] }],
  });
  const session = createSessionHooks(
    hooks,
    () => root,
    () => now,
  );
  await session.end();
  expect(existsSync(log)).toBe(false);
  session.begin({
    agent: { id: "agent-1", name: "Ada" },
    conversation: { id: "conv-1", last_message_at: null },
    model: "",
  });
  await session.ready(NEVER);
  expect(session.takeContext()).toEqual(["from the hook", "json"]);
  expect(session.takeNotices()).toEqual([{ level: "warning", text: expect.stringContaining("exit code 1") }]);
  expect([session.takeContext(), session.takeNotices()]).toEqual([[], []]);
  session.count({ messages: 1, toolCalls: 3 });
  now += 50;
  await session.end();
  expect(JSON.parse(await Bun.file(log).text())).toMatchObject({
    event_type: "SessionEnd",
    duration_ms: 50,
    message_count: 1,
    tool_call_count: 3,
    conversation_id: "conv-1",
  });
});

test("who gives up does not wait for SessionStart; the next message gets what it found", async () => {
  const hooks = hooksOf({ SessionStart: [{ hooks: [command("until [ -e go ]; do sleep 0.01; done; echo late")] }] });
  const session = createSessionHooks(hooks, () => root);
  session.begin({ agent: { id: "a", name: "A" }, conversation: { id: "c", last_message_at: null }, model: "" });
  await session.ready(AbortSignal.abort());
  expect(session.takeContext()).toEqual([]);
  await Bun.write(join(root, "go"), "");
  await session.ready(NEVER);
  expect(session.takeContext()).toEqual(["late"]);
});
