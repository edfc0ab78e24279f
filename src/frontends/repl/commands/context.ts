import { estimateTokens } from "@/backend/model.ts";
import { textWidth } from "@/lib/terminal-text.ts";
import { shortCount } from "@/lib/text.ts";
import type { ReplCommand } from "./command.ts";

const BAR_CELLS = 30;

export const context: ReplCommand = {
  name: "context",
  summary: "What fills the model's window",
  whileBusy: true,
  async run(_args, session) {
    const { app, ui } = session;
    const system = estimateTokens(await app.backend.recompileConversation(session.ref, { dryRun: true }));
    const definitions = app
      .selectTools({ ...session.ref, model: session.model, interactive: true })
      .tools.map(({ name, description, parameters }) => ({
        name,
        description,
        parameters,
      }));
    const tools = estimateTokens(JSON.stringify(definitions));
    const messages = await messageTokens(session);
    const estimate = system + tools + messages;
    // What the provider counted in the last turn, when there was one.
    const total = session.stats.contextTokens ?? estimate;
    const window = session.contextWindow ?? (await windowOf(session));
    const share = window ? ` of ${shortCount(window)} (${Math.round((total / window) * 100)}%)` : "";
    const measured = session.stats.contextTokens === null ? "about " : "";
    session.print(
      [
        ui.theme.bold(`${measured}${shortCount(total)} tokens${share}`),
        ...[["system prompt", system] as const, ["tools", tools] as const, ["messages", messages] as const].map(
          ([name, count]) => {
            const cells = Math.round((count / Math.max(1, estimate)) * BAR_CELLS);
            return `  ${name.padEnd(14)} ${`~${shortCount(count)}`.padStart(7)} ${ui.theme.cyan("█".repeat(cells))}`;
          },
        ),
      ].map((line) => (textWidth(line) < ui.columns() ? line : line.replace(/ \S*█+\S*$/, ""))),
    );
  },
};

async function messageTokens({ app, ref }: Parameters<ReplCommand["run"]>[1]): Promise<number> {
  let tokens = 0;
  let after: string | undefined;
  do {
    const page = await app.backend.listMessages(ref, {
      inContextOnly: true,
      order: "asc",
      limit: 200,
      ...(after && { after }),
    });
    for (const message of page.items) tokens += estimateTokens(JSON.stringify(message));
    after = page.nextCursor ?? undefined;
  } while (after);
  return tokens;
}

async function windowOf({ app, model }: Parameters<ReplCommand["run"]>[1]): Promise<number | null> {
  if (model === "") return null;
  return (await app.models.resolveModel(model)).max_context_window;
}
