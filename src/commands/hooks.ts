// `letta hooks`: which hooks there are, and what each says to a sample event. Testing runs the hooks themselves and
// nothing else: no tool, no message, no turn.

import { defineCommand } from "citty";
import type { App } from "@/app.ts";
import { type ConfiguredHook, hookLabel } from "@/hooks/config.ts";
import { SAMPLES } from "@/hooks/samples.ts";
import type { HookRun } from "@/hooks/service.ts";
import { LettaError } from "@/lib/errors.ts";
import { isRecord, parseJson } from "@/lib/json.ts";
import { findNearest } from "@/lib/nearest.ts";
import { renderTable } from "@/lib/table.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { HOOK_EVENTS, type HookEvent } from "@/store/hook-settings.ts";
import { withApp } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present, tableOptions } from "./output.ts";
import { processAsking } from "./secret-input.ts";

const list = defineCommand({
  meta: { name: "list", description: "The hooks configured here, in the order they run" },
  args: outputArgs,
  run: ({ args, data }) => withApp(data, (app, io) => runHooksList(app, args, io)),
});

const test = defineCommand({
  meta: { name: "test", description: "Run the hooks of one event on a sample or given input, and nothing else" },
  args: {
    event: { type: "positional", description: HOOK_EVENTS.join(", ") },
    input: { type: "string", valueHint: "JSON", description: "Fields of the input; - reads them from standard input" },
    tool: { type: "string", valueHint: "NAME", description: "Tool of the sample call (default: Bash)" },
    ...outputArgs,
  },
  run: ({ args, data }) => withApp(data, (app, io) => runHooksTest(app, args, { ...io, ...processAsking() })),
});

export const command = defineCommand({ subCommands: { list, test }, default: "list" });

type HooksApp = Pick<App, "hooks" | "cwd">;

export async function runHooksList(app: HooksApp, args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, () => app.hooks.list().map(describeHook), {
    text: (hooks) => {
      if (hooks.length === 0) return "No hooks. They are the `hooks` key of a settings file; see the README.\n";
      const columns = [
        { title: "EVENT" },
        { title: "TOOLS" },
        { title: "HOOK", shrink: true },
        { title: "SOURCE" },
        { title: "" },
      ];
      const rows = hooks.map(({ event, matcher, hook, source, inert }) => [
        event,
        escapeDeceptive(matcher || "*"),
        escapeDeceptive(hook),
        source,
        inert ? `inert: ${inert}` : "",
      ]);
      return renderTable(columns, rows, tableOptions(io));
    },
  });
}

export interface HooksTestArgs extends OutputArgs {
  event?: string;
  input?: string;
  tool?: string;
}

/** Exit code 1 when a hook failed; one that denies has worked. */
export async function runHooksTest(
  app: HooksApp,
  args: HooksTestArgs,
  io: Io & { readStdin(): Promise<string> },
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const event = findEvent(args.event ?? "");
      const input = { ...SAMPLES[event], ...(args.tool && { tool_name: args.tool }), ...(await givenInput(args, io)) };
      const tool = typeof input.tool_name === "string" ? [input.tool_name] : undefined;
      const signal = new AbortController().signal;
      const place = { agentId: null, conversationId: "conv-sample", cwd: app.cwd, model: null, signal };
      const { runs } = await app.hooks.run({ ...input, event_type: event }, place, tool);
      const inert = app.hooks.list().filter((hook) => hook.event === event && hook.inert !== undefined);
      return { event, input, runs: runs.map(describeRun), inert: inert.map(describeHook) };
    },
    {
      text: ({ event, runs, inert }) =>
        [
          ...(runs.length === 0 ? [`No ${event} hook runs for this input.`] : runs.flatMap(runLines)),
          ...inert.map(({ hook, inert: reason }) => `not run: ${escapeDeceptive(hook)} (${reason})`),
          "",
        ].join("\n"),
      exitCode: ({ runs }) => (runs.every(({ status }) => status === "ok") ? 0 : 1),
    },
  );
}

function describeHook({ event, matcher, definition, source, inert }: ConfiguredHook) {
  const { type, timeout = null, quiet = false } = definition;
  return { event, matcher, type, hook: hookLabel({ definition }), source, timeout, quiet, inert: inert ?? null };
}

function describeRun({ hook, status, exitCode, durationMs, answer, stdout, stderr, problem }: HookRun) {
  const { decision, reason, updatedInput, additionalContext, continues } = answer;
  return {
    hook: hookLabel(hook),
    source: hook.source,
    status,
    exit_code: exitCode,
    duration_ms: Math.round(durationMs),
    decision,
    reason,
    updated_input: updatedInput,
    additional_context: additionalContext,
    continue: continues,
    stdout,
    stderr,
    problem,
  };
}

function runLines(run: ReturnType<typeof describeRun>): string[] {
  const exit = run.exit_code === null ? run.status : `exit ${run.exit_code}`;
  const decision = run.decision === null ? "no decision" : `${run.decision}${run.reason ? `: ${run.reason}` : ""}`;
  const details: [string, string | null][] = [
    ["problem", run.problem],
    ["rewrites", run.updated_input && JSON.stringify(run.updated_input)],
    ["context", run.additional_context],
    ["turn", run.continue ? null : "ends here"],
    ["stdout", run.stdout.trim() || null],
    ["stderr", run.stderr.trim() || null],
  ];
  return [
    `${escapeDeceptive(run.hook)} (${run.source})`,
    `  ${exit} after ${run.duration_ms} ms, ${escapeDeceptive(decision)}`,
    ...details.flatMap(([name, text]) => (text === null ? [] : [`  ${name}: ${escapeDeceptive(text)}`])),
  ];
}

function findEvent(typed: string): HookEvent {
  const wanted = typed.toLowerCase();
  const event = HOOK_EVENTS.find((name) => name.toLowerCase() === wanted);
  if (event) return event;
  const near = findNearest(typed, [...HOOK_EVENTS]);
  const hint = near ? `Did you mean ${near}?` : `One of: ${HOOK_EVENTS.join(", ")}.`;
  throw new LettaError("usage", `there is no hook event "${typed}"`, { hint });
}

async function givenInput({ input }: HooksTestArgs, io: { readStdin(): Promise<string> }) {
  if (input === undefined) return {};
  const value = parseJson(input === "-" ? await io.readStdin() : input);
  if (isRecord(value)) return value;
  throw new LettaError("usage", "--input takes a JSON object", { hint: `For example: --input '{"tool_name":"Edit"}'` });
}
