// Starts a child agent, a process of this program in a group of its own, and reads what it says. It ends with its job,
// its time, its output limit, an abort, or its parent: also when that is killed, its watchdog leaves nothing of it behind.

import { randomUUID } from "node:crypto";
import * as v from "valibot";
import { type InputLine, readInputLines } from "@/lib/input-lines.ts";
import { parseJson } from "@/lib/json.ts";
import { killTree, MARK_VARIABLE } from "@/lib/process-tree.ts";
import { selfCommand } from "@/lib/self.ts";
import { takeTail } from "@/lib/text.ts";
import type { Watchdog } from "@/lib/watchdog.ts";
import { CHILD_ARGS, childEnv, type Launch, launchLine } from "./launch.ts";

export interface LaunchOptions {
  env: Readonly<Record<string, string | undefined>>;
  parentAgentId: string;
  watchdog: Watchdog;
  signal: AbortSignal;
  /** From start to end. */
  timeoutMs: number;
  /** Of stdout; more ends the child. */
  maxOutputBytes: number;
  /** Calls the child makes, as they come. */
  onToolCall?(call: { name: string; argumentsText: string }): void;
  /** Default: this program. */
  command?: string[];
}

/** One answer of the child to one message. */
export type ChildAnswer =
  /** `report` null: it ended without a word. */
  | { status: "answered"; report: string | null; usage: ChildUsage }
  | { status: "failed"; error: string; usage: ChildUsage };

export type ChildEnd =
  | { status: "ended" }
  /** `error`: for people; names the exit code or quotes stderr. */
  | { status: "failed" | "timed_out" | "flooded" | "stopped"; error: string };

export interface ChildUsage {
  steps: number;
  totalTokens: number;
  costUsd: number | null;
}

export interface Child {
  readonly pid: number;
  /** Its answer to the last message that was sent; `failed` when it ended first. */
  answer(): Promise<ChildAnswer>;
  /** A further message. */
  send(text: string): void;
  /** No more messages: it may end. Resolves when nothing of it is left. */
  finish(): Promise<ChildEnd>;
}

const KILL_PAUSES = { afterIntMs: 3_000, afterTermMs: 5_000 };
/** A child that was told that nothing more comes ends by itself within this time. */
const FINISH_MS = 10_000;
const STDERR_CHARS = 4_000;
const MAX_LINE_BYTES = 16 * 1024 * 1024;

const LineSchema = v.variant("type", [
  v.object({
    type: v.literal("result"),
    is_error: v.boolean(),
    result: v.nullish(v.string()),
    num_turns: v.optional(v.number(), 0),
    usage: v.nullish(v.object({ total_tokens: v.optional(v.number(), 0), cost_usd: v.optional(v.number()) })),
    error: v.nullish(v.object({ message: v.string() })),
  }),
  v.object({
    type: v.literal("message"),
    message_type: v.optional(v.string()),
    tool_call: v.nullish(v.object({ name: v.string(), arguments: v.optional(v.string(), "{}") })),
  }),
  v.object({ type: v.literal("control_request"), request_id: v.string() }),
]);

type ResultLine = Extract<v.InferOutput<typeof LineSchema>, { type: "result" }>;

export function launchChild(launch: Launch, options: LaunchOptions): Child {
  return new RunningChild(launch, options);
}

class RunningChild implements Child {
  readonly #options: LaunchOptions;
  readonly #mark = `letta-child-${randomUUID()}`;
  readonly #child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  readonly #answers: ChildAnswer[] = [];
  readonly #waiting: ((answer: ChildAnswer) => void)[] = [];
  readonly #stopReading = new AbortController();
  readonly #over: Promise<ChildEnd>;
  #cause: Exclude<ChildEnd, { status: "ended" }> | null = null;
  #killing: Promise<void> | null = null;
  #stderr = "";
  #bytes = 0;
  #isOver = false;
  /** Messages without an answer. */
  #owed = 1;

  constructor(launch: Launch, options: LaunchOptions) {
    this.#options = options;
    const { watchdog, signal, timeoutMs, env, parentAgentId, command = selfCommand() } = options;
    watchdog.begin(this.#mark);
    try {
      this.#child = Bun.spawn([...command, ...CHILD_ARGS], {
        cwd: launch.cwd,
        env: childEnv(launch, { env, parentAgentId, mark: { name: MARK_VARIABLE, value: this.#mark } }),
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
        // A group of its own: what it starts ends with it, and Ctrl-C in the terminal is not for it.
        detached: true,
      });
    } catch (error) {
      watchdog.end(this.#mark);
      throw error;
    }
    watchdog.started(this.#mark, this.#child.pid);
    const timer = setTimeout(() => {
      this.#stop({ status: "timed_out", error: `it had not ended after ${Math.round(timeoutMs / 1000)} s` });
    }, timeoutMs);
    const onAbort = () => this.#stop({ status: "stopped", error: "it was stopped" });
    signal.addEventListener("abort", onAbort, { once: true });
    this.#write(launchLine(launch));
    this.#over = this.#run().finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      watchdog.end(this.#mark);
    });
    if (signal.aborted) onAbort();
  }

  get pid(): number {
    return this.#child.pid;
  }

  async answer(): Promise<ChildAnswer> {
    const next = this.#answers.shift();
    if (next) return next;
    if (this.#isOver) return this.#noAnswer(await this.#over);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  send(text: string): void {
    this.#owed += 1;
    this.#write(`${JSON.stringify({ type: "user", message: { role: "user", content: text } })}\n`);
  }

  async finish(): Promise<ChildEnd> {
    try {
      await this.#child.stdin.end();
    } catch {
      // It has ended already.
    }
    const timer = setTimeout(
      () => this.#stop({ status: "failed", error: "it did not end when its work was done" }),
      FINISH_MS,
    );
    const end = await this.#over;
    clearTimeout(timer);
    return end;
  }

  async #run(): Promise<ChildEnd> {
    await Promise.all([this.#readOutput(), this.#readErrors(), this.#child.exited]);
    await this.#killing;
    // What it left running is not left running.
    await killTree({ pid: this.#child.pid, mark: this.#mark, leaderGone: true }, KILL_PAUSES);
    const code = this.#child.exitCode;
    const failure =
      this.#stderr.trim().split("\n").at(-1) || `it ended with ${this.#child.signalCode ?? `code ${code}`}`;
    const end: ChildEnd =
      this.#cause ?? (code === 0 && this.#owed <= 0 ? { status: "ended" } : { status: "failed", error: failure });
    this.#isOver = true;
    for (const resolve of this.#waiting.splice(0)) resolve(this.#noAnswer(end));
    return end;
  }

  #noAnswer(end: ChildEnd): ChildAnswer {
    const error = end.status === "ended" ? "it ended without an answer" : end.error;
    return { status: "failed", error, usage: NO_USAGE };
  }

  async #readOutput(): Promise<void> {
    const { maxOutputBytes } = this.#options;
    const counted = this.#child.stdout.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (bytes, controller) => {
          this.#bytes += bytes.length;
          if (this.#bytes > maxOutputBytes) {
            this.#stop({
              status: "flooded",
              error: `it printed more than ${Math.round(maxOutputBytes / 1024 / 1024)} MB`,
            });
            // Still read, so that it can end; nothing of it is kept.
            return;
          }
          controller.enqueue(bytes);
        },
      }),
    );
    try {
      for await (const line of readInputLines(counted, this.#stopReading.signal, MAX_LINE_BYTES)) this.#take(line);
    } catch {
      // The pipe broke: the exit code says why.
    }
  }

  async #readErrors(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stderr) {
      this.#stderr = takeTail(this.#stderr + decoder.decode(bytes, { stream: true }), STDERR_CHARS);
    }
  }

  #take(line: InputLine): void {
    if (line.status !== "line") return;
    const parsed = v.safeParse(LineSchema, parseJson(line.text));
    if (!parsed.success) return;
    const message = parsed.output;
    switch (message.type) {
      case "control_request":
        this.#refuse(message.request_id);
        break;
      case "message":
        if (message.message_type === "tool_call_message" && message.tool_call) {
          const { name, arguments: argumentsText } = message.tool_call;
          this.#options.onToolCall?.({ name, argumentsText });
        }
        break;
      case "result":
        this.#takeResult(message);
    }
  }

  #takeResult(message: ResultLine): void {
    const { is_error, result, error, num_turns: steps, usage: used } = message;
    const usage = { steps, totalTokens: used?.total_tokens ?? 0, costUsd: used?.cost_usd ?? null };
    this.#owed -= 1;
    this.#deliver(
      is_error
        ? { status: "failed", error: error?.message ?? result ?? "its turn failed", usage }
        : { status: "answered", report: result ?? null, usage },
    );
  }

  #deliver(answer: ChildAnswer): void {
    const resolve = this.#waiting.shift();
    if (resolve) resolve(answer);
    else this.#answers.push(answer);
  }

  /** Nobody is there to be asked. */
  #refuse(requestId: string): void {
    const response = {
      subtype: "success",
      request_id: requestId,
      response: { behavior: "deny", message: "Nobody is there to be asked. Work with what you may do without asking." },
    };
    this.#write(`${JSON.stringify({ type: "control_response", response })}\n`);
  }

  #write(text: string): void {
    try {
      this.#child.stdin.write(text);
      void this.#child.stdin.flush();
    } catch {
      // It has ended; whoever waits for an answer learns it.
    }
  }

  #stop(cause: Exclude<ChildEnd, { status: "ended" }>): void {
    if (this.#cause || this.#isOver) return;
    this.#cause = cause;
    this.#killing ??= killTree({ pid: this.#child.pid, mark: this.#mark }, KILL_PAUSES).then(() => {
      // A process nobody could end may hold the pipe.
      this.#stopReading.abort();
    });
  }
}

const NO_USAGE: ChildUsage = { steps: 0, totalTokens: 0, costUsd: null };
