// `letta export CONVERSATION`: a whole conversation as Markdown to read, or as JSON to process.

import { resolve } from "node:path";
import { defineCommand } from "citty";
import type { Backend } from "@/backend/backend.ts";
import { redactSecrets } from "@/lib/redact.ts";
import { toPlainText } from "@/lib/terminal-text.ts";
import { type StoreApp, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { wholeConversation } from "./messages.ts";
import { type OutputArgs, outputArgs, outputFormat, present } from "./output.ts";
import { agentArgs, resolveConversation, type ScopeArgs } from "./scope.ts";
import { renderMarkdown } from "./transcript.ts";
import { withoutKeys } from "./without-keys.ts";
import { writeNewFile } from "./write-file.ts";

export const command = defineCommand({
  meta: { description: "A whole conversation as Markdown (--format text) or JSON (--format json)" },
  args: {
    conversation: { type: "positional", required: false, description: "Conversation id (default: the last one here)" },
    out: { type: "string", alias: "output", valueHint: "FILE", description: "Write it to a file; .json means JSON" },
    ...agentArgs,
    ...outputArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runExport(app, args, io)),
});

export async function runExport(
  app: StoreApp,
  args: ScopeArgs & OutputArgs & { out?: string },
  io: Io,
): Promise<number> {
  const path = args.out === undefined ? undefined : resolve(app.cwd, args.out);
  return present(
    io,
    args,
    async () => {
      const ref = await resolveConversation(app, args);
      const [agent, conversation, messages] = await Promise.all([
        app.backend.retrieveAgent(ref.agentId),
        app.backend.retrieveConversation(ref.conversationId, ref.agentId),
        wholeConversation(app.backend, ref),
      ]);
      const exported = { agent: redactSecrets(agent), conversation: withoutKeys(conversation), messages };
      if (path === undefined) return { exported };
      const asJson = path.endsWith(".json") || outputFormat(io, args) !== "text";
      const text = asJson ? `${JSON.stringify(exported, null, 2)}\n` : markdown(exported);
      return { written: { output_path: await writeNewFile(path, text), message_count: messages.length } };
    },
    {
      value: (data) => data.exported ?? data.written,
      text: (data) =>
        data.exported
          ? // A terminal must not obey what a model or a tool wrote; a file gets it as it is.
            (io.isTty ? toPlainText : String)(markdown(data.exported))
          : `Wrote ${data.written.message_count} messages to ${data.written.output_path}\n`,
    },
  );
}

function markdown({ agent, conversation, messages }: Exported): string {
  const head = {
    title: conversation.summary ?? "Conversation",
    agent: `${agent.name} (${agent.id})`,
    conversationId: conversation.id,
  };
  return renderMarkdown(head, messages);
}

interface Exported {
  agent: Awaited<ReturnType<Backend["retrieveAgent"]>>;
  conversation: Awaited<ReturnType<Backend["retrieveConversation"]>>;
  messages: Awaited<ReturnType<typeof wholeConversation>>;
}
