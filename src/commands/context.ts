// What cli.ts hands to a subcommand as citty's `data`, and how a command opens what it needs. Commands themselves are
// pure `run…` functions over an App or a Core; this file is the only place where they meet the process.

import type { BackendKind } from "@/agent/choose-backend.ts";
import type { App, Core } from "@/app.ts";
import { type Env, readEnv } from "@/store/env.ts";
import { type Io, processIo } from "./io.ts";

export interface CommandContext {
  /** Absolute. */
  cwd: string;
  env: Env;
  io: Io;
  /** `--backend`, taken out of argv by cli.ts. */
  backend?: BackendKind;
}

/** What commands about agents, conversations and messages use of an App. */
export type StoreApp = Core & Pick<App, "backend" | "models" | "serverKey" | "agentSecrets">;

/** The context cli.ts passed, completed from the process where it passed less. */
export function commandContext(data: unknown): CommandContext {
  const given = (typeof data === "object" && data !== null ? data : {}) as Partial<CommandContext>;
  const env = given.env ?? readEnv();
  return {
    cwd: given.cwd ?? process.cwd(),
    env,
    io: given.io ?? processIo(env),
    ...(given.backend ? { backend: given.backend } : {}),
  };
}

/** For commands that need tools or permissions. The app is closed whatever happens. */
export async function withApp(data: unknown, use: (app: App, io: Io) => Promise<number>): Promise<number> {
  const { io, ...context } = commandContext(data);
  const { openApp } = await import("@/app.ts");
  const app = await openApp({ ...context, label: "command", interactive: false });
  try {
    return await use(app, io);
  } finally {
    await app.close();
  }
}

/** For commands about what a backend keeps. Throws `usage` when the backend meant is one we cannot use. */
export async function withStore(data: unknown, use: (app: StoreApp, io: Io) => Promise<number>): Promise<number> {
  const { backend, env } = commandContext(data);
  const { requireLocalBackend } = await import("@/agent/choose-backend.ts");
  return withApp(data, async (app, io) => {
    requireLocalBackend({ flag: backend, agentId: env.agentId, env, settings: app.settings.user });
    return use(app, io);
  });
}

/** For commands that need only settings, paths and secrets. */
export async function withCore(data: unknown, use: (core: Core, io: Io) => Promise<number>): Promise<number> {
  const { io, cwd, env } = commandContext(data);
  const { openCore } = await import("@/app.ts");
  return use(await openCore({ cwd, env }), io);
}
