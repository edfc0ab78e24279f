// The composition root: builds what a command needs, once, and passes it down. Nothing below reads globals.

import type { Backend } from "@/backend/backend.ts";
import type { ModelAdapter } from "@/backend/model.ts";
import type { Engine } from "@/engine/engine.ts";
import type { PermissionChecker, PermissionMode } from "@/permissions/types.ts";
import type { ClientState } from "@/store/client-state.ts";
import type { Env } from "@/store/env.ts";
import type { Paths } from "@/store/paths.ts";
import type { Secrets } from "@/store/secrets.ts";
import type { SettingsStore } from "@/store/settings.ts";
import type { Trust } from "@/store/trust.ts";
import type { ToolRegistry } from "@/tools/registry.ts";
import type { ToolServices } from "@/tools/services.ts";

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
  backend?: "api" | "local";
  /** A flag's mode beats settings. */
  permissionMode?: PermissionMode;
  allowedTools?: string[];
  disallowedTools?: string[];
  /** A person can answer approvals. */
  interactive: boolean;
  /** `--tools`. */
  tools?: string[];
  /** `--no-system-info-reminder` is false. */
  systemInfoReminder?: boolean;
  /** `--record FILE`, `--replay FILE`. */
  record?: string;
  replay?: string;
  /** State in a temporary database that is gone afterwards. */
  ephemeral?: boolean;
  /** Replaces the provider adapter (demo, tests). */
  models?: ModelAdapter;
}

/** Everything a front end needs. */
export interface App extends Core {
  backend: Backend;
  models: ModelAdapter;
  clientState: ClientState;
  permissions: PermissionChecker;
  trust: Trust;
  tools: ToolRegistry;
  services: ToolServices;
  engine: Engine;
  /** Names the place agents live: `local:<directory>` or `host[:port]`; key of "last conversation" settings. */
  serverKey: string;
  /** Stops background tasks, closes the database. */
  close(): Promise<void>;
}
