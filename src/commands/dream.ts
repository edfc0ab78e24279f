// `letta dream`: looks back on conversations now, and what became of earlier looks back: list, show, accept, reject.

import { isAbsolute, resolve } from "node:path";
import { defineCommand } from "citty";
import type { App } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { renderTable } from "@/lib/table.ts";
import { toPlainLine, toPlainText } from "@/lib/terminal-text.ts";
import { describeResult, stateOf } from "@/memory/reflection/describe.ts";
import type { DreamRecord } from "@/memory/reflection/journal.ts";
import type { ProposedFile } from "@/memory/reflection/proposals.ts";
import type { DreamCommand, DreamResult } from "@/memory/reflection/service.ts";
import { withApp } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, parseCount, present, tableOptions } from "./output.ts";
import { agentArgs, resolveAgent, resolveConversation } from "./scope.ts";

const agentArg = { agent: { ...agentArgs.agent, alias: [...agentArgs.agent.alias, "memory"] } };

const run = defineCommand({
  meta: { name: "run", description: "Look back on conversations and update the memory (default: the last one here)" },
  args: {
    ...agentArg,
    from: {
      type: "string",
      alias: ["conversation", "conv"],
      valueHint: "WHAT",
      description: "Conversation ids with commas between them, or transcript:FILE.jsonl",
    },
    recent: { type: "string", valueHint: "N", description: "The N latest conversations" },
    auto: { type: "boolean", description: "The conversations with most to look back on" },
    instruction: { type: "string", alias: "i", valueHint: "TEXT", description: "What to attend to" },
    to: { type: "string", valueHint: "FILE", description: "Maintain this document" },
    model: { type: "string", alias: "m", valueHint: "HANDLE", description: "Model (default: the agent's own)" },
    timeout: { type: "string", valueHint: "SECONDS", description: "Stop after this time (default 1500)" },
    system: { type: "string", valueHint: "TEXT", description: "Instead of the built-in persona" },
    prompt: { type: "string", valueHint: "TEXT", description: "Instead of the built-in first message" },
    merge: { type: "enum", options: ["auto", "review"], description: "review: the result waits for a decision" },
    "if-due": { type: "boolean", description: "Only when the settings say that it is time" },
    ...outputArgs,
  },
  run: ({ args, data }) => withApp(data, (app, io) => runDreamCommand(app, args, io)),
});

const list = defineCommand({
  meta: { name: "list", description: "What became of looks back, the latest first" },
  args: {
    ...agentArg,
    limit: { type: "string", valueHint: "N", description: "At most this many (default 20)" },
    ...outputArgs,
  },
  run: ({ args, data }) => withApp(data, (app, io) => runDreamList(app, args, io)),
});

const dreamArg = { dream: { type: "positional", required: true, description: "Its id, or a part of it" } } as const;

const show = defineCommand({
  meta: { name: "show", description: "What a look back would change, or changed" },
  args: { ...dreamArg, ...agentArg, ...outputArgs },
  run: ({ args, data }) => withApp(data, (app, io) => runDreamShow(app, args, io)),
});

const accept = defineCommand({
  meta: { name: "accept", description: "Make a waiting change part of the memory" },
  args: { ...dreamArg, ...agentArg, ...outputArgs },
  run: ({ args, data }) => withApp(data, (app, io) => runDreamAccept(app, args, io)),
});

const reject = defineCommand({
  meta: { name: "reject", description: "Leave a waiting change out of the memory" },
  args: { ...dreamArg, ...agentArg, ...outputArgs },
  run: ({ args, data }) => withApp(data, (app, io) => runDreamReject(app, args, io)),
});

export const command = defineCommand({ subCommands: { run, list, show, accept, reject }, default: "run" });

type DreamApp = Pick<App, "backend" | "env" | "settings" | "serverKey" | "cwd" | "reflection" | "memories">;

export interface DreamArgs extends OutputArgs {
  agent?: string;
  from?: string;
  recent?: string;
  auto?: boolean;
  instruction?: string;
  to?: string;
  model?: string;
  timeout?: string;
  system?: string;
  prompt?: string;
  merge?: string;
  "if-due"?: boolean;
}

interface Dreamt {
  agentId: string;
  result: DreamResult;
  transcriptPath: string | null;
  stagedEntries?: number;
  target?: { path: string; written: boolean; error?: string };
}

export async function runDreamCommand(app: DreamApp, args: DreamArgs, io: Io): Promise<number> {
  const { watchStop } = await import("@/frontends/headless/stop.ts");
  using stop = watchStop({ watchParent: false });
  // Awaited here: until it has ended, a signal is ours to hear.
  return await present(io, args, () => dream(app, args, stop.requested), {
    text: ({ result, target }) => {
      const lines = describeResult(result).map(toPlainLine);
      if (target) lines.push(target.error ?? (target.written ? `Wrote ${target.path}` : `${target.path} is as it was`));
      return `${lines.join("\n")}\n`;
    },
    value: toWire,
    exitCode: ({ result, target }) => (isSuccess(result) && !target?.error ? 0 : 1),
  });
}

async function dream(app: DreamApp, args: DreamArgs, signal: AbortSignal): Promise<Dreamt> {
  const chosen = [args.from, args.recent, args.auto].filter((value) => value !== undefined && value !== false);
  if (chosen.length > 1) throw new LettaError("usage", "--from, --recent and --auto do not go together");
  const { agentId, from, transcriptPath, stagedEntries } = await chooseSource(app, args);
  const target = args.to === undefined ? null : await startTarget(app, agentId, resolve(app.cwd, args.to));
  const instruction = target ? target.instruction(args.instruction) : args.instruction;
  const result = await app.reflection.dream({
    agentId,
    from,
    signal,
    ...(args["if-due"] && { ifDue: true }),
    ...(instruction && { instruction }),
    ...(args.system && { system: args.system }),
    ...(args.prompt && { prompt: args.prompt }),
    ...(args.model && { model: args.model }),
    ...(args.merge && { merge: args.merge as "auto" | "review" }),
    ...(args.timeout && { timeoutMs: parseCount("timeout", args.timeout, 0) * 1000 }),
  });
  return {
    agentId,
    result,
    transcriptPath,
    ...(stagedEntries !== undefined && { stagedEntries }),
    ...(target && { target: await target.finish(result) }),
  };
}

interface Source {
  agentId: string;
  from: DreamCommand["from"];
  transcriptPath: string | null;
  stagedEntries?: number;
}

async function chooseSource(app: DreamApp, args: DreamArgs): Promise<Source> {
  const transcriptPath = null;
  if (args.from?.startsWith("transcript:")) return readTranscript(app, args, args.from.slice("transcript:".length));
  if (args.from?.startsWith("openhands:")) {
    throw new LettaError("usage", "this version of letta does not read histories of OpenHands yet", {
      hint: "Convert it to JSON lines and pass --from transcript:FILE.jsonl.",
    });
  }
  if (args.recent !== undefined) {
    const recent = parseCount("recent", args.recent, 1);
    return { agentId: (await resolveAgent(app, args)).id, from: { recent }, transcriptPath };
  }
  if (args.auto)
    return { agentId: (await resolveAgent(app, args)).id, from: { auto: true, current: null }, transcriptPath };
  const named =
    args.from
      ?.split(",")
      .map((id) => id.trim())
      .filter(Boolean) ?? [];
  if (named.length === 0) {
    const { agentId, conversationId } = await resolveConversation(app, args);
    return { agentId, from: { conversations: [conversationId] }, transcriptPath };
  }
  const scope = args.agent === undefined ? {} : { agent: args.agent };
  const refs = await Promise.all(named.map((conversation) => resolveConversation(app, { ...scope, conversation })));
  const [{ agentId }] = refs as [(typeof refs)[number]];
  if (refs.some((ref) => ref.agentId !== agentId)) {
    throw new LettaError("usage", "one look back is about the conversations of one agent");
  }
  const conversations = refs.map(({ conversationId }) => conversationId);
  return { agentId, from: { conversations, ...(!args["if-due"] && { reason: "named" }) }, transcriptPath };
}

async function readTranscript(app: DreamApp, args: DreamArgs, file: string): Promise<Source> {
  const path = isAbsolute(file) ? file : resolve(app.cwd, file);
  if (args["if-due"]) throw new LettaError("usage", "--if-due does not go with a transcript");
  const { parseTranscript } = await import("@/memory/reflection/transcript.ts");
  if (!(await Bun.file(path).exists())) throw new LettaError("not_found", `there is no file ${path}`);
  const { rows, skipped } = parseTranscript(await Bun.file(path).text());
  if (rows.length === 0) {
    throw new LettaError("invalid_data", `${path} holds no line of a transcript (${skipped} lines are something else)`);
  }
  const conversationId = `from-transcript-${sha256(path).slice(0, 12)}`;
  const from = { external: { conversationId, rows } };
  return { agentId: (await resolveAgent(app, args)).id, from, transcriptPath: path, stagedEntries: rows.length };
}

async function startTarget(app: DreamApp, agentId: string, file: string) {
  const { openTarget, syncFromTarget, syncToTarget, targetInstruction } = await import("@/memory/reflection/target.ts");
  const target = openTarget(file);
  const memory = app.memories?.find(await app.backend.retrieveAgent(agentId));
  if (!memory) throw new LettaError("usage", "this agent has no memory");
  await syncFromTarget(target, memory);
  return {
    instruction: (wish: string | undefined) => targetInstruction(target, wish),
    finish: async (result: DreamResult) => {
      if (!result.launched || result.outcome.status !== "merged") return { path: file, written: false };
      try {
        return { path: file, written: await syncToTarget(target, memory) };
      } catch (error) {
        return { path: file, written: false, error: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

function isSuccess(result: DreamResult): boolean {
  if (!result.launched) return result.reason !== "already_active";
  return ["merged", "no_changes", "proposed"].includes(result.outcome.status);
}

function toWire({ agentId, result, transcriptPath, stagedEntries, target }: Dreamt) {
  const message = describeResult(result).at(0) ?? "";
  if (!result.launched) {
    const { reason } = result;
    return { launched: false, reason, message, agentId, ...("because" in result && { because: result.because }) };
  }
  const { outcome, conversationIds } = result;
  const failed = outcome.status === "failed" || outcome.status === "timed_out" || outcome.status === "stopped";
  return {
    launched: true,
    success: isSuccess(result),
    message,
    ...(failed && outcome.reason && { error: outcome.reason }),
    ...(outcome.status === "timed_out" && { timedOut: true }),
    agentId,
    conversationId: conversationIds[0],
    conversationIds,
    transcriptPath,
    ...(stagedEntries !== undefined && { stagedEntries }),
    ...(target && {
      targetPath: target.path,
      targetWritten: target.written,
      ...(target.error && { targetError: target.error }),
    }),
    dream: {
      id: outcome.id,
      status: outcome.status,
      reason: outcome.reason,
      subject: outcome.subject,
      head: outcome.head,
      proposal: outcome.proposal,
      paths: outcome.paths,
      notes: outcome.notes,
      report: outcome.report,
      usage: outcome.usage,
    },
  };
}

interface ListArgs extends OutputArgs {
  agent?: string;
  limit?: string;
}

export async function runDreamList(app: DreamApp, args: ListArgs, io: Io, now = Date.now()): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const { id } = await resolveAgent(app, args);
      return (await app.reflection.list(id)).slice(0, parseCount("limit", args.limit, 20)).map(summarise);
    },
    {
      piped: "json",
      text: (dreams) =>
        dreams.length === 0
          ? "The agent has not looked back yet.\n"
          : renderTable(
              [{ title: "DREAM" }, { title: "WHEN" }, { title: "STATE" }, { title: "WHAT", shrink: true }],
              dreams.map(({ id, startedAt, state, subject, reason }) => [
                id,
                formatAge(startedAt, now),
                state,
                toPlainLine([subject, reason].filter(Boolean).join("; ")),
              ]),
              tableOptions(io),
            ),
    },
  );
}

interface OneArgs extends OutputArgs {
  agent?: string;
  dream: string;
}

export async function runDreamShow(app: DreamApp, args: OneArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const { id } = await resolveAgent(app, args);
      const { record, files } = await app.reflection.show(id, args.dream);
      const { reviewed } = record.plan;
      return { ...summarise(record), reviewed, notes: record.committed?.notes ?? [], files, diff: await diffOf(files) };
    },
    {
      text: ({ id, state, subject, reason, reviewed, notes, diff }) =>
        `${[
          `${id}: ${state}`,
          ...(subject ? [toPlainLine(subject)] : []),
          ...(reason ? [`Why: ${toPlainText(reason)}`] : []),
          ...reviewed.map((line) => `Looked at: ${toPlainLine(line)}`),
          ...notes.map((note) => `Note: ${toPlainLine(note)}`),
          ...(diff === "" ? [] : ["", toPlainText(diff)]),
        ].join("\n")}\n`,
      value: ({ diff: _, ...rest }) => rest,
    },
  );
}

export async function runDreamAccept(app: DreamApp, args: OneArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const { id } = await resolveAgent(app, args);
      const { record, head, paths } = await app.reflection.accept(id, args.dream);
      return { ...summarise(record), head, paths };
    },
    { text: ({ id, head, paths }) => `${id} is part of the memory now (${head.slice(0, 7)}): ${paths.join(", ")}\n` },
  );
}

export async function runDreamReject(app: DreamApp, args: OneArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => summarise(await app.reflection.reject((await resolveAgent(app, args)).id, args.dream)),
    { text: ({ id }) => `${id} is left out of the memory.\n` },
  );
}

function summarise(record: DreamRecord) {
  const { id, startedAt, endedAt, committed, merged, proposed, reason } = record;
  return {
    id,
    state: stateOf(record),
    startedAt,
    endedAt,
    subject: committed?.subject ?? null,
    reason: proposed?.reason ?? reason,
    head: merged,
    conversationIds: record.plan.moves.map(({ conversationId }) => conversationId),
  };
}

async function diffOf(files: readonly ProposedFile[]): Promise<string> {
  const { createTwoFilesPatch } = await import("diff");
  const patches = files.map(({ path, before, after }) =>
    before === null && after === null
      ? `${path}: no text\n`
      : createTwoFilesPatch(
          before === null ? "/dev/null" : path,
          after === null ? "/dev/null" : path,
          before ?? "",
          after ?? "",
        ),
  );
  return patches
    .map((patch) => patch.replace(/^(?:Index: .*\n)?=+\n/, ""))
    .join("\n")
    .trimEnd();
}
