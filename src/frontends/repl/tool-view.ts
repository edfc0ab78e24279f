// One tool call as lines: `• Name subject`, then `└ result`. Everything but the bullet and the signs comes from a
// model, a file or a program, and is made plain before it is shown.

import { contentText } from "@/backend/content.ts";
import type { ToolCallInfo, ToolOutcome } from "@/engine/events.ts";
import { formatDuration } from "@/lib/duration.ts";
import { textWidth, toPlainLine, toPlainText, truncate, wrap } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { formatChange, formatDiff, plainPath } from "./diff-view.ts";
import { LIVE_SHELL_LINES, SHELL_RESULT_CHARS, SHELL_RESULT_LINES } from "./limits.ts";
import { SYMBOLS, type Theme } from "./theme.ts";
import { formatTodos } from "./todo-view.ts";

export interface ToolViewOptions {
  theme: Theme;
  columns: number;
  cwd: string;
  /** Ctrl-O shows the rest of what was shortened. */
  expandable: boolean;
}

/** A call whose result is known. `live`: it streamed output (shells). `seenDiff`: the approval already showed it. */
export interface FinishedCall {
  call: ToolCallInfo;
  result: ToolOutcome;
  durationMs: number;
  live: boolean;
  seenDiff: boolean;
}

/** Shown while it runs: the call and the last lines of its output. */
export function runningLines(
  call: ToolCallInfo,
  output: string,
  elapsedMs: number,
  { theme, columns }: ToolViewOptions,
): string[] {
  const elapsed = took(Math.floor(elapsedMs / 1000) * 1000, theme);
  const tail = outputLines(output).slice(-LIVE_SHELL_LINES);
  return [
    truncate(headText(theme.cyan(SYMBOLS.pending), call, theme), columns - 8) + elapsed,
    ...tail.map((line) => theme.dim(truncate(`    ${line}`, columns - 1))),
  ];
}

export function finishedLines(finished: FinishedCall, options: ToolViewOptions): string[] {
  const { theme } = options;
  const head = headLines(finished, options);
  const [first, ...rest] = resultLines(finished, options);
  if (first === undefined) return head;
  return [...head, `  ${theme.dim(SYMBOLS.result)} ${first}`, ...rest.map((line) => `    ${line}`)];
}

/** The call's name and subject and how long it took, at most two rows. */
function headLines({ call, result, durationMs }: FinishedCall, { theme, columns }: ToolViewOptions): string[] {
  const time = took(durationMs, theme);
  const room = Math.max(16, columns - 3);
  const [first = "", ...rest] = wrap(headText(bullet(result, theme), call, theme), room);
  const left = room - textWidth(time);
  if (rest.length === 0 && textWidth(first) <= left) return [first + time];
  return [first, `  ${truncate(rest.join(" "), left)}${rest.length > 0 ? time : time.trimStart()}`];
}

function headText(mark: string, call: ToolCallInfo, theme: Theme): string {
  const subject = toPlainLine(call.title);
  return `${mark} ${theme.bold(toPlainLine(call.tool))}${subject ? ` ${subject}` : ""}`;
}

/** Nothing below a second. */
function took(durationMs: number, theme: Theme): string {
  return durationMs >= 1000 ? theme.dim(` (${formatDuration(durationMs)})`) : "";
}

function bullet(result: ToolOutcome, theme: Theme): string {
  if (result.outcome === "denied" || result.outcome === "interrupted") return theme.yellow(SYMBOLS.denied);
  return result.status === "error" ? theme.red(SYMBOLS.error) : theme.green(SYMBOLS.ok);
}

function resultLines(finished: FinishedCall, { theme, columns, cwd, expandable }: ToolViewOptions): string[] {
  const { call, result, live, seenDiff } = finished;
  const room = Math.max(16, columns - 6);
  const text = withoutEnvelope(contentText(result.output));
  if (result.outcome === "interrupted") return [theme.yellow("interrupted")];
  if (result.outcome === "denied") return [theme.yellow(truncate(toPlainLine(text) || "denied", room))];
  if (result.status === "error") return shortened(text, room, { theme, expandable }).map(theme.red);
  const diffs = result.diff ?? [];
  if (diffs.length > 0)
    return diffs.flatMap((diff) => [
      diffs.length > 1 ? `${plainPath(diff.path, cwd)} ${formatChange(diff, theme)}` : formatChange(diff, theme),
      ...(seenDiff ? [] : formatDiff(diff, { theme, columns: room })),
    ]);
  const todos = formatTodos(call.args, theme);
  if (todos) return todos;
  if (live) return shortened(text, room, { theme, expandable }).map(theme.dim);
  const summary = toPlainLine(result.summary ?? outputLines(text)[0] ?? "");
  return [theme.dim(truncate(summary || "done", room))];
}

/** The last lines of an output, where a command says how it went, and how many there are before them. Never one hidden
 *  line: saying so would take as much room as the line. */
function shortened(
  text: string,
  room: number,
  { theme, expandable }: Pick<ToolViewOptions, "theme" | "expandable">,
): string[] {
  const lines = outputLines(text);
  if (lines.length === 0) return ["(no output)"];
  let chars = 0;
  const shown: string[] = [];
  const count = lines.length === SHELL_RESULT_LINES + 1 ? lines.length : SHELL_RESULT_LINES;
  for (const line of lines.slice(-count).reverse()) {
    if (chars > SHELL_RESULT_CHARS) break;
    shown.unshift(truncate(line, Math.min(room, Math.max(20, SHELL_RESULT_CHARS - chars))));
    chars += line.length;
  }
  const more = lines.length - shown.length;
  return more > 0 ? [theme.dim(`… ${plural(more, "more line")}${expandable ? " (Ctrl-O)" : ""}`), ...shown] : shown;
}

/** What a model needs to go on with a session says nothing to people; its output and its end do. */
function withoutEnvelope(text: string): string {
  const match = ENVELOPE.exec(text);
  if (!match) return text;
  const [head, state = ""] = match;
  const end = state === "Process exited with code 0" ? "" : `\n${state}`;
  return text.slice(head.length) + end;
}

const ENVELOPE =
  /^Chunk ID: [0-9a-f]{6}\nWall time: [\d.]+ seconds\n(Process .*)\nOriginal token count: \d+\nOutput:\n/;

function outputLines(text: string): string[] {
  return toPlainText(text)
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
}
