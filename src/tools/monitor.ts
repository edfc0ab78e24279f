// Watches a command or a WebSocket; what it says arrives as notifications between and during turns.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { escapeXml } from "./background.ts";
import { commandEnv } from "./command-env.ts";
import { defineTool } from "./define-tool.ts";
import { clamp } from "./exec-command.ts";
import { MONITOR_TIMEOUT_MS } from "./limits.ts";
import description from "./monitor.md" with { type: "text" };
import { MonitorEvents } from "./monitor-events.ts";
import { parseSocketUrl, watchSocket } from "./monitor-source.ts";
import { OutputFile } from "./output-file.ts";
import type { OutputReader } from "./secret-guard.ts";
import type { AdoptedTask, ToolServices } from "./services.ts";
import type { RunningShell } from "./shell.ts";
import { checkCommandText } from "./shell-checks.ts";
import { asProven } from "./shell-run.ts";

const Args = v.strictObject({
  description: v.pipe(v.string(), v.nonEmpty("must not be empty"), v.description("What is watched, in 3-8 words")),
  command: v.optional(v.string()),
  ws: v.optional(v.strictObject({ url: v.string(), protocols: v.optional(v.array(v.string()), []) })),
  timeout_ms: v.optional(v.pipe(v.number(), v.minValue(MONITOR_TIMEOUT_MS.min))),
  persistent: v.optional(v.boolean(), false),
});
type Args = v.InferOutput<typeof Args>;

export const monitorTool = defineTool({
  name: "Monitor",
  toolsets: { default: "Monitor", codex: "Monitor" },
  description,
  args: Args,
  targets: (args, { cwd }) => {
    const source = sourceOf(args);
    return "command" in source
      ? [{ kind: "shell", command: source.command, cwd }]
      : [{ kind: "url", url: source.url.href }];
  },
  title: (args) => args.description,
  // A run that ends with its answer would end the watch before most events; a command in the background and TaskOutput
  // serve there.
  resident: true,
  run: async (args, context) => {
    const { services, agentId, conversationId } = context;
    const source = sourceOf(args);
    services.background.ensureRoom();
    const stderrFile = services.background.pathFor(`monitor-${context.toolCallId.replace(/\W/g, "_")}.stderr.log`);
    const env = "command" in source ? await commandEnv(source.command, context) : {};
    const errors = "command" in source ? openLog(stderrFile, services.secrets) : null;
    let push = (_: Uint8Array): void => {};
    const shell =
      "command" in source
        ? services.shells.start(
            asProven({ command: source.command, cwd: context.cwd, env }, context),
            (bytes) => push(bytes),
            (bytes) => errors?.push(bytes),
          )
        : watchSocket(source.url, args.ws?.protocols ?? [], (line) => push(Buffer.from(`${line}\n`)));
    const title = "command" in source ? source.command : source.url.href;
    const task = services.background.adopt(shell, { agentId, conversationId, title, as: "monitor" });
    push = watch(shell, task, { args, text: services.secrets.openOutput() });
    void shell.closed.then(() => errors?.close());
    const { id, outputFile } = task.task;
    return {
      status: "success",
      output: `Watching as ${id}. You are told about each event; there is no need to wait or look.\nOutput file: ${outputFile}${"command" in source ? `\nIts stderr: ${stderrFile}` : ""}`,
      summary: `watching as ${id}`,
    };
  },
});

/** Exactly one of command and ws. Throws ToolError. */
function sourceOf({ command = "", ws }: Args): { command: string } | { url: URL } {
  if ((command.trim() === "") === (ws === undefined)) throw new ToolError("Monitor needs either command or ws.");
  if (ws !== undefined) return { url: parseSocketUrl(ws) };
  checkCommandText(command);
  return { command };
}

/** What goes into a file of its own. */
function openLog(path: string, secrets: ToolServices["secrets"]): { push(bytes: Uint8Array): void; close(): void } {
  const file = new OutputFile(path);
  const text = secrets.openOutput();
  return {
    push: (bytes) => file.write(text.push(bytes).text),
    close: () => {
      file.write(text.finish().text);
      file.close();
    },
  };
}

/** Returns where the source's output goes. */
function watch(
  shell: RunningShell,
  task: AdoptedTask,
  { args, text }: { args: Args; text: OutputReader },
): (output: Uint8Array) => void {
  const timeoutMs = clamp(args.timeout_ms, MONITOR_TIMEOUT_MS);
  let open = "";
  const take = (piece: string): void => {
    const lines = (open + piece).split("\n");
    open = lines.pop()!.slice(0, MAX_OPEN_CHARS);
    for (const line of lines) events.push(line);
  };
  let stopped = "";
  const tell = (summary: string, result: string): void => task.tell(notificationOf(task.task.id, summary, result));
  const stop = (reason: string): void => {
    stopped = reason;
    void shell.kill();
  };
  const events = new MonitorEvents({
    emit: (text) => tell(`Monitor event: "${args.description}"`, `<event>${escapeXml(text)}</event>`),
    flooded: () => stop("was stopped: too many events. Start it again with a command that filters"),
  });
  const timer = args.persistent
    ? undefined
    : setTimeout(() => stop(`was ended after ${timeoutMs} ms. Start it again if you still need it`), timeoutMs);
  timer?.unref?.();
  // It tells its own end.
  task.attended = true;
  void Promise.all([shell.exited, shell.closed]).then(([code]) => {
    clearTimeout(timer);
    take(`${text.finish().text}\n`);
    events.close();
    if (task.task.state === "stopped") return;
    const quiet = events.count === 0 ? " without output" : "";
    const how = stopped || (code === 0 ? `ended${quiet}` : `failed${quiet} (exit code ${code})`);
    tell(`Monitor "${args.description}" ${how}.`, "");
  });
  return (output) => {
    task.push(output);
    take(text.push(output).text);
  };
}

/** Of a line that has not ended. */
const MAX_OPEN_CHARS = 4_000;

function notificationOf(id: string, summary: string, result: string): string {
  return `<task-notification><task-id>${id}</task-id><summary>${escapeXml(summary)}</summary><result>${result}</result></task-notification>`;
}
