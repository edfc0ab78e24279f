import { noteRecentModel } from "@/agent/recent-models.ts";
import { shortCount } from "@/lib/text.ts";
import type { ReplCommand } from "./command.ts";

export const model: ReplCommand = {
  name: "model",
  args: "[provider/model]",
  summary: "Choose the model",
  whileBusy: true,
  async run(args, session) {
    const handle = args || (await pick(session));
    if (!handle) return;
    const record = await session.app.models.resolveModel(handle);
    const scope = args ? "agent" : await askScope(session);
    if (!scope) return;
    const { backend, settings } = session.app;
    if (scope === "agent") session.agent = await backend.updateAgent(session.agent.id, { model: record.handle });
    // A conversation with a model of its own would go on using that one.
    if (scope === "conversation" || session.conversation.model) {
      const own = scope === "conversation" ? record.handle : null;
      session.conversation = await backend.updateConversation(session.ref, { model: own });
    }
    session.modelOverride = undefined;
    session.model = record.handle;
    session.contextWindow = record.max_context_window;
    await settings.updateUser((user) => noteRecentModel(user, record.handle));
    session.say(`Model: ${record.handle}${session.turnRunning ? " (from the next turn on)" : ""}`);
  },
};

async function pick(session: Parameters<ReplCommand["run"]>[1]): Promise<string | undefined> {
  const { app, ui } = session;
  const records = await app.models.listModels();
  if (records.length === 0) {
    session.say("Nothing is connected that could serve a model. /connect adds a provider.");
    return undefined;
  }
  const recent = app.settings.user.recentModels ?? [];
  const rank = (handle: string): number => {
    const at = recent.indexOf(handle);
    return at === -1 ? recent.length : at;
  };
  const sorted = records.toSorted((a, b) => rank(a.handle) - rank(b.handle) || a.handle.localeCompare(b.handle));
  const answer = await ui.choose({
    title: [ui.theme.bold("Model")],
    filter: true,
    initial: Math.max(
      0,
      sorted.findIndex(({ handle }) => handle === session.model),
    ),
    items: sorted.map((record) => ({
      value: record.handle,
      label: record.handle,
      hint: [
        record.max_context_window ? `${shortCount(record.max_context_window)} context` : "",
        record.handle === session.model ? "current" : "",
      ]
        .filter(Boolean)
        .join(" · "),
    })),
  });
  return answer?.values[0];
}

async function askScope({ ui }: Parameters<ReplCommand["run"]>[1]): Promise<"agent" | "conversation" | undefined> {
  const answer = await ui.choose({
    title: [ui.theme.bold("Use it for")],
    items: [
      { value: "agent" as const, label: "this agent", hint: "all its conversations" },
      { value: "conversation" as const, label: "this conversation only" },
    ],
  });
  return answer?.values[0];
}
