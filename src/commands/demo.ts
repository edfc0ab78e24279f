// `letta demo`: the real harness (engine, tools, permissions, store, renderer) driven by a scripted stand-in model in a
// temporary folder. Needs no account, key or network, ends within seconds and leaves nothing behind.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isatty } from "node:tty";
import { defineCommand } from "citty";
import { defaultAgent } from "@/agent/default-agent.ts";
import type { App } from "@/app.ts";
import type { AgentState } from "@/backend/wire.ts";
import type { EngineEvent, Turn } from "@/engine/events.ts";
import { EXIT_CODES, EXIT_OK, EXIT_SIGINT, EXIT_SIGTERM } from "@/exit-codes.ts";
import { EventRenderer } from "@/frontends/repl/renderer.ts";
import { createScriptedAdapter, SCRIPTED_HANDLE } from "@/providers/scripted.ts";
import { type Env, readEnv } from "@/store/env.ts";
import { commandContext } from "./context.ts";
import { DEMO_FILES, DEMO_PROMPT, DEMO_STEPS } from "./demo-script.ts";
import { type DemoSurface, openDemoSurface } from "./demo-surface.ts";

export const command = defineCommand({
  args: { yes: { type: "boolean", alias: "y", description: "Answer the approval with yes" } },
  async run({ args, data }) {
    const { env, io } = commandContext(data);
    const attended = isatty(0) && isatty(1) && !args.yes;
    return runDemo({ env, surface: openDemoSurface({ env, io, attended }), wordDelayMs: io.isTty ? 35 : 0 });
  },
});

export interface DemoOptions {
  env: Env;
  surface: DemoSurface;
  /** Pace of the stand-in, so that a person can follow. */
  wordDelayMs: number;
}

async function runDemo({ env, surface, wordDelayMs }: DemoOptions): Promise<number> {
  const folder = realpathSync(mkdtempSync(join(env.tmpdir, "letta-demo-")));
  const stop = createStop();
  try {
    const project = join(folder, "project");
    mkdirSync(project);
    for (const [name, content] of Object.entries(DEMO_FILES)) writeFileSync(join(project, name), content);
    await using app = await openDemoApp(folder, project, env, wordDelayMs);
    const agent = await app.backend.createAgent(defaultAgent({ model: SCRIPTED_HANDLE }));
    const conversation = await app.backend.createConversation({ agent_id: agent.id });
    surface.print(opening(surface, project));
    const turn = app.engine.submit({
      agentId: agent.id,
      conversationId: conversation.id,
      content: DEMO_PROMPT,
      approver: "front_end",
    });
    stop.onStop(() => turn.abort());
    const status = await show(turn, surface, project, stop);
    if (stop.exitCode !== null) return stop.exitCode;
    surface.finish([...(await memoryLines(app, agent, surface)), ...closing(surface)]);
    return status === "completed" ? EXIT_OK : EXIT_CODES.internal;
  } finally {
    surface.close();
    stop[Symbol.dispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same composition as always; only home, model and permission mode are the demo's. */
async function openDemoApp(folder: string, cwd: string, env: Env, wordDelayMs: number) {
  const own = { HOME: folder, LETTA_HOME: join(folder, ".letta"), LETTA_SKIP_KEYCHAIN_CHECK: "1" };
  const kept = ["PATH", "TERM", "NO_COLOR", "LANG", "LC_ALL", "SHELL", "TMPDIR", "SystemRoot", "LETTA_DEBUG"];
  const vars = Object.fromEntries(kept.map((name) => [name, env.all[name]]));
  const { openApp } = await import("@/app.ts");
  const app = await openApp({
    cwd,
    env: readEnv({ ...vars, ...own }),
    label: "interactive",
    backend: "local",
    interactive: true,
    // Edits in the project go ahead and commands ask: one approval, for the thing that runs.
    permissionMode: "acceptEdits",
    models: createScriptedAdapter(DEMO_STEPS, { wordDelayMs }),
  });
  return Object.assign(app, { [Symbol.asyncDispose]: () => app.close() });
}

async function show(turn: Turn, surface: DemoSurface, cwd: string, stop: Stop): Promise<string> {
  const renderer = new EventRenderer({
    output: { commit: (lines) => surface.print(lines), append: (text) => surface.append(text) },
    theme: surface.theme,
    columns: () => surface.columns(),
    cwd: () => cwd,
    interactive: surface.blocks,
    now: Date.now,
  });
  surface.start({ live: (rows) => renderer.liveLines(rows), activity: () => renderer.activity, stop: stop.now });
  let ended: Extract<EngineEvent, { type: "turn_ended" }> | undefined;
  for await (const event of turn.events) {
    renderer.show(event);
    surface.refresh();
    if (surface.closed) stop.now(EXIT_OK);
    if (event.type === "approval_requested") {
      const decision = await surface.decide(event, { cwd, print: (lines) => renderer.print(lines) });
      turn.decide(event.approvalId, decision);
      if (decision.behavior === "deny" && decision.interrupt) stop.now(EXIT_SIGINT);
    }
    if (event.type === "turn_ended") ended = event;
  }
  return ended?.result.status ?? "failed";
}

interface Stop extends Disposable {
  /** Set once somebody wants to leave. */
  readonly exitCode: number | null;
  now(exitCode: number): void;
  onStop(listener: () => void): void;
}

/** Signals end the turn, and with it the demo, in order: the temporary folder must go. */
function createStop(): Stop {
  let exitCode: number | null = null;
  let listener = () => {};
  const now = (code: number): void => {
    exitCode ??= code;
    listener();
  };
  const signals = { SIGINT: EXIT_SIGINT, SIGTERM: EXIT_SIGTERM, SIGHUP: 129 };
  const handlers = Object.entries(signals).map(([signal, code]) => [signal, () => now(code)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return {
    get exitCode() {
      return exitCode;
    },
    now,
    onStop(added) {
      listener = added;
      if (exitCode !== null) added();
    },
    [Symbol.dispose]() {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}

/** What is in the agent's memory now, as `letta memory log` has it. */
async function memoryLines(app: App, agent: AgentState, { theme }: DemoSurface): Promise<string[]> {
  const memory = app.memories?.find(agent);
  if (!memory?.exists()) return [];
  const commits = await Array.fromAsync((await memory.ensure()).log());
  return [
    "",
    theme.bold("The agent's memory is a git repository; this is its history (letta memory log):"),
    ...commits.map(
      ({ oid, author, message }) => `  ${oid.slice(0, 7)}  ${author.name.padEnd(10)}  ${message.split("\n")[0]}`,
    ),
  ];
}

// Rows fit 80 columns.
function opening({ theme }: DemoSurface, project: string): string[] {
  return [
    theme.bold("letta demo"),
    theme.dim("  model   a scripted stand-in: words written in advance, no network"),
    theme.dim("  real    everything else: files, edits, commands, approval, memory"),
    theme.dim(`  folder  ${project}, removed at the end`),
    "",
    `${theme.cyan(">")} ${DEMO_PROMPT}`,
    "",
  ];
}

function closing({ theme }: DemoSurface): string[] {
  return [
    "",
    theme.bold("That was the stand-in. To connect a real model, one of:"),
    "  letta connect anthropic     asks for a key and checks it (openai, gemini, …)",
    "  letta connect ollama        a model on this machine (lmstudio, llama-cpp, …)",
    "  export ANTHROPIC_API_KEY=…  keys in the environment work as they are",
    "",
    "Then:",
    "  letta                       work in the current folder",
    '  letta -p "what is this?"    one prompt, for scripts and pipes',
  ];
}
