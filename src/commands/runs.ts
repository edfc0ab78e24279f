// `letta runs …`: the sends of a conversation, and their streams, replayed or followed live.

import { defineCommand } from "citty";
import type { StreamChunk } from "@/backend/wire.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { renderFields, renderTable } from "@/lib/table.ts";
import { toPlainLine, toPlainText } from "@/lib/terminal-text.ts";
import { type StoreApp, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { dataArgs, type OutputArgs, outputFormat, parseCount, present, tableOptions } from "./output.ts";
import { conversationArgs, resolveConversation, type ScopeArgs } from "./scope.ts";

const idArg = { type: "positional", required: true, description: "Run id" } as const;

const list = defineCommand({
  meta: { name: "list", description: "List a conversation's runs, newest first" },
  args: {
    ...conversationArgs,
    active: { type: "boolean", description: "Only those still going on" },
    limit: { type: "string", valueHint: "N", description: "At most this many (default 20)" },
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runRunsList(app, args, io)),
});

const show = defineCommand({
  meta: { name: "show", description: "Show one run" },
  args: { id: idArg, ...dataArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runRunsShow(app, args, io)),
});

const tail = defineCommand({
  meta: { name: "tail", description: "Replay a run's stream and follow it to its end (JSON: one chunk per line)" },
  args: {
    id: idArg,
    after: { type: "string", valueHint: "SEQ", description: "Only chunks with a larger seq_id" },
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runRunsTail(app, args, io)),
});

export const command = defineCommand({
  subCommands: { list, show, tail },
});

export async function runRunsList(
  app: StoreApp,
  args: ScopeArgs & OutputArgs & { active?: boolean; limit?: string },
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const limit = parseCount("limit", args.limit, 20);
      const ref = await resolveConversation(app, args);
      return app.backend.listRuns(ref, { limit, activeOnly: args.active === true });
    },
    {
      piped: "json",
      text: (runs) => {
        if (runs.length === 0) return "No runs.\n";
        const columns = [{ title: "ID" }, { title: "STATUS" }, { title: "STARTED" }, { title: "STOP" }];
        const rows = runs.map((run) => [run.id, run.status, formatAge(run.created_at, now), run.stop_reason ?? "-"]);
        return renderTable(columns, rows, tableOptions(io));
      },
    },
  );
}

export async function runRunsShow(app: StoreApp, args: { id: string } & OutputArgs, io: Io): Promise<number> {
  return present(io, args, () => app.backend.retrieveRun(args.id), {
    piped: "json",
    text: (run) =>
      renderFields([
        ["Id", run.id],
        ["Conversation", run.conversation_id],
        ["Agent", run.agent_id],
        ["Status", run.status],
        ["Stop reason", run.stop_reason],
        ["Started", run.created_at],
        ["Ended", run.completed_at],
        ["Error", run.metadata.error && `${run.metadata.error.error_type}: ${run.metadata.error.message}`],
      ]),
  });
}

/** Ends with the run, or when the reader of stdout left. Exit code 1 for a run that failed. */
export async function runRunsTail(
  app: StoreApp,
  args: { id: string; after?: string } & OutputArgs,
  io: Io,
  signal?: AbortSignal,
): Promise<number> {
  const startingAfter = parseCount("after", args.after, 0, 0);
  const lines = outputFormat(io, args, "json") !== "text";
  // A stream has no single envelope: `--json` and `--format json` both print one chunk per line.
  const text = chunkPrinter();
  await app.backend.retrieveRun(args.id);
  for await (const chunk of app.backend.streamRun(args.id, { startingAfter, ...(signal ? { signal } : {}) })) {
    io.stdout(lines ? `${JSON.stringify(chunk)}\n` : text(chunk));
    if (io.closed) return 0;
  }
  const { status } = await app.backend.retrieveRun(args.id);
  return status === "failed" ? 1 : 0;
}

/** Deltas of one message run on; every other chunk starts a line of its own. */
function chunkPrinter(): (chunk: StreamChunk) => string {
  let flowing: string | null = null;
  const flow = (kind: string, delta: string) => {
    const start = flowing === kind ? "" : flowing === null ? "" : "\n";
    flowing = kind;
    return start + toPlainText(delta);
  };
  const line = (text: string) => {
    const start = flowing === null ? "" : "\n";
    flowing = null;
    return `${start}${toPlainLine(text)}\n`;
  };
  return (chunk) => {
    switch (chunk.message_type) {
      case "assistant_message":
        return flow(
          "assistant",
          typeof chunk.content === "string" ? chunk.content : chunk.content.map((part) => part.text).join(""),
        );
      case "reasoning_message":
        return flow("reasoning", chunk.reasoning);
      case "approval_request_message":
      case "tool_call_message":
        return line(`tool_call ${chunk.tool_call.name} ${chunk.tool_call.arguments}`);
      case "tool_return_message":
        return line(`tool_return ${chunk.tool_call_id} status=${chunk.status}`);
      case "error_message":
        return line(`error ${chunk.error_type}: ${chunk.message}`);
      case "stop_reason":
        return line(`stop ${chunk.stop_reason}`);
      default:
        return "";
    }
  };
}
