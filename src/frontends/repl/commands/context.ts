import { textWidth } from "@/lib/terminal-text.ts";
import { shortCount } from "@/lib/text.ts";
import type { ContextShare } from "@/memory/view/page.ts";
import type { ReplCommand } from "./command.ts";

const BAR_CELLS = 30;
const NAMES: Record<ContextShare["kind"], string> = {
  system: "system prompt",
  core: "memory",
  external: "memory index",
  summary: "summary",
  tools: "tools",
  messages: "messages",
};

export const context: ReplCommand = {
  name: "context",
  summary: "What fills the model's window",
  whileBusy: true,
  async run(_args, session) {
    const { app, ui } = session;
    const { measureContext } = await import("@/agent/context-shares.ts");
    const shares = (await measureContext(app, session.ref, session.model || null)).filter(({ tokens }) => tokens > 0);
    const estimate = shares.reduce((sum, { tokens }) => sum + tokens, 0);
    // What the provider counted in the last turn, when there was one.
    const total = session.stats.contextTokens ?? estimate;
    const window = session.contextWindow ?? (await windowOf(session));
    const share = window ? ` of ${shortCount(window)} (${Math.round((total / window) * 100)}%)` : "";
    const measured = session.stats.contextTokens === null ? "about " : "";
    session.print(
      [
        ui.theme.bold(`${measured}${shortCount(total)} tokens${share}`),
        ...shares.map(({ kind, tokens: count }) => {
          const name = NAMES[kind];
          const cells = Math.round((count / Math.max(1, estimate)) * BAR_CELLS);
          return `  ${name.padEnd(14)} ${`~${shortCount(count)}`.padStart(7)} ${ui.theme.cyan("█".repeat(cells))}`;
        }),
      ].map((line) => (textWidth(line) < ui.columns() ? line : line.replace(/ \S*█+\S*$/, ""))),
    );
  },
};

async function windowOf({ app, model }: Parameters<ReplCommand["run"]>[1]): Promise<number | null> {
  if (model === "") return null;
  return (await app.models.resolveModel(model)).max_context_window;
}
