// Runs the hooks of one event and reads what each of them said. Loaded when the first hook runs.

import type { ModelAdapter } from "@/backend/model.ts";
import type { HookEvent } from "@/store/hook-settings.ts";
import type { ToolServices } from "@/tools/services.ts";
import { type HookAnswer, NO_ANSWER, readAnswer } from "./answer.ts";
import { type CommandRun, runCommandHook } from "./command-hook.ts";
import type { ConfiguredHook } from "./config.ts";
import { COMMAND_TIMEOUT_MS, PROMPT_TIMEOUT_MS, SESSION_END_TIMEOUT_MS } from "./limits.ts";
import { runPromptHook } from "./prompt-hook.ts";
import type { HookInput, HookPlace, HookRun } from "./service.ts";

export interface RunnerDeps {
  services: Pick<ToolServices, "shells" | "childEnv">;
  models: ModelAdapter;
  projectRoot: string | null;
  now(): number;
}

/** One after the other; the first that blocks is the last that runs. The others all run at once. */
const SERIAL: ReadonlySet<HookEvent> = new Set([
  "PreToolUse",
  "PermissionRequest",
  "UserPromptSubmit",
  "Stop",
  "SubagentStop",
  "SessionStart",
]);

/** Where a model's judgement can change something. */
const JUDGED: ReadonlySet<HookEvent> = new Set([
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PermissionRequest",
  "UserPromptSubmit",
  "Stop",
  "SubagentStop",
]);

/** In the order of the hooks. Never throws. */
export async function runHooks(
  hooks: ConfiguredHook[],
  input: HookInput,
  place: HookPlace,
  deps: RunnerDeps,
): Promise<HookRun[]> {
  const { event_type: event } = input;
  const text = JSON.stringify(input);
  const run = (hook: ConfiguredHook): Promise<HookRun> => runHook(hook, text, place, deps);
  if (!SERIAL.has(event)) return Promise.all(hooks.map(run));
  const runs: HookRun[] = [];
  for (const hook of hooks) {
    const result = await run(hook);
    runs.push(result);
    // A session has begun, whatever its hooks think of it.
    if (event !== "SessionStart" && (result.answer.decision === "deny" || !result.answer.continues)) break;
  }
  return runs;
}

async function runHook(hook: ConfiguredHook, input: string, place: HookPlace, deps: RunnerDeps): Promise<HookRun> {
  const startedAt = deps.now();
  const said =
    hook.definition.type === "command" ? runCommand(hook, input, place, deps) : judge(hook, input, place, deps);
  return { hook, ...(await said), durationMs: deps.now() - startedAt };
}

type Said = Omit<HookRun, "hook" | "durationMs">;

async function runCommand(hook: ConfiguredHook, input: string, place: HookPlace, deps: RunnerDeps): Promise<Said> {
  if (hook.definition.type !== "command") throw new Error("not a command hook");
  const { command, timeout } = hook.definition;
  const usual = hook.event === "SessionEnd" ? SESSION_END_TIMEOUT_MS : COMMAND_TIMEOUT_MS;
  const timeoutMs = timeout ?? usual;
  const run = await runCommandHook({
    shells: deps.services.shells,
    command,
    cwd: place.cwd,
    env: hookEnv(hook.event, place, deps),
    input,
    timeoutMs,
    signal: place.signal,
  });
  return { ...readRun(run, timeoutMs), usage: null, exitCode: run.exitCode, stdout: run.stdout, stderr: run.stderr };
}

/** Exit 0 may carry an answer in JSON, exit 2 blocks; everything else is a hook that failed, which blocks nothing. */
function readRun(run: CommandRun, timeoutMs: number): Pick<Said, "status" | "answer" | "text" | "problem"> {
  const stderr = run.stderr.trim();
  if (run.end === "exited" && run.exitCode === 2) {
    const reason = stderr || readAnswer(run.stdout).answer.reason || "A hook blocked this.";
    return { status: "ok", answer: { ...NO_ANSWER, decision: "deny", reason }, text: run.stdout.trim(), problem: null };
  }
  if (run.end === "exited" && run.exitCode === 0) {
    const { answer, text, problem } = readAnswer(run.stdout);
    return { status: problem === null ? "ok" : "failed", answer, text, problem };
  }
  const problems: Record<CommandRun["end"], string> = {
    exited: `exit code ${run.exitCode}${stderr ? `: ${stderr}` : ""}`,
    timeout: `no end after ${timeoutMs} ms; it was ended`,
    cancelled: "cancelled",
    not_started: stderr,
  };
  const status = run.end === "cancelled" ? "cancelled" : run.end === "timeout" ? "timeout" : "failed";
  return { status, answer: NO_ANSWER, text: run.stdout.trim(), problem: problems[run.end] };
}

async function judge(hook: ConfiguredHook, input: string, place: HookPlace, deps: RunnerDeps): Promise<Said> {
  if (hook.definition.type !== "prompt") throw new Error("not a prompt hook");
  const { prompt, model = null, timeout = PROMPT_TIMEOUT_MS } = hook.definition;
  const nothing = { exitCode: null, stdout: "", stderr: "", text: "", answer: NO_ANSWER };
  if (!JUDGED.has(hook.event)) {
    return { ...nothing, usage: null, status: "failed", problem: `prompt hooks have no effect on ${hook.event}` };
  }
  const { models } = deps;
  const options = { models, model: model ?? place.model, prompt, input, timeoutMs: timeout, signal: place.signal };
  const judgement = await runPromptHook(options);
  const { usage } = judgement;
  if (judgement.status !== "judged") return { ...nothing, usage, status: judgement.status, problem: judgement.problem };
  const answer: HookAnswer = judgement.ok ? NO_ANSWER : { ...NO_ANSWER, decision: "deny", reason: judgement.reason };
  return { ...nothing, usage, status: "ok", answer, problem: null };
}

/** What a command of the agent gets (no secrets, no switches of Bun), without what names a conversation or a memory. */
function hookEnv(event: HookEvent, place: HookPlace, deps: RunnerDeps): Record<string, string> {
  const env = deps.services.childEnv(place);
  for (const name of UNWANTED) delete env[name];
  return {
    ...env,
    LETTA_HOOK_EVENT: event,
    LETTA_WORKING_DIR: place.cwd,
    USER_CWD: place.cwd,
    ...(deps.projectRoot !== null && { LETTA_PROJECT_DIR: deps.projectRoot }),
  };
}

const UNWANTED = ["CONVERSATION_ID", "LETTA_CONVERSATION_ID", "MEMORY_DIR", "LETTA_MEMORY_DIR", "AGENT_NAME"];
