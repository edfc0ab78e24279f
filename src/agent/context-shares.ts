// What a request of a conversation is made of, in estimated tokens.

import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import { estimateTokens } from "@/backend/model.ts";
import type { ContextShare } from "@/memory/view/page.ts";

/** `model`: handle; null while none is connected. */
export async function measureContext(
  { backend, selectTools }: Pick<App, "backend" | "selectTools">,
  ref: ConversationRef,
  model: string | null,
): Promise<ContextShare[]> {
  const prompt = await backend.recompileConversation(ref, { dryRun: true });
  const memory = /<self>\n[\s\S]*<\/memory>\n?/.exec(prompt)?.[0] ?? "";
  const external = /<external_projection>\n[\s\S]*<\/external_projection>\n?/.exec(memory)?.[0] ?? "";
  const tools = selectTools({ ...ref, model, interactive: true }).tools;
  const definitions = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const { summary, messages } = await messageTokens(backend, ref);
  const size = estimateTokens;
  return [
    { kind: "system", tokens: size(prompt) - size(memory) },
    { kind: "core", tokens: size(memory) - size(external) },
    { kind: "external", tokens: size(external) },
    { kind: "summary", tokens: summary },
    { kind: "tools", tokens: size(JSON.stringify(definitions)) },
    { kind: "messages", tokens: messages },
  ];
}

async function messageTokens(backend: App["backend"], ref: ConversationRef) {
  const tokens = { summary: 0, messages: 0 };
  let after: string | undefined;
  do {
    const page = await backend.listMessages(ref, {
      inContextOnly: true,
      order: "asc",
      limit: 200,
      ...(after && { after }),
    });
    for (const message of page.items) {
      const kind = message.message_type === "summary_message" ? "summary" : "messages";
      tokens[kind] += estimateTokens(JSON.stringify(message));
    }
    after = page.nextCursor ?? undefined;
  } while (after);
  return tokens;
}
