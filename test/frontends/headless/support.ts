// A small real app around a scripted engine: real store, backend, settings, tools; permissions that allow.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Selection } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import { LineStream } from "@/frontends/headless/line-stream.ts";
import type { HeadlessOptions } from "@/frontends/headless/options.ts";
import { createOutput } from "@/frontends/headless/output.ts";
import { type HeadlessRun, runHeadless } from "@/frontends/headless/run.ts";
import type { Writer } from "@/frontends/headless/writer.ts";
import { createHooks } from "@/hooks/service.ts";
import { createSessionHooks } from "@/hooks/session-hooks.ts";
import { LettaError } from "@/lib/errors.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { createReflection } from "@/memory/reflection/service.ts";
import { createMemorySync } from "@/memory/sync-service.ts";
import type { ExplainingChecker, PermissionMode } from "@/permissions/types.ts";
import { createScriptedAdapter } from "@/providers/scripted.ts";
import { openAgentSecrets } from "@/store/agent-secrets.ts";
import { createClientState } from "@/store/client-state.ts";
import { openDatabase } from "@/store/db.ts";
import { readEnv } from "@/store/env.ts";
import { createLeases } from "@/store/leases.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";
import { createShadowStore } from "@/store/shadow.ts";
import { openTrust } from "@/store/trust.ts";
import { builtinTools } from "@/tools/builtin.ts";
import { createToolRegistry } from "@/tools/registry.ts";
import { createToolServices } from "@/tools/services.ts";
import { createScriptedEngine, type Script, type ScriptedEngine } from "../../support/scripted-engine.ts";

export interface TestApp extends App, AsyncDisposable {
  engine: ScriptedEngine;
}

export async function openTestApp(
  scripts: Script[] = [],
  vars: Record<string, string> = {},
  offered?: string[],
): Promise<TestApp> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "letta-headless-")));
  const cwd = join(home, "project");
  mkdirSync(cwd);
  const env = readEnv({ HOME: home, LETTA_SKIP_KEYCHAIN_CHECK: "1", ...vars });
  const paths = resolvePaths(env);
  mkdirSync(paths.local, { recursive: true });
  const settings = await openSettings({ paths, cwd });
  const trust = await openTrust({ paths, settings });
  const db = openDatabase(paths.database);
  const models = createScriptedAdapter([]);
  const backend = createLocalBackend({ db, models });
  const services = createToolServices({ env, paths, shadow: null });
  const hooks = createHooks({ settings, trust, services, models });
  const tools = createToolRegistry(builtinTools());
  const close = async () => {
    await services.background.stopAll();
    await backend.close();
    db.close();
  };
  const agentSecrets = openAgentSecrets({ env, paths });
  const clientState = createClientState(db);
  return {
    env,
    paths,
    cwd,
    settings,
    secrets: {
      location: "nowhere",
      listProviders: async () => [],
      saveProvider: async () => {},
      findKey: async () => null,
      removeProvider: async () => false,
    },
    backend,
    models,
    clientState,
    permissions: allowAll(),
    trust,
    tools,
    selectTools: ({ interactive }) =>
      tools.select({ toolset: "default", interactive, ...(offered && { only: offered }) }),
    services,
    hooks,
    agentSecrets,
    memories: null,
    memorySync: createMemorySync({ memoryOf: async () => null, env, agentSecrets, clientState }),
    reflection: createReflection({
      ...{ db, backend, settings, env, paths },
      leases: createLeases(db),
      memoryOf: () => null,
      openRedaction: async () => (text) => text,
      whenDue: "never",
      label: "test",
      watchdog: createWatchdog,
    }),
    sessionHooks: createSessionHooks(hooks, () => cwd),
    shadow: createShadowStore(db, paths),
    engine: createScriptedEngine(scripts),
    serverKey: `local:${paths.local}`,
    close,
    [Symbol.asyncDispose]: async () => {
      await close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export const SELECTION: Selection = {
  mode: "headless",
  continueLast: false,
  newConversation: false,
  newAgent: false,
  chooseConversation: false,
  ephemeral: false,
  save: false,
};

export function options(overrides: Partial<HeadlessOptions> = {}): HeadlessOptions {
  return {
    selection: SELECTION,
    outputFormat: "stream-json",
    bidirectional: false,
    partialMessages: false,
    prompt: "",
    files: [],
    stdin: "never",
    dryRun: false,
    systemInfoReminder: true,
    limits: {},
    ...overrides,
  };
}

function allowAll(): ExplainingChecker {
  let mode: PermissionMode = "standard";
  return {
    get mode() {
      return mode;
    },
    modeSource: "default",
    setMode: (next) => {
      mode = next;
    },
    check: async (_, targets) => {
      const realPaths = new Map(
        targets.flatMap((target) => (target.kind === "file" ? [[target.path, target.path]] : [])),
      );
      const reason = { by: "test", detail: "everything is allowed here" };
      return { behavior: "allow", reason, trace: [reason], realPaths };
    },
    addRule: async () => {},
    hidesPath: () => false,
    deniedReads: () => ({ paths: [], denies: null }),
    listRules: () => [{ effect: "allow", rule: "Bash(git status)", source: "user" }],
    explain: () => Promise.reject(new Error("nothing is explained here")),
  };
}

export type Line = Record<string, unknown> & { type: string };

/** One headless run, seen from its client: what it printed, and a way to type, stop and leave. */
export class Client {
  readonly lines: Line[] = [];
  readonly notes: string[] = [];
  stdout = "";
  readonly #stop = new AbortController();
  readonly #closed = new AbortController();
  readonly #stdin = new TransformStream<Uint8Array, Uint8Array>();
  readonly #input = this.#stdin.writable.getWriter();
  #wake = Promise.withResolvers<void>();
  readonly exited: Promise<number>;

  constructor(app: App, overrides: Partial<HeadlessOptions> & { content?: HeadlessRun["content"] } = {}) {
    const { content = "hello", ...rest } = overrides;
    const run = options(rest);
    const writer: Writer = {
      write: async (text) => this.#receive(text, run.outputFormat === "stream-json"),
      drain: async () => {},
      closed: this.#closed.signal,
      failure: null,
    };
    const lines = new LineStream(writer, () => new Date("2030-01-02T03:04:05.678Z"));
    const note = (text: string) => void this.notes.push(text);
    const requested = this.#stop.signal;
    this.exited = runHeadless(
      app,
      { ...run, content },
      {
        writer,
        lines,
        note,
        output: createOutput(run, { writer, lines, note }),
        stop: {
          requested,
          exitCode: 143,
          race: (promise) => promise,
          [Symbol.dispose]: () => {},
        },
        session: null,
        stdin: () => this.#stdin.readable,
      },
    );
  }

  /** Types one line. */
  async send(line: unknown): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${typeof line === "string" ? line : JSON.stringify(line)}\n`));
  }

  async user(content: unknown): Promise<void> {
    await this.send({ type: "user", message: { role: "user", content } });
  }

  /** Sends a control request and returns the body of its answer. */
  async control(request: Record<string, unknown>): Promise<Record<string, unknown>> {
    const request_id = crypto.randomUUID();
    await this.send({ type: "control_request", request_id, request });
    const line = await this.waitFor(
      ({ type, response }) => type === "control_response" && (response as Line).request_id === request_id,
    );
    return line.response as Record<string, unknown>;
  }

  async reply(request_id: string, response: Record<string, unknown>): Promise<void> {
    await this.send({ type: "control_response", response: { subtype: "success", request_id, response } });
  }

  /** The first line that matches, now or later. */
  async waitFor(matches: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const found = this.lines.find(matches);
      if (found) return found;
      await this.#wake.promise;
    }
  }

  end(): Promise<void> {
    return this.#input.close();
  }

  /** As SIGTERM does. */
  stop(): void {
    this.#stop.abort(new LettaError("cancelled", "Interrupted by SIGTERM"));
  }

  /** As a reader that goes away. */
  leave(): void {
    this.#closed.abort();
  }

  #receive(text: string, isLines: boolean): void {
    this.stdout += text;
    if (isLines) for (const line of text.trimEnd().split("\n")) this.lines.push(JSON.parse(line));
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }
}
