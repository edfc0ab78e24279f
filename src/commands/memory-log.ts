// `letta memory log`, `show`, `blame` and `why`: who changed what in a memory, when, and for which reason.

import type { ConversationRef } from "@/backend/backend.ts";
import { stripReminders } from "@/backend/content.ts";
import { LettaError } from "@/lib/errors.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { renderFields, renderTable } from "@/lib/table.ts";
import { toPlainLine, toPlainText, truncate, wrap } from "@/lib/terminal-text.ts";
import { clip } from "@/lib/text.ts";
import { formatDiff, readPairs } from "@/memory/diff-text.ts";
import { parsePath } from "@/memory/places.ts";
import { subjectOf } from "@/memory/revert.ts";
import { decodeLoosely } from "@/memory/validate.ts";
import type { BlameLine, Commit, GitRepository } from "@/store/git/types.ts";
import type { StoreApp } from "./context.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, parseCount, present, tableOptions } from "./output.ts";
import { firstItems } from "./scope.ts";

export interface MemoryLogArgs extends OutputArgs {
  path?: string;
  limit?: string;
  from?: string;
}

export async function runMemoryLog(
  { memory }: MemoryScope,
  args: MemoryLogArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const repository = await memory.ensure();
      const limit = parseCount("limit", args.limit, 20);
      const path = args.path === undefined ? undefined : await findPath(repository, args.path, memory.places.memory);
      const from = await requireRevision(repository, args.from ?? "HEAD");
      const commits = repository.log({ from, limit, ...(path !== undefined && { path }) });
      return Array.fromAsync(commits, async (commit) => describeCommit(repository, commit));
    },
    {
      text: (commits) => {
        if (commits.length === 0) return "No commits.\n";
        const columns = [
          { title: "COMMIT" },
          { title: "WHEN" },
          { title: "WHO", shrink: true },
          { title: "WHY", shrink: true },
          { title: "WHAT", shrink: true },
        ];
        const rows = commits.map(({ oid, at, author, message, paths }) => [
          oid.slice(0, 7),
          formatAge(at, now),
          author.name,
          subjectOf(message),
          paths.join(", "),
        ]);
        return renderTable(columns, rows, tableOptions(io));
      },
    },
  );
}

export interface MemoryShowArgs extends OutputArgs {
  what?: string;
}

/** A commit, or `[REV:]PATH` for a file. */
export async function runMemoryShow({ memory }: MemoryScope, args: MemoryShowArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const repository = await memory.ensure();
      const what = args.what ?? "HEAD";
      const colon = what.indexOf(":");
      if (colon < 0) {
        const oid = await repository.resolve(what).catch(() => null);
        const type = oid === null ? null : repository.objects.read(oid).type;
        if (oid !== null && type === "commit") return showCommit(repository, await repository.objects.readCommit(oid));
      }
      const revision = await requireRevision(repository, colon < 0 ? "HEAD" : what.slice(0, colon) || "HEAD");
      const path = await findPath(repository, what.slice(colon + 1), memory.places.memory, revision);
      const content = await repository.readFile(revision, path);
      if (content === null) throw unknownWhat(what);
      return { path, revision, text: content.includes(0) ? null : decodeLoosely(content), bytes: content.byteLength };
    },
    {
      text: (shown) => {
        if ("path" in shown)
          return shown.text === null
            ? `${shown.path}: binary, ${shown.bytes} bytes\n`
            : endLine(toPlainText(shown.text));
        const { oid, at, author, message, diff, parents } = shown;
        const head = renderFields([
          ["commit", oid],
          ["merge of", parents.length > 1 ? parents.map((parent) => parent.slice(0, 7)).join(" ") : ""],
          ["author", `${author.name} <${author.email}>`],
          ["date", at],
        ]);
        const reason = toPlainText(message.trimEnd()).replace(/^(?=.)/gm, "    ");
        return `${head}\n${reason}\n${diff && `\n${showDiff(diff, io)}`}`;
      },
    },
  );
}

export interface MemoryBlameArgs extends OutputArgs {
  file?: string;
  from?: string;
}

export async function runMemoryBlame(
  { memory }: MemoryScope,
  args: MemoryBlameArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const repository = await memory.ensure();
      const revision = await requireRevision(repository, args.from ?? "HEAD");
      const path = await findPath(repository, args.file ?? "", memory.places.memory, revision);
      const lines = await blameFile(repository, revision, path);
      return lines.map(({ text, commit }, index) => ({
        line: index + 1,
        text,
        oid: commit.oid,
        author: commit.author.name,
        at: commit.author.at,
        reason: subjectOf(commit.message),
      }));
    },
    {
      text: (lines) => {
        const width = Math.max(4, ...lines.map(({ line }) => String(line).length));
        const columns = io.isTty ? io.width : Number.POSITIVE_INFINITY;
        return lines
          .map(({ line, text, oid, author, at }) => {
            const who = truncate(toPlainLine(author), 12).padEnd(12);
            const row = `${oid.slice(0, 7)} ${who} ${formatAge(at, now).padEnd(10)} ${String(line).padStart(width)}  ${toPlainText(text)}`;
            return `${columns === Number.POSITIVE_INFINITY ? row : truncate(row, columns)}\n`;
          })
          .join("");
      },
    },
  );
}

export interface MemoryWhyArgs extends OutputArgs {
  place?: string;
}

export async function runMemoryWhy(
  { memory, app }: MemoryScope,
  args: MemoryWhyArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const match = /^(.+):(\d+)$/.exec(args.place ?? "");
      if (!match)
        throw new LettaError("usage", `${JSON.stringify(args.place ?? "")} is not FILE:LINE`, {
          hint: "letta memory why system/human:7",
        });
      const repository = await memory.ensure();
      const head = await memory.head();
      const path = await findPath(repository, match[1]!, memory.places.memory, head);
      const line = Number(match[2]);
      const lines = await blameFile(repository, head, path);
      const found = lines[line - 1];
      if (!found) throw new LettaError("not_found", `${path} has ${lines.length} lines`);
      const { commit, text } = found;
      return {
        path,
        line,
        text,
        oid: commit.oid,
        author: commit.author.name,
        at: commit.author.at,
        message: commit.message.trimEnd(),
        said: app && (await findOccasion(app, memory.agent.id, commit)),
      };
    },
    {
      text: ({ path, line, text, oid, author, at, message, said }) => {
        const width = io.isTty ? io.width - 4 : Number.POSITIVE_INFINITY;
        const indent = (block: string) =>
          toPlainText(block)
            .split("\n")
            .flatMap((row) => (width === Number.POSITIVE_INFINITY ? [row] : wrap(row, width)))
            .map((row) => `    ${row}\n`)
            .join("");
        return [
          `${path}:${line}\n${indent(text)}`,
          `Written ${formatAge(at, now)} by ${toPlainLine(author)} (${oid.slice(0, 7)}), because:\n${indent(message)}`,
          said
            ? `After this was said in ${said.conversation_id}, ${formatAge(said.at, now)}:\n${indent(said.text)}`
            : "",
        ].join("");
      },
    },
  );
}

/** A diff as a terminal may show it, coloured where that is wanted. */
export function showDiff(diff: string, io: Io): string {
  const plain = endLine(toPlainText(diff));
  if (!io.color) return plain;
  const paint = (code: number, line: string) => `\x1b[${code}m${line}\x1b[0m`;
  let isHead = true;
  return plain
    .split("\n")
    .map((line) => {
      if (line.startsWith("diff ")) isHead = true;
      if (line.startsWith("@@")) {
        isHead = false;
        return paint(36, line);
      }
      if (isHead) return line === "" ? line : paint(1, line);
      return line.startsWith("+") ? paint(32, line) : line.startsWith("-") ? paint(31, line) : line;
    })
    .join("\n");
}

/** Throws `not_found`. */
export async function requireRevision(repository: GitRepository, revision: string): Promise<string> {
  const oid = await repository.resolve(revision);
  if (oid !== null) return oid;
  throw new LettaError("not_found", `there is no commit ${JSON.stringify(revision)} in this memory`, {
    hint: "See: letta memory log",
  });
}

/** A path as it is in the commit, with `.md` where that was left out. One that is nowhere stays as typed. */
export async function findPath(
  repository: GitRepository,
  typed: string,
  memoryDir: string,
  revision = "HEAD",
): Promise<string> {
  const path = parsePath(typed, memoryDir);
  const paths = (await repository.listFiles(revision)).map((entry) => entry.path);
  if (paths.includes(path) || paths.some((name) => name.startsWith(`${path}/`))) return path;
  return paths.includes(`${path}.md`) ? `${path}.md` : path;
}

async function describeCommit(repository: GitRepository, commit: Commit) {
  const { oid, author, message, parents } = commit;
  const changed = await repository.diffTrees(parents[0] ?? null, oid);
  return {
    oid,
    at: author.at,
    author: { name: author.name, email: author.email },
    message: message.trimEnd(),
    parents,
    paths: changed.map(({ path }) => path),
  };
}

async function showCommit(repository: GitRepository, commit: Commit) {
  const pairs = await readPairs(repository, commit.parents[0] ?? null, commit.oid);
  return { ...(await describeCommit(repository, commit)), diff: formatDiff(pairs) };
}

async function blameFile(repository: GitRepository, revision: string, path: string): Promise<BlameLine[]> {
  const lines = await repository.blame(revision, path);
  if (lines) return lines;
  throw new LettaError("not_found", `${path} is no text file of this memory`, { hint: "See: letta memory log" });
}

function unknownWhat(what: string): LettaError {
  return new LettaError("not_found", `${JSON.stringify(what)} is no commit and no file of this memory`, {
    hint: "letta memory log lists commits; REV:PATH shows a file as it was.",
  });
}

const MAX_CONVERSATIONS = 20;
const MAX_PAGES = 20;
const SHOWN_CHARS = 1_000;

/** What a person last said to the agent before the commit, where that can be found. */
async function findOccasion(app: StoreApp, agentId: string, commit: Commit) {
  const at = Date.parse(commit.author.at);
  // Commits have whole seconds.
  const until = at + 1_000;
  let best: { conversation_id: string; at: string; text: string } | null = null;
  const conversations = await firstItems(MAX_CONVERSATIONS, (page) =>
    app.backend.listConversations({ agentId, archived: "all", includeHidden: true, ...page }),
  );
  for (const { id, last_message_at } of conversations) {
    if (last_message_at && Date.parse(last_message_at) + 1_000 < at) continue;
    const found = await lastSaidBefore(app, { agentId, conversationId: id }, until);
    if (found && (!best || found.at > best.at)) best = { conversation_id: id, ...found };
  }
  return best;
}

async function lastSaidBefore(app: StoreApp, ref: ConversationRef, until: number) {
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { items, nextCursor } = await app.backend.listMessages(ref, {
      order: "desc",
      limit: 100,
      ...(before && { before }),
    });
    for (const message of items) {
      if (message.message_type !== "user_message" || Date.parse(message.date) > until) continue;
      const text = stripReminders(messageText(message.content)).trim();
      if (text !== "") return { at: message.date, text: clip(text, SHOWN_CHARS) };
    }
    if (nextCursor === null) return null;
    before = nextCursor;
  }
  return null;
}

function messageText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : "")).join("\n");
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
