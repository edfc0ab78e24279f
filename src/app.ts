// The composition root: builds what a command needs, once, and passes it down. Nothing below reads globals.

import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BackendKind } from "@/agent/choose-backend.ts";
import { findSavedToolset } from "@/agent/toolset.ts";
import type { Backend } from "@/backend/backend.ts";
import { lazyAdapter } from "@/backend/lazy-adapter.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { ModelAdapter } from "@/backend/model.ts";
import { createEngine, type Engine } from "@/engine/engine.ts";
import { hookScripts } from "@/hooks/scripts.ts";
import { createHooks, type Hooks } from "@/hooks/service.ts";
import { createSessionHooks, type SessionHooks } from "@/hooks/session-hooks.ts";
import { createRedactor } from "@/lib/redactor.ts";
import { createWatchdog, type Watchdog } from "@/lib/watchdog.ts";
import { createBackendMemory } from "@/memory/backend-memory.ts";
import { createMemories, type Memories } from "@/memory/memories.ts";
import { memoryPaths } from "@/memory/places.ts";
import { createReflection, type Reflection, type ReflectionOptions } from "@/memory/reflection/service.ts";
import type { Trigger } from "@/memory/reflection/settings.ts";
import { treeLimits } from "@/memory/render.ts";
import { createMemorySync, type MemorySync, type StartMode } from "@/memory/sync-service.ts";
import { createPermissionChecker } from "@/permissions/checker.ts";
import type { ExplainingChecker, PermissionChecker, PermissionMode } from "@/permissions/types.ts";
import { collectReminders, rearm } from "@/reminders/registry.ts";
import { openSandbox } from "@/sandbox/open.ts";
import type { SandboxMode } from "@/sandbox/settings.ts";
import type { Sandbox } from "@/sandbox/types.ts";
import { type AgentSecrets, openAgentSecrets } from "@/store/agent-secrets.ts";
import { type ClientState, createClientState } from "@/store/client-state.ts";
import { openDatabase } from "@/store/db.ts";
import type { Env } from "@/store/env.ts";
import { createJournal } from "@/store/journal.ts";
import { createLeases } from "@/store/leases.ts";
import { type Paths, resolvePaths } from "@/store/paths.ts";
import { openSecrets, type Secrets } from "@/store/secrets.ts";
import { openSettings, type SettingsStore } from "@/store/settings.ts";
import { createShadowStore, type ShadowStore } from "@/store/shadow.ts";
import { openTrust, type Trust } from "@/store/trust.ts";
import { builtinTools } from "@/tools/builtin.ts";
import { createToolRegistry, type ToolRegistry, type ToolSelection } from "@/tools/registry.ts";
import { createSecretGuard, type SecretGuard } from "@/tools/secret-guard.ts";
import { createToolServices, type PlanMode, type ToolServices } from "@/tools/services.ts";
import { resolveToolset, type ToolsetChoice, type ToolsWish } from "@/tools/toolsets.ts";
import { VERSION } from "./version.ts";

/** What every command may need; cheap. */
export interface Core {
  env: Env;
  paths: Paths;
  /** Absolute. */
  cwd: string;
  settings: SettingsStore;
  secrets: Secrets;
}

export interface AppOptions {
  cwd: string;
  env: Env;
  /** Shown to a second process that finds a conversation busy. */
  label: "interactive" | "headless" | "command";
  /** `--backend`. */
  backend?: BackendKind;
  /** A flag's mode beats settings. */
  permissionMode?: PermissionMode;
  allowedTools?: string[];
  disallowedTools?: string[];
  /** `--sandbox`. */
  sandbox?: SandboxMode;
  /** A person can answer approvals. */
  interactive: boolean;
  /** `--tools`. */
  tools?: string[];
  /** `--toolset`: beats what is saved, for this process. */
  toolset?: ToolsetChoice;
  /** `--no-system-info-reminder` is false. */
  systemInfoReminder?: boolean;
  /** `--record FILE`, `--replay FILE`. */
  record?: string;
  replay?: string;
  /** A child agent that works on a memory: its shell is confined to `dir`, which is its working directory, and it may read
   *  `readable` although they are the harness's own. */
  memoryScope?: { dir: string; readable: string[] };
  /** `--reflection-trigger`, `--reflection-step-count`. */
  reflection?: { trigger?: Trigger; stepCount?: number };
  /** What is done when the agent's memory is due for a reflection. Default: nothing. */
  whenReflectionDue?: ReflectionOptions["whenDue"];
  /** `--memfs-startup`: what the first turn does about a memory that is kept elsewhere, too. Default: waits for it. */
  memoryStart?: StartMode;
  /** `--stateless`: the agent's memory is neither in its prompt nor in its reach, and is not synced. */
  stateless?: boolean;
  /** State in a temporary database that is gone afterwards. */
  ephemeral?: boolean;
  /** Replaces the provider adapter (demo, tests). */
  models?: ModelAdapter;
}

/** Everything a front end needs. */
export interface App extends Core {
  backend: Backend;
  /** Loads the providers when first asked. */
  models: ModelAdapter;
  clientState: ClientState;
  permissions: ExplainingChecker;
  trust: Trust;
  tools: ToolRegistry;
  /** The tools a request would carry, and names of `--tools` that do not exist. */
  selectTools(request: ToolRequest): ReturnType<ToolRegistry["select"]>;
  services: ToolServices;
  /** File changes of past turns. */
  shadow: ShadowStore;
  /** By agent; commands get those they name. */
  agentSecrets: AgentSecrets;
  /** Null: agents have none in this process. */
  memories: Memories | null;
  /** Keeps memories and their remotes together. */
  memorySync: MemorySync;
  /** Rewrites memories in the background. */
  reflection: Reflection;
  hooks: Hooks;
  /** A front end says when a session begins; `close` ends it. */
  sessionHooks: SessionHooks;
  engine: Engine;
  /** Names the place agents live: `local:<directory>` or `host[:port]`; key of "last conversation" settings. */
  serverKey: string;
  /** Stops background tasks, closes the database. */
  close(): Promise<void>;
}

/** What decides about the tools of a request. Ids are null for what does not exist yet. */
export interface ToolRequest {
  agentId: string | null;
  conversationId: string | null;
  /** Handle; null while none is connected. */
  model: string | null;
  /** A person can answer. */
  interactive: boolean;
  /** What this request wants beside. */
  tools?: ToolsWish | undefined;
}

/** Opens what cheap commands need. Settings that do not parse are in `settings.problems`, never an exception. */
export async function openCore({ cwd, env }: { cwd: string; env: Env }): Promise<Core> {
  const paths = resolvePaths(env);
  return { env, paths, cwd, settings: await openSettings({ paths, cwd }), secrets: openSecrets({ env, paths }) };
}

/** Opens everything. Throws `storage` when the database cannot be used. */
export async function openApp(options: AppOptions): Promise<App> {
  const core = await openCore(options);
  const { env, paths, settings } = core;
  const trust = await openTrust({ paths, settings });
  const db = openDatabase(options.ephemeral ? ":memory:" : paths.database);
  const shadow = createShadowStore(db, paths);
  const guardedFiles = (startedIn: string) =>
    hookScripts(hooks.list(), { cwd: startedIn, projectRoot: settings.projectRoot, home: paths.home });
  const sandbox = await openSandbox({
    ...core,
    ...(options.sandbox && { flag: options.sandbox }),
    unattended: isUnattended(options),
    taskDirectory: () => services.background.directory,
    guardedFiles: () => guardedFiles(options.cwd),
    deniedReads: () => permissions.deniedReads(),
    ...(options.memoryScope && { memoryScope: options.memoryScope }),
  });
  const withoutMemory = options.ephemeral === true || options.stateless === true;
  const agentSecrets = openAgentSecrets({ env, paths });
  const guard = createSecretGuard({ ...core, agentSecrets });
  const services = createToolServices({
    env,
    paths,
    shadow,
    sandbox,
    isHidden: (path) => permissions.hidesPath(path),
    planMode: createPlanMode(() => permissions),
    secrets: guard,
    describeAgent: async (id) => {
      const agent = await backend.retrieveAgent(id);
      return { name: agent.name, memoryDir: memories?.find(agent)?.places.memory ?? null };
    },
  });
  const permissions = createPermissionChecker({
    settings,
    trust,
    paths,
    cwd: options.cwd,
    ...(options.permissionMode && { mode: options.permissionMode }),
    allowedTools: options.allowedTools ?? [],
    disallowedTools: options.disallowedTools ?? [],
    interactive: options.interactive,
    readableDirectories: () => [
      paths.projects,
      ...(services.background.directory ? [services.background.directory] : []),
      ...(options.memoryScope?.readable ?? []),
    ],
    memoryOf: (agentId) => {
      if (options.memoryScope) return [options.memoryScope.dir];
      if (withoutMemory) return [];
      const { memory, worktrees } = memoryPaths(paths, agentId);
      return [memory, worktrees];
    },
    confinement: { shell: sandbox.autoAllow, edits: sandbox.contained },
    guardedFiles,
    currentDirectory: () => app.cwd,
    ...(env.permissionTrace && { trace: console.error, traceAllowed: env.permissionTraceAll }),
  });
  const models = options.models ?? lazyAdapter(() => openModels(core, options));
  const warnings = sandboxWarnings(sandbox);
  const memories = withoutMemory ? null : openMemories(core, guard);
  const backend = createLocalBackend({
    db,
    models,
    ...(memories && {
      memory: createBackendMemory({
        memories,
        limits: treeLimits(env.memoryTree),
        onWarning: (text) => warnings.push(text),
      }),
    }),
    onWarning: (text) => warnings.push(text),
  });
  const tools = createToolRegistry(
    builtinTools(memories ? { findMemory: async (id) => memories.find(await backend.retrieveAgent(id)) } : {}),
  );
  const clientState = createClientState(db);
  const hooks = createHooks({ settings, trust, services, models });
  const sessionHooks = createSessionHooks(hooks, () => result.cwd);
  const toSelection = ({
    agentId,
    conversationId,
    model,
    interactive,
    tools: wish = {},
  }: ToolRequest): ToolSelection => ({
    toolset: resolveToolset(model, [
      wish.toolset,
      options.toolset,
      findSavedToolset(settings.user, app.serverKey, { agentId, conversationId }),
    ]),
    ...(options.tools && { only: options.tools }),
    ...(wish.include && { include: wish.include }),
    ...(wish.only && { allowlist: wish.only }),
    interactive: interactive && !wish.withoutQuestions,
    resident: interactive,
  });
  const leases = createLeases(db);
  const memorySync = createMemorySync({
    memoryOf: async (agentId) => memories?.find(await backend.retrieveAgent(agentId)) ?? null,
    env,
    agentSecrets,
    clientState,
    ...(options.memoryStart && { start: options.memoryStart }),
  });
  let watchdog: Watchdog | undefined;
  const reflection = createReflection({
    db,
    backend,
    leases,
    settings,
    env,
    paths,
    memoryOf: (agent) => memories?.find(agent) ?? null,
    openRedaction: async () => {
      const known = await guard.refresh();
      const shapes = createRedactor([], { patterns: true });
      return (text) => shapes.redact(known.redact(text));
    },
    ...(options.reflection && { flags: options.reflection }),
    // A child agent's memory is its parent's business.
    whenDue: options.ephemeral || env.parentAgentId !== undefined ? "never" : (options.whenReflectionDue ?? "never"),
    onChange: (agentId) => memorySync.afterDream(agentId),
    label: options.label,
    watchdog: () => {
      watchdog ??= createWatchdog({ path: env.all.PATH });
      return watchdog;
    },
  });
  const app: Omit<App, "engine"> = {
    ...core,
    backend,
    models,
    clientState,
    permissions,
    trust,
    tools,
    selectTools: (request) => tools.select(toSelection(request)),
    services,
    shadow,
    hooks,
    sessionHooks,
    agentSecrets,
    memories,
    serverKey: `local:${paths.local}`,
    memorySync,
    reflection,
    async close() {
      await sessionHooks.end();
      await reflection.close();
      await memorySync.close();
      await services.background.stopAll();
      sandbox.close();
      await backend.close();
      watchdog?.close();
      db.close();
    },
  };
  const engine = createEngine({
    backend,
    selectTools: ({ approver, ...request }) =>
      app.selectTools({ ...request, interactive: approver === "front_end" }).tools,
    understandTool: (name, { approver, ...request }) =>
      tools.understand(name, toSelection({ ...request, interactive: approver === "front_end" })),
    permissions,
    services,
    leases,
    journal: createJournal(db),
    clientState,
    collectReminders: ({ key, agent, conversationId }) =>
      collectReminders({
        key,
        agent,
        memoryDir: memories?.find(agent)?.places.memory ?? null,
        conversationId,
        // `/cd` changes the field of the app that front ends hold.
        cwd: result.cwd,
        env,
        paths,
        settings,
        permissions,
        clientState,
        secretNames: () => agentSecrets.usable(agent.id),
        takeMemoryNotes: (id) => memorySync.takeNotes(id),
        version: VERSION,
        systemInfo: options.systemInfoReminder ?? true,
        now: new Date(),
      }),
    hooks,
    sessionHooks,
    openRedaction: async () => {
      const redactor = await guard.refresh();
      return (text) => redactor.redact(text);
    },
    rearmReminders: (key) => rearm(clientState, key),
    beforeTurn: ({ agentId }, signal) => memorySync.beforeTurn(agentId, signal),
    afterTurn(turn) {
      memorySync.afterTurn(turn.agentId);
      reflection.afterTurn(turn);
    },
    takeWarnings: () => warnings.splice(0),
    cwd: () => result.cwd,
    label: options.label,
    now: Date.now,
    logBug: (tool, error) => logBug(paths, tool, error, guard),
  });
  const result: App = Object.assign(app, { engine });
  return result;
}

/** Somebody configured a sandbox and gets none: said once, with what happens instead. */
function sandboxWarnings({ status, active }: Sandbox): string[] {
  if (active || status.profile === "off" || status.source === "default") return [];
  return [`no sandbox works here (${status.reason ?? "unknown"}): commands run as permissions say`];
}

/** A prompt nobody watches, without a flag about what may run. */
function isUnattended({ label, interactive, permissionMode, allowedTools = [] }: AppOptions): boolean {
  return label === "headless" && !interactive && permissionMode === undefined && allowedTools.length === 0;
}

/** What the agent may not see it may not write down either. */
function openMemories({ paths }: Core, guard: SecretGuard): Memories {
  const shapes = createRedactor([], { patterns: true });
  return createMemories({
    paths,
    git: () => import("@/store/git/repository.ts"),
    redact: (text) => shapes.redact(guard.redactor.redact(text)),
  });
}

async function openModels(core: Core, options: AppOptions): Promise<ModelAdapter> {
  if (options.replay !== undefined) {
    const { replayingAdapter } = await import("@/providers/record.ts");
    return replayingAdapter(options.replay);
  }
  const { createModelAdapter } = await import("@/providers/adapter.ts");
  const adapter = createModelAdapter(core);
  if (options.record === undefined) return adapter;
  const { recordingAdapter } = await import("@/providers/record.ts");
  return recordingAdapter(adapter, options.record);
}

/** `permissions` is asked when needed: it does not exist yet. */
function createPlanMode(permissions: () => PermissionChecker): PlanMode {
  let before: PermissionMode = "standard";
  return {
    isOn: () => permissions().mode === "plan",
    enter: () => {
      before = permissions().mode;
      permissions().setMode("plan");
    },
    leave: () => {
      permissions().setMode(before);
      return permissions().mode;
    },
  };
}

/** A tool that throws something unforeseen has a bug: the model sees one line, the stack is kept for a report. */
function logBug(paths: Paths, tool: string, error: unknown, { redactor }: SecretGuard): void {
  try {
    mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
    const stack = error instanceof Error ? error.stack : String(error);
    const line = redactor.redact(`${new Date().toISOString()} ${tool}: ${stack}\n`);
    appendFileSync(join(paths.logs, "errors.log"), line, { mode: 0o600 });
  } catch {
    // A log that cannot be written must not end the turn it tells about.
  }
}
