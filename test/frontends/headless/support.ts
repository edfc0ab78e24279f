// A small real app around a scripted engine: real store, backend, settings, tools; permissions that allow.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Selection } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { HeadlessOptions } from "@/frontends/headless/options.ts";
import type { PermissionChecker, PermissionMode } from "@/permissions/types.ts";
import { createScriptedAdapter } from "@/providers/scripted.ts";
import { createClientState } from "@/store/client-state.ts";
import { openDatabase } from "@/store/db.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";
import { openTrust } from "@/store/trust.ts";
import { builtinTools } from "@/tools/builtin.ts";
import { createToolRegistry } from "@/tools/registry.ts";
import { createToolServices } from "@/tools/services.ts";
import { createScriptedEngine, type Script, type ScriptedEngine } from "../../support/scripted-engine.ts";

export interface TestApp extends App, AsyncDisposable {
  engine: ScriptedEngine;
}

export async function openTestApp(scripts: Script[] = [], vars: Record<string, string> = {}): Promise<TestApp> {
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
  const close = async () => {
    await services.background.stopAll();
    await backend.close();
    db.close();
  };
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
    clientState: createClientState(db),
    permissions: allowAll(),
    trust,
    tools: createToolRegistry(builtinTools()),
    services,
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

function allowAll(): PermissionChecker {
  let mode: PermissionMode = "standard";
  return {
    get mode() {
      return mode;
    },
    modeSource: "default",
    setMode: (next) => {
      mode = next;
    },
    check: async () => {
      const reason = { by: "test", detail: "everything is allowed here" };
      return { behavior: "allow", reason, trace: [reason] };
    },
    addRule: async () => {},
    listRules: () => [{ effect: "allow", rule: "Bash(git status)", source: "user" }],
  };
}
