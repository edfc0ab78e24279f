// `letta` in a terminal: opens the app, lets the REPL resolve agent and conversation, and closes what was opened.

import { requireLocalBackend } from "@/agent/choose-backend.ts";
import type { Selection } from "@/agent/resolve.ts";
import type { AppOptions } from "@/app.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";

export async function startRepl(appOptions: AppOptions, selection: Selection): Promise<number> {
  const [{ openApp }, { runRepl }] = await Promise.all([import("@/app.ts"), import("@/frontends/repl/run.ts")]);
  const app = await openApp(appOptions);
  try {
    const { env, settings } = app;
    requireLocalBackend({ flag: appOptions.backend, agentId: selection.agent, env, settings: settings.user });
    return await runRepl(app, { selection });
  } finally {
    // The terminal is the shell's again.
    app.memorySync.onNews(({ text }) => console.error(escapeDeceptive(text)));
    await app.close();
  }
}
