// `letta -p` from checked options to an exit code: signals, stdout, prompt and app are set up here, so that whatever
// fails, also before there is an app, ends in one result line, one error on stderr and the right code.

import { requireLocalBackend } from "@/agent/choose-backend.ts";
import type { App, AppOptions } from "@/app.ts";
import { EXIT_CODES, EXIT_OK } from "@/exit-codes.ts";
import { codeOf, formatError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { LineStream } from "./line-stream.ts";
import type { HeadlessOptions } from "./options.ts";
import { createOutput } from "./output.ts";
import { errorInfo, failureBody } from "./result.ts";
import { type HeadlessIo, runHeadless } from "./run.ts";
import { watchStop } from "./stop.ts";
import { openWriter } from "./writer.ts";

export interface HeadlessSeams {
  open?: (options: AppOptions) => Promise<App>;
  /** Lines, for `bidirectional`. */
  stdin?: () => ReadableStream<Uint8Array>;
}

export async function startHeadless(
  appOptions: AppOptions,
  options: HeadlessOptions,
  { open = openApp, stdin = () => Bun.stdin.stream() }: HeadlessSeams = {},
): Promise<number> {
  const startedAt = performance.now();
  using stop = watchStop({ watchParent: appOptions.env.parentAgentId !== undefined });
  const writer = openWriter(1);
  const lines = new LineStream(writer);
  // Notes quote models, servers and file names; standard error is mostly a terminal, which would obey them.
  const note = (text: string) => console.error(escapeDeceptive(text));
  const output = createOutput(options, { writer, lines, note });
  const io: HeadlessIo = { writer, lines, output, stop, note, stdin, session: null };
  // Opening the store and waiting for a pipe overlap. A failure is reported where it is awaited below.
  const opening = open(appOptions);
  opening.catch(() => {});
  let exitCode: number;
  try {
    const content = await stop.race(readPrompt(appOptions, options, note));
    const app = await stop.race(opening);
    const { env, settings } = app;
    requireLocalBackend({ flag: appOptions.backend, agentId: options.selection.agent, env, settings: settings.user });
    exitCode = await runHeadless(app, { ...options, content }, io);
  } catch (error) {
    exitCode = codeOf(error) === "cancelled" ? stop.exitCode : EXIT_CODES[codeOf(error)];
    if (options.outputFormat === "stream-json") {
      const { code, message } = errorInfo(error);
      const stopReason = code === "cancelled" ? "cancelled" : "error";
      const uuid = "error-startup";
      await output.line({ type: "error", message, stop_reason: stopReason, error: errorInfo(error), uuid });
    }
    await output.result(failureBody(error, io.session, performance.now() - startedAt));
    note(formatError(error, { stack: appOptions.env.debug }));
  } finally {
    const app = await opening.catch(() => null);
    if (app && stop.requested.aborted) app.memorySync.stop();
    if (app) await startDueReflection(app, note);
    await app?.close().catch((error: unknown) => note(formatError(error)));
  }
  await writer.drain();
  if (writer.failure) {
    note(formatError(writer.failure));
    return EXIT_CODES[writer.failure.code];
  }
  // A reader that has seen enough (`| head`) is no failure.
  return writer.closed.aborted ? EXIT_OK : exitCode;
}

/** The memory is looked after by a process of its own, which this one does not wait for: who asked for it in the settings
 *  is told that it runs. */
async function startDueReflection(app: App, note: (text: string) => void): Promise<void> {
  const due = await app.reflection.takeDueAtExit();
  if (due === null) return;
  const { spawnReflection } = await import("@/memory/reflection/at-exit.ts");
  const pid = spawnReflection(due, app);
  note(
    `Looking back on the conversation in the background (process ${pid}). See: letta dream list --agent ${due.agentId}`,
  );
}

async function openApp(options: AppOptions): Promise<App> {
  const app = await import("@/app.ts");
  return app.openApp(options);
}

/** Null when no prompt is needed. */
async function readPrompt(appOptions: AppOptions, options: HeadlessOptions, note: (text: string) => void) {
  const given = options.prompt.trim() !== "" || options.promptFile !== undefined || options.files.length > 0;
  if (options.bidirectional && given) {
    note("the prompt on the command line is not used: --input-format stream-json takes messages from stdin");
  }
  if (options.dryRun || options.bidirectional) return null;
  const [{ buildPrompt }, { readPipedInput }] = await Promise.all([import("./prompt.ts"), import("./stdin.ts")]);
  return buildPrompt({
    prompt: options.prompt,
    ...(options.promptFile !== undefined && { promptFile: options.promptFile }),
    files: options.files,
    cwd: appOptions.cwd,
    readStdin: () => readPipedInput({ mode: options.stdin }),
    note,
  });
}
