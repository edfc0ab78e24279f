import { LettaError } from "@/lib/errors.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { toPlainLine, truncate } from "@/lib/terminal-text.ts";
import type { ReplCommand } from "./command.ts";

export const search: ReplCommand = {
  name: "search",
  args: "TEXT",
  summary: "Find messages of all agents and go there",
  async run(args, session) {
    if (!args) throw new LettaError("usage", "Usage: /search TEXT");
    const { app, ui } = session;
    const hits = await app.backend.searchMessages({ query: args, limit: 20 });
    if (hits.length === 0) return session.say("Nothing found.");
    if (!ui.interactive) return session.print(hits.map((hit) => line(hit, session.now())));
    const answer = await ui.choose({
      title: [ui.theme.bold(`${hits.length} found`)],
      filter: true,
      items: hits.map((hit) => ({ value: hit, label: truncate(line(hit, session.now()), 200) })),
    });
    const hit = answer?.values[0];
    if (!hit) return;
    session.print([`${ui.theme.dim(`${hit.role}, ${formatAge(hit.created_at, session.now())}`)}`]);
    session.say(hit.content);
    if (hit.conversation_id === session.conversation.id && hit.agent_id === session.agent.id) return;
    const go = await ui.choose({
      title: [],
      items: [
        { value: true, label: "Go on in that conversation", keys: ["y"] },
        { value: false, label: "Stay here", keys: ["n"] },
      ],
      initial: 1,
    });
    if (!go?.values[0]) return;
    await session.switchTo({ agentId: hit.agent_id, conversationId: hit.conversation_id });
    session.say(`Now in ${session.conversation.summary ?? session.conversation.id}.`);
  },
};

function line(hit: { role: string; snippet: string; created_at: string }, now: number): string {
  return `${formatAge(hit.created_at, now).padEnd(10)} ${hit.role}: ${toPlainLine(hit.snippet)}`;
}
