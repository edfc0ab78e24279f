// `letta --subagent-stdio 1`: the child's side of subagents/launch-child.ts. The first line of stdin says what it is and
// what it is to do; what follows are lines of `--input-format stream-json`, and the end of stdin is the end of its work.

import * as v from "valibot";
import type { RootContext } from "@/commands/root.ts";
import { EXIT_CODES } from "@/exit-codes.ts";
import { LettaError } from "@/lib/errors.ts";
import { parseJson } from "@/lib/json.ts";
import { describeIssue } from "@/lib/schema-issue.ts";
import { LAUNCH_VERSION, type Launch, LaunchSchema } from "@/subagents/launch.ts";

export interface SubagentStart {
  launch: Launch;
  /** The prompt as the first line, and what came behind the launch. */
  stdin: ReadableStream<Uint8Array>;
}

/** Longer than any prompt. */
const MAX_LAUNCH_BYTES = 16 * 1024 * 1024;
const NEWLINE = 10;

/** Throws `usage` or `invalid_data` for a launch this version does not understand. */
export async function readLaunch(stdin: ReadableStream<Uint8Array>): Promise<SubagentStart> {
  const reader: LineReader = stdin.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || !value) throw new LettaError("usage", "stdin ended before it said what to do");
    const end = value.indexOf(NEWLINE);
    parts.push(end === -1 ? value : value.subarray(0, end));
    size += parts.at(-1)!.length;
    if (size > MAX_LAUNCH_BYTES) throw new LettaError("usage", "the first line of stdin is too long");
    if (end === -1) continue;
    const launch = parseLaunch(Buffer.concat(parts).toString("utf8"));
    return { launch, stdin: rest(launch, value.subarray(end + 1), reader) };
  }
}

function parseLaunch(text: string): Launch {
  const json = parseJson(text);
  const version = typeof json === "object" && json !== null && "v" in json ? json.v : undefined;
  if (typeof version === "number" && version > LAUNCH_VERSION) {
    throw new LettaError(
      "usage",
      `this version of letta understands launches of version ${LAUNCH_VERSION}, not ${version}`,
    );
  }
  const parsed = v.safeParse(LaunchSchema, json);
  if (parsed.success) return parsed.output;
  throw new LettaError("invalid_data", `the first line of stdin is no launch: ${describeIssue(parsed.issues[0])}`);
}

interface LineReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

function rest(launch: Launch, read: Uint8Array, reader: LineReader) {
  const first = `${JSON.stringify({ type: "user", message: { role: "user", content: launch.prompt } })}\n`;
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.concat([Buffer.from(first), read])),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done || !value) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => reader.cancel(),
  });
}

export async function startSubagent(context: RootContext): Promise<number> {
  let start: SubagentStart;
  try {
    start = await readLaunch(Bun.stdin.stream());
  } catch (error) {
    const { formatError, codeOf } = await import("@/lib/errors.ts");
    console.error(formatError(error));
    return EXIT_CODES[codeOf(error)];
  }
  const { launch, stdin } = start;
  const { startHeadless } = await import("./start.ts");
  const { limits, permissions, memory } = launch;
  return startHeadless(
    {
      cwd: launch.cwd,
      env: context.env,
      label: "headless",
      backend: launch.backend,
      permissionMode: permissions.mode,
      allowedTools: permissions.allow,
      disallowedTools: permissions.deny,
      // Whoever started it answers for the person.
      interactive: true,
      // By the names its prompt knows, whatever the model's family.
      ...(launch.tools && { tools: launch.tools, toolset: "default" }),
      systemInfoReminder: false,
      ephemeral: true,
      ...(memory && { memoryScope: { dir: memory.dir, readable: memory.readable } }),
    },
    {
      selection: {
        mode: "headless",
        continueLast: false,
        newConversation: false,
        newAgent: false,
        chooseConversation: false,
        ephemeral: true,
        ...(launch.model !== null && { model: launch.model }),
        system: { text: launch.system_prompt },
        save: false,
        tags: launch.agent.tags,
      },
      outputFormat: "stream-json",
      bidirectional: true,
      partialMessages: false,
      prompt: "",
      files: [],
      stdin: "never",
      dryRun: false,
      systemInfoReminder: false,
      limits: {
        ...(limits.max_turns !== undefined && { maxTurns: limits.max_turns }),
        ...(limits.timeout_s !== undefined && { timeoutMs: limits.timeout_s * 1000 }),
      },
    },
    { stdin: () => stdin },
  );
}
