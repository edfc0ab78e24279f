// Every event of a turn → what is shown for it. One exhaustive switch; a new event fails to compile here. Finished lines
// go to the scrollback once; what still changes (text being written, running tools) is asked for with `liveLines`.

import { contentText } from "@/backend/content.ts";
import type { EngineEvent, ToolCallInfo, TurnResult } from "@/engine/events.ts";
import { formatDuration } from "@/lib/duration.ts";
import { textWidth, toPlainLine, truncate, wrap } from "@/lib/terminal-text.ts";
import { shortCount } from "@/lib/text.ts";
import { type FlowOutput, markdownFlow, plainFlow, type TextFlow } from "./text-flow.ts";
import { SYMBOLS, type Theme } from "./theme.ts";
import { finishedLines, runningLines, type ToolViewOptions } from "./tool-view.ts";

export interface RendererOptions {
  output: FlowOutput;
  theme: Theme;
  columns(): number;
  cwd(): string;
  /** The bottom area can be drawn again. */
  interactive: boolean;
  now(): number;
}

/** What was printed last, for the blank lines between. */
type Block = "none" | "text" | "ended" | "tool" | "notice" | "user" | "question" | "answer";

interface RunningCall {
  call: ToolCallInfo;
  output: string;
  live: boolean;
  startedAt: number | null;
}

/** Live output kept per running call; more scrolls away. */
const LIVE_OUTPUT_CHARS = 20_000;
const REASONING_ROWS = 3;

export class EventRenderer {
  /** What the agent is doing, for the busy line. */
  activity = "Working";
  /** The whole result of the last call that was shortened, for Ctrl-O. */
  lastOutput: string | null = null;
  readonly #text: TextFlow;
  readonly #calls = new Map<string, RunningCall>();
  readonly #seenDiffs = new Set<string>();
  /** Calls the person denied: the reason stands there already. */
  readonly #refused = new Set<string>();
  #reasoning: { text: string; startedAt: number } | null = null;
  #last: Block = "none";
  /** The text being written; another one is another message. */
  #otid = "";

  constructor(private readonly options: RendererOptions) {
    const output: FlowOutput = {
      commit: (lines) => this.#commit("text", lines),
      append: (text) => {
        if (!this.#text.open) this.#gapBefore("text");
        options.output.append(text);
      },
    };
    const markdown = { columns: () => Math.min(options.columns() - 1, 100), colors: options.theme.colors };
    this.#text = options.interactive ? markdownFlow(output, markdown) : plainFlow(output);
  }

  show(event: EngineEvent): void {
    const { theme } = this.options;
    switch (event.type) {
      case "turn_started":
      case "step_started":
        this.activity = "Working";
        break;
      case "text_delta":
        this.#endReasoning();
        if (event.otid !== this.#otid) this.#endText();
        this.#otid = event.otid;
        this.activity = "Writing";
        this.#text.push(event.text);
        break;
      case "reasoning_delta":
        this.#endText();
        this.activity = "Thinking";
        this.#reasoning ??= { text: "", startedAt: this.options.now() };
        this.#reasoning.text = (this.#reasoning.text + event.text).slice(-4000);
        break;
      case "tool_call":
        this.#endFlows();
        this.#calls.set(event.call.toolCallId, { call: event.call, output: "", live: false, startedAt: null });
        break;
      case "auto_decided":
        break; // the call's own lines say how it ended
      case "approval_requested":
        this.#endFlows();
        this.activity = "Waiting for your answer";
        if (event.diffs.length > 0) this.#seenDiffs.add(event.call.toolCallId);
        break;
      case "approval_resolved":
        this.activity = "Working";
        if (event.behavior === "deny") this.#refused.add(event.call.toolCallId);
        break;
      case "tool_started":
        this.#startCall(event.call);
        break;
      case "tool_output":
        this.#addOutput(event.toolCallId, event.text);
        break;
      case "tool_finished":
        this.#finishCall(event);
        break;
      case "context_added":
        break; // the call's own line says it
      case "retry":
        this.#endFlows();
        this.activity = "Retrying";
        this.#notice(
          theme.yellow,
          `Retry ${event.attempt} of ${event.maxAttempts} in ${formatDuration(event.delayMs)}: ${event.reason}`,
        );
        break;
      case "recovery":
        this.#notice(theme.yellow, event.message);
        break;
      case "compaction":
        this.#endFlows();
        this.#notice(theme.dim, describeCompaction(event));
        break;
      case "step_finished":
        this.#endFlows();
        break;
      case "notice":
        this.#endFlows();
        if (event.level === "error") this.#notice(theme.red, `${SYMBOLS.error} ${event.text}`);
        else if (event.level === "warning") this.#notice(theme.yellow, `${SYMBOLS.warning} ${event.text}`);
        else this.#notice(theme.dim, event.text);
        break;
      case "turn_ended":
        this.#endTurn(event.result);
        break;
      default:
        event satisfies never;
    }
  }

  /** The rows that still change, oldest first; at most `rows`. */
  liveLines(rows: number): string[] {
    const { theme, now } = this.options;
    const columns = this.options.columns();
    const lines: string[] = [];
    if (this.#reasoning) {
      const text = wrap(toPlainLine(this.#reasoning.text), columns - 3).slice(-REASONING_ROWS);
      lines.push(...text.map((line) => theme.dim(`  ${line}`)));
    }
    const tail = this.#text.tail();
    if (tail.length > 0) lines.push(...tail);
    for (const { call, output, startedAt } of this.#calls.values()) {
      const elapsed = startedAt === null ? 0 : now() - startedAt;
      lines.push(...runningLines(call, output, elapsed, this.#view()));
    }
    const gap = lines.length > 0 && this.#last !== "none" && (this.#last !== "text" || tail.length === 0) ? [""] : [];
    return [...gap, ...lines].slice(-Math.max(0, rows));
  }

  /** Finished lines of the front end itself stand apart like the turn's own. */
  print(lines: string[], block: "notice" | "user" | "question" | "answer" = "notice"): void {
    this.#endFlows();
    this.#commit(block, lines);
  }

  /** The next block starts without a blank line before it (after a header, a cleared screen). */
  reset(): void {
    this.#last = "none";
  }

  #startCall(call: ToolCallInfo): void {
    const running = this.#calls.get(call.toolCallId) ?? { call, output: "", live: false, startedAt: null };
    running.startedAt = this.options.now();
    this.#calls.set(call.toolCallId, running);
    this.activity = `Running ${toPlainLine(call.tool)}`;
  }

  #addOutput(toolCallId: string, text: string): void {
    const running = this.#calls.get(toolCallId);
    if (!running) return;
    running.live = true;
    running.output = (running.output + text).slice(-LIVE_OUTPUT_CHARS);
  }

  #finishCall({ call, result, durationMs }: Extract<EngineEvent, { type: "tool_finished" }>): void {
    const live = this.#calls.get(call.toolCallId)?.live ?? false;
    this.#calls.delete(call.toolCallId);
    const refused = this.#refused.delete(call.toolCallId);
    const shown = refused && result.outcome === "denied" ? { ...result, output: "denied" } : result;
    const finished = { call, result: shown, durationMs, live, seenDiff: this.#seenDiffs.delete(call.toolCallId) };
    this.#endFlows();
    this.#commit("tool", finishedLines(finished, this.#view()));
    if (live || result.status === "error") this.lastOutput = contentText(result.output);
    this.activity = "Working";
  }

  #view(): ToolViewOptions {
    const { theme, columns, cwd, interactive } = this.options;
    return { theme, columns: columns(), cwd: cwd(), expandable: interactive };
  }

  #endTurn(result: TurnResult): void {
    const { theme } = this.options;
    this.#endFlows();
    this.#calls.clear();
    this.#seenDiffs.clear();
    this.#refused.clear();
    if (result.status === "completed") return;
    if (result.status === "interrupted") {
      this.#notice(theme.yellow, "Interrupted. Say what to do differently.");
      return;
    }
    const { error } = result;
    const message = error?.message ?? `stopped: ${result.stopReason}`;
    if (result.status === "limit") this.#notice(theme.yellow, `${SYMBOLS.warning} ${message}`);
    else this.#notice(theme.red, `${SYMBOLS.error} ${message}`);
    if (error?.hint) this.#notice((line) => theme.dim(`  ${line}`), error.hint);
  }

  #notice(paint: (text: string) => string, text: string): void {
    const columns = this.options.columns() - 1;
    this.#commit(
      "notice",
      wrap(toPlainLine(text), columns - 2).map((line, index) => paint(`${index === 0 ? "" : "  "}${line}`)),
    );
  }

  #endFlows(): void {
    this.#endReasoning();
    this.#endText();
  }

  #endText(): void {
    if (!this.#text.open) return;
    this.#text.finish();
    this.#last = "ended";
  }

  #endReasoning(): void {
    if (!this.#reasoning) return;
    const { theme, now } = this.options;
    const took = formatDuration(now() - this.#reasoning.startedAt);
    this.#reasoning = null;
    this.#commit("notice", [theme.dim(`thought for ${took}`)]);
  }

  #commit(block: Block, lines: string[]): void {
    if (lines.length === 0) return;
    this.#gapBefore(block);
    this.options.output.commit(lines);
  }

  /** One blank line where the kind of output changes; text puts its own between its blocks. */
  #gapBefore(block: Block): void {
    const apart = block !== "answer" && (this.#last !== block || block === "user" || block === "question");
    if (this.#last !== "none" && apart) this.options.output.commit([""]);
    this.#last = block;
  }
}

function describeCompaction({ stats, trigger }: Extract<EngineEvent, { type: "compaction" }>): string {
  const why = trigger === "manual" ? "" : " (context window)";
  if (!stats) return `History compacted${why}`;
  const messages = `${stats.messages_count_before} → ${stats.messages_count_after} messages`;
  const { context_tokens_before: before, context_tokens_after: after } = stats;
  const tokens = before && after ? `, ${shortCount(before)} → ${shortCount(after)} tokens` : "";
  return `History compacted${why}: ${messages}${tokens}`;
}

/** The busy line: spinner, what happens, how long, how much; in a narrow terminal whole facts go, not letters. */
export function busyLine(
  { activity, elapsedMs, tokens, frame }: { activity: string; elapsedMs: number; tokens: number; frame: string },
  theme: Theme,
  columns: number,
): string {
  const facts = [
    elapsedMs >= 1000 ? formatDuration(Math.floor(elapsedMs / 1000) * 1000) : "",
    tokens >= 100 ? `${shortCount(tokens)} tokens` : "",
    "esc to interrupt",
  ].filter(Boolean);
  const line = (): string => `${theme.cyan(frame)} ${activity}… ${theme.dim(`(${facts.join(" · ")})`)}`;
  while (facts.length > 1 && textWidth(line()) >= columns) facts.splice(-2, 1);
  return truncate(line(), columns - 1);
}
