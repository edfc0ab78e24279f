// One headless run over an open app: resolve agent and conversation, then one turn, or lines in both directions.

import { openSession, planSession, type Session, type SessionPlan } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import type { ContentPart } from "@/backend/wire.ts";
import type { TurnInput, TurnResult } from "@/engine/events.ts";
import { LettaError } from "@/lib/errors.ts";
import { initLine, toolNames } from "./init.ts";
import type { LineStream } from "./line-stream.ts";
import type { HeadlessOptions } from "./options.ts";
import type { Output } from "./output.ts";
import { exitCodeOf, resumeCommand, turnResultBody } from "./result.ts";
import type { Stop } from "./stop.ts";
import type { Writer } from "./writer.ts";

export interface HeadlessIo {
  writer: Writer;
  lines: LineStream;
  output: Output;
  stop: Stop;
  /** One line for people, on stderr. */
  note: (text: string) => void;
  /** Once it is resolved; a later failure still names it. */
  session: Session | null;
  /** Opened only for lines in both directions. */
  stdin: () => ReadableStream<Uint8Array>;
}

/** The options with the prompt that was read; null when none is needed. */
export type HeadlessRun = HeadlessOptions & { content: string | ContentPart[] | null };

/** Returns the exit code. Throws what fails before the first turn; the caller makes the result of it. */
export async function runHeadless(app: App, run: HeadlessRun, io: HeadlessIo): Promise<number> {
  const plan = await io.stop.race(planSession(app, run.selection));
  if ("choose" in plan) throw new LettaError("internal", "a headless run cannot ask which agent to use");
  if (run.dryRun) return printDryRun(app, plan, run, io);
  const session = await openSession(app, plan);
  io.session = session;
  app.sessionHooks.begin(session);
  io.lines.sessionId = session.ephemeral ? "ephemeral" : session.agent.id;
  await io.output.line(initLine(app, session, run));
  await noteWarnings(app, session, run, io);
  tellMemoryNews(app, run, io);
  if (run.bidirectional) {
    const { runBidirectional } = await import("./bidirectional.ts");
    return runBidirectional(app, session, run, io);
  }
  return runOnce(app, session, run, io);
}

/** What every turn of a session is submitted with. */
export function turnInput(session: Session, options: HeadlessOptions): Omit<TurnInput, "content" | "approver"> {
  return {
    agentId: session.agent.id,
    conversationId: session.conversation.id,
    limits: options.limits,
    ...(session.modelOverride !== undefined && { model: session.modelOverride }),
    ...(session.systemOverride !== undefined && { system: session.systemOverride }),
  };
}

async function runOnce(app: App, session: Session, run: HeadlessRun, io: HeadlessIo): Promise<number> {
  io.stop.requested.throwIfAborted();
  const turn = app.engine.submit({ ...turnInput(session, run), content: run.content, approver: "nobody" });
  const abort = () => turn.abort();
  io.stop.requested.addEventListener("abort", abort);
  io.writer.closed.addEventListener("abort", abort);
  if (io.writer.closed.aborted) abort();
  let exitCode: number | undefined;
  try {
    // To the very end of the stream: the engine lets go of the conversation after its last event.
    for await (const event of turn.events) {
      await io.output.event(event);
      if (event.type === "turn_ended") exitCode = await finish(event.result, turn.id, session, io);
    }
  } finally {
    io.stop.requested.removeEventListener("abort", abort);
    io.writer.closed.removeEventListener("abort", abort);
  }
  if (exitCode === undefined) throw new LettaError("internal", "the engine ended without turn_ended");
  return exitCode;
}

async function finish(result: TurnResult, turnId: string, session: Session, io: HeadlessIo): Promise<number> {
  const shown = await io.output.result(turnResultBody(result, session, turnId));
  if (result.status !== "completed") {
    // A reader that left knows; everybody else is told once, with what to do.
    if (io.writer.closed.aborted) return exitCodeOf(result);
    const interruption = io.stop.requested.aborted ? errorText(io.stop.requested.reason) : undefined;
    io.note(`Error: ${interruption ?? result.error?.message ?? "the turn did not complete"}`);
    if (result.error?.hint) io.note(result.error.hint);
    const command = resumeCommand(session);
    if (command && result.error?.code !== "busy") io.note(`Continue with: ${command}`);
    return result.status === "interrupted" && io.stop.requested.aborted ? io.stop.exitCode : exitCodeOf(result);
  }
  if (shown) return exitCodeOf(result);
  io.note("Error: No assistant response found");
  return 1;
}

/** One prompt's result is its last line, so that what comes of the memory's remote after it is for people alone. */
function tellMemoryNews(app: App, run: HeadlessRun, { output, note }: HeadlessIo): void {
  app.memorySync.onNews(({ level, text }) => {
    if (run.bidirectional) {
      void output.line({ type: "system", subtype: "notice", level, text, uuid: crypto.randomUUID() });
    } else if (level === "warning") note(text);
  });
}

async function printDryRun(app: App, plan: SessionPlan, run: HeadlessRun, io: HeadlessIo): Promise<number> {
  const { renderDryRun } = await import("./dry-run.ts");
  await io.writer.write(renderDryRun(app, plan, run));
  return 0;
}

async function noteWarnings(app: App, session: Session, run: HeadlessRun, io: HeadlessIo): Promise<void> {
  const warnings = [
    ...session.warnings,
    ...toolNames(app, session, run).unknown.map((name) => `there is no tool called ${name} (--tools)`),
    ...app.settings.problems.map(({ file, message }) => `${file} is not used: ${message}`),
  ];
  for (const text of warnings) {
    await io.output.line({ type: "system", subtype: "notice", level: "warning", text, uuid: crypto.randomUUID() });
  }
}

function errorText(reason: unknown): string | undefined {
  return reason instanceof Error ? reason.message : undefined;
}
