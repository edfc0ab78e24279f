// What is shown and asked before the first prompt: header, warnings, history, workspace trust, and how to get a model
// when none is connected.

import { continueCommand } from "@/agent/continue-command.ts";
import type { Session } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import { escapeDeceptive, toPlainLine, truncate } from "@/lib/terminal-text.ts";
import { VERSION } from "@/version.ts";
import { backfillLines } from "./backfill.ts";
import type { ReplSession } from "./session.ts";
import type { Theme } from "./theme.ts";
import type { Ui } from "./ui.ts";

export function headerLines(app: Pick<App, "cwd" | "paths" | "backend">, opened: Session, ui: Ui): string[] {
  const { theme } = ui;
  const where = app.backend.kind === "local" ? "agents on this machine" : "agents on a server";
  const model = opened.model === "" ? theme.yellow("no model yet") : toPlainLine(opened.model);
  const title = toPlainLine(opened.conversation.summary ?? "");
  const cwd = app.cwd.startsWith(`${app.paths.home}/`) ? `~${app.cwd.slice(app.paths.home.length)}` : app.cwd;
  return [
    `${theme.bold("letta")} ${theme.dim(VERSION)} · ${model} · ${theme.dim(where)}`,
    `${theme.dim(toPlainLine(cwd))} · ${theme.bold(toPlainLine(opened.agent.name))}${title ? theme.dim(` · ${title}`) : ""}`,
  ].map((line) => truncate(line, ui.columns() - 1));
}

/** The end of the conversation, when it has one. */
export async function showBackfill(session: ReplSession): Promise<void> {
  const { app, ui } = session;
  if (!app.env.backfill) return;
  const title = (name: string, args: unknown): string => callTitle(app, name, args);
  const lines = await backfillLines(app.backend, session.ref, { theme: ui.theme, columns: ui.columns(), title });
  if (lines.length > 0) session.renderer.print(lines, "user");
}

/** Asked once per folder and content: until then nothing of what the folder brings takes effect. */
export async function askTrust(session: ReplSession): Promise<void> {
  const { app, ui } = session;
  const { trust } = app;
  if (trust.status !== "untrusted" && trust.status !== "changed") return;
  const { theme } = ui;
  const what = trust.status === "changed" ? "has changed what it wants to put into effect" : "brings settings with it";
  const items = trust.items.map(
    ({ file, description }) => `  ${toPlainLine(escapeDeceptive(description))} ${theme.dim(`(${toPlainLine(file)})`)}`,
  );
  session.renderer.print([theme.yellow(`? Trust this folder? It ${what}:`), ...items], "question");
  const answer = await ui.choose({
    title: [],
    items: [
      { value: false, label: "No, leave all that out", keys: ["n"] },
      { value: true, label: "Yes, I trust where this folder comes from", keys: ["y"] },
    ],
  });
  if (answer?.values[0]) {
    await trust.grant();
    session.renderer.print([theme.dim("  yes; it asks again when that changes")], "answer");
  } else session.renderer.print([theme.dim("  no; `letta trust` changes that")], "answer");
}

/** Nothing is connected: offers what runs on this machine, or says how to connect. */
export async function offerModel(session: ReplSession): Promise<void> {
  const { app, ui } = session;
  const { probeLocalServers } = await import("@/providers/local-servers.ts");
  const servers = await probeLocalServers(app.env);
  if (session.model !== "") return;
  const models = servers.flatMap(({ connection, models: found }) => found.map(({ id }) => `${connection.name}/${id}`));
  if (models.length === 0) {
    session.renderer.print(noModelLines(ui.theme), "user");
    return;
  }
  const names = servers.map(({ connection }) => connection.kind.label).join(", ");
  session.say(`No model is connected yet, but ${names} ${servers.length > 1 ? "run" : "runs"} on this machine.`);
  const answer = await ui.choose<string | null>({
    title: [ui.theme.bold("Model")],
    items: [
      ...models.slice(0, 8).map((handle) => ({ value: handle, label: handle })),
      { value: null, label: "Something else", hint: "/connect" },
    ],
  });
  const handle = answer?.values[0];
  if (!handle) {
    session.renderer.print(noModelLines(ui.theme), "user");
    return;
  }
  await session.useModel(handle);
  session.say(`Model: ${handle}`);
}

function noModelLines(theme: Theme): string[] {
  return [
    "No model is connected yet. Three ways to get one:",
    `  ${theme.cyan("/connect anthropic")}          with a key (openai, gemini, openrouter, …)`,
    `  ${theme.cyan("export ANTHROPIC_API_KEY=…")}  before starting letta`,
    `  ${theme.cyan("ollama serve")}                or LM Studio, llama.cpp: found when they run`,
  ];
}

/** Figures and how to come back. */
export function farewellLines(session: ReplSession): string[] {
  const { theme } = session.ui;
  const lines: string[] = [];
  if (session.stats.turns > 0) lines.push(...session.stats.lines(session.now()).map((line) => theme.dim(line)));
  if (session.ephemeral || session.stats.turns === 0) return lines;
  return [...lines, theme.dim("Come back with letta; from anywhere with"), `  ${continueCommand(session.ref)}`];
}

function callTitle(app: Pick<App, "tools" | "cwd">, name: string, args: unknown): string {
  const tool = app.tools.find(name);
  try {
    if (tool) return tool.title(tool.parse(args), app.cwd);
  } catch {
    /* arguments of an older version of the tool: shown as they are */
  }
  return JSON.stringify(args);
}
