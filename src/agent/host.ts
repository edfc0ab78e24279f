// What this folder is handed by the application around it; `App` has all of it.

import type { Backend } from "@/backend/backend.ts";
import type { ModelAdapter } from "@/backend/model.ts";
import type { Env } from "@/store/env.ts";
import type { Paths } from "@/store/paths.ts";
import type { SettingsStore } from "@/store/settings.ts";

export interface AgentHost {
  backend: Backend;
  models: ModelAdapter;
  settings: SettingsStore;
  env: Env;
  paths: Pick<Paths, "local">;
  /** Absolute. */
  cwd: string;
  /** Names the place agents live; key of pins and "last conversation" settings. */
  serverKey: string;
}
