// `letta messages …`: read and search what was said. Nothing here changes a conversation.

import { resolve } from "node:path";
import { defineCommand } from "citty";
import type { Backend, ConversationRef, SearchQuery } from "@/backend/backend.ts";
import type { Message, SearchHit } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { toPlainLine, toPlainText, wrap } from "@/lib/terminal-text.ts";
import { type StoreApp, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { dataArgs, type OutputArgs, parseCount, present } from "./output.ts";
import { conversationArgs, findAgent, resolveAgent, resolveConversation, type ScopeArgs } from "./scope.ts";
import { renderTranscript } from "./transcript.ts";
import { writeNewFile } from "./write-file.ts";

const dateArgs = {
  "start-date": { type: "string", valueHint: "DATE", description: "Not before this date or time" },
  "end-date": { type: "string", valueHint: "DATE", description: "Not after this date or time" },
} as const;

const list = defineCommand({
  meta: { name: "list", description: "List messages, always oldest first" },
  args: {
    ...conversationArgs,
    after: { type: "string", valueHint: "ID", description: "Only messages newer than this one" },
    before: { type: "string", valueHint: "ID", description: "Only messages older than this one" },
    order: {
      type: "enum",
      options: ["asc", "desc"],
      description: "Which end to take: the oldest or the newest (default)",
    },
    limit: { type: "string", valueHint: "N", description: "At most this many (default 20)" },
    ...dateArgs,
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runMessagesList(app, args, io)),
});

const search = defineCommand({
  meta: { name: "search", description: "Search messages, best match first" },
  args: {
    text: { type: "positional", required: false, description: "What to look for" },
    query: { type: "string", description: "What to look for" },
    mode: { type: "enum", options: ["hybrid", "vector", "fts"], description: "How to match (this backend: fts)" },
    "all-agents": { type: "boolean", description: "Messages of every agent" },
    limit: { type: "string", valueHint: "N", description: "At most this many (default 10)" },
    hidden: { type: "boolean", description: "Hidden conversations too" },
    ...dateArgs,
    ...conversationArgs,
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runMessagesSearch(app, args, io)),
});

const transcript = defineCommand({
  meta: { name: "transcript", description: "The whole conversation as readable text" },
  args: {
    ...conversationArgs,
    limit: { type: "string", valueHint: "N", description: "Messages per page (default 100)" },
    "max-pages": { type: "string", valueHint: "N", description: "At most this many pages (default 200)" },
    out: { type: "string", alias: "output", valueHint: "FILE", description: "Write it to a file" },
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runMessagesTranscript(app, args, io)),
});

export const command = defineCommand({
  subCommands: { list, search, transcript },
});

interface DateArgs {
  "start-date"?: string;
  "end-date"?: string;
}

export interface MessagesListArgs extends OutputArgs, ScopeArgs, DateArgs {
  after?: string;
  before?: string;
  order?: string;
  limit?: string;
}

export async function runMessagesList(app: StoreApp, args: MessagesListArgs, io: Io): Promise<number> {
  return present(io, args, async () => loadMessages(app.backend, await resolveConversation(app, args), args), {
    piped: "json",
    text: (messages) => (messages.length === 0 ? "No messages.\n" : toPlainText(renderTranscript(messages))),
  });
}

export interface MessagesSearchArgs extends OutputArgs, ScopeArgs, DateArgs {
  text?: string;
  query?: string;
  mode?: string;
  "all-agents"?: boolean;
  limit?: string;
  hidden?: boolean;
}

export async function runMessagesSearch(
  app: StoreApp,
  args: MessagesSearchArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(io, args, async () => app.backend.searchMessages(await searchQuery(app, args)), {
    piped: "json",
    text: (hits) => (hits.length === 0 ? "Nothing found.\n" : hits.map((hit) => renderHit(hit, io, now)).join("")),
  });
}

function renderHit({ created_at, role, conversation_id, snippet }: SearchHit, io: Io, now: number): string {
  const text = toPlainLine(snippet);
  const lines = io.isTty ? wrap(text, io.width - 5) : [text];
  const head = `${formatAge(created_at, now)}  ${role}  ${conversation_id}`;
  return [head, ...lines.map((line) => `    ${line}`), ""].join("\n");
}

export interface MessagesTranscriptArgs extends OutputArgs, ScopeArgs {
  limit?: string;
  "max-pages"?: string;
  out?: string;
}

export async function runMessagesTranscript(app: StoreApp, args: MessagesTranscriptArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const ref = await resolveConversation(app, args);
      const pageSize = parseCount("limit", args.limit, 100);
      const messages = await wholeConversation(
        app.backend,
        ref,
        pageSize,
        parseCount("max-pages", args["max-pages"], 200),
      );
      const head = { conversation_id: ref.conversationId, agent_id: ref.agentId, message_count: messages.length };
      const text = renderTranscript(messages);
      if (args.out === undefined) return { ...head, transcript: text };
      return { ...head, output_path: await writeNewFile(resolve(app.cwd, args.out), text) };
    },
    {
      piped: "json",
      text: (data) =>
        "transcript" in data
          ? toPlainText(data.transcript)
          : `Wrote ${data.message_count} messages to ${data.output_path}\n`,
    },
  );
}

/** Oldest first, at most `maxPages` pages counted from the newest. */
export async function wholeConversation(
  backend: Backend,
  ref: ConversationRef,
  pageSize = 100,
  maxPages = Number.POSITIVE_INFINITY,
): Promise<Message[]> {
  const pagesNewestFirst: Message[][] = [];
  let before: string | undefined;
  while (pagesNewestFirst.length < maxPages) {
    const page = await backend.listMessages(ref, { limit: pageSize, order: "desc", ...(before ? { before } : {}) });
    pagesNewestFirst.push(page.items.toReversed());
    if (page.nextCursor === null) break;
    before = page.nextCursor;
  }
  return pagesNewestFirst.toReversed().flat();
}

/** The newest (or oldest, `--order asc`) `--limit` messages inside the dates, oldest first. */
async function loadMessages(backend: Backend, ref: ConversationRef, args: MessagesListArgs): Promise<Message[]> {
  const limit = parseCount("limit", args.limit, 20);
  const ascending = args.order === "asc";
  const { start, end } = dateRange(args);
  const found: Message[] = [];
  let cursor: string | null = (ascending ? args.after : args.before) ?? null;
  do {
    const bounds = ascending ? { after: cursor, before: args.before } : { before: cursor, after: args.after };
    const page = await backend.listMessages(ref, {
      limit: Math.min(limit, 100),
      order: ascending ? "asc" : "desc",
      ...(bounds.before ? { before: bounds.before } : {}),
      ...(bounds.after ? { after: bounds.after } : {}),
    });
    found.push(...page.items.filter(({ date }) => isWithin(Date.parse(date), start, end)));
    cursor = page.nextCursor;
    // Messages are in time order: past the far end of the range nothing more can match.
    const last = Date.parse(page.items.at(-1)?.date ?? "");
    if (ascending ? last > end : last < start) break;
  } while (cursor !== null && found.length < limit);
  const taken = found.slice(0, limit);
  return ascending ? taken : taken.toReversed();
}

async function searchQuery(app: StoreApp, args: MessagesSearchArgs): Promise<SearchQuery> {
  const query = (args.query ?? args.text ?? "").trim();
  if (query === "")
    throw new LettaError("usage", "nothing to search for", { hint: 'letta messages search "some words"' });
  if (args.mode === "vector" && app.backend.kind === "local") {
    throw new LettaError("usage", "the local backend has no vector search", {
      hint: "Leave --mode out, or use --mode fts.",
    });
  }
  if (args["all-agents"] && (args.agent || args.conversation)) {
    throw new LettaError("usage", "--all-agents does not go with --agent or --conversation");
  }
  const { start, end } = dateRange(args);
  return {
    query,
    limit: parseCount("limit", args.limit, 10),
    ...(args.hidden ? { includeHidden: true } : {}),
    ...(args["start-date"] ? { startDate: new Date(start).toISOString() } : {}),
    ...(args["end-date"] ? { endDate: new Date(end).toISOString() } : {}),
    ...(await searchScope(app, args)),
  };
}

async function searchScope(
  app: StoreApp,
  args: MessagesSearchArgs,
): Promise<{ agentId?: string; conversationId?: string }> {
  if (args["all-agents"]) return {};
  if (args.conversation) return resolveConversation(app, args);
  const agent = args.agent ? await findAgent(app.backend, args.agent) : await resolveAgent(app, args);
  return { agentId: agent.id };
}

/** Milliseconds, inclusive. A date without a time means the whole day. */
function dateRange(args: DateArgs): { start: number; end: number } {
  const end = parseDate("end-date", args["end-date"], Number.POSITIVE_INFINITY);
  const wholeDay = /^\d{4}-\d{2}-\d{2}$/.test(args["end-date"] ?? "");
  return {
    start: parseDate("start-date", args["start-date"], Number.NEGATIVE_INFINITY),
    end: wholeDay ? end + 86_400_000 - 1 : end,
  };
}

function parseDate(flag: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const time = Date.parse(text);
  if (Number.isNaN(time)) {
    throw new LettaError("usage", `--${flag} takes a date such as 2026-01-31 or 2026-01-31T12:00:00Z, not "${text}"`);
  }
  return time;
}

function isWithin(time: number, start: number, end: number): boolean {
  return time >= start && time <= end;
}
