// The hooks of one process: what the engine asks at each moment of a turn, and front ends at the ends of a session.
// Whoever has no hooks pays for one comparison; nothing is loaded or started for them.

import type { ModelAdapter, ModelUsage } from "@/backend/model.ts";
import type { HookEvent } from "@/store/hook-settings.ts";
import type { Trust } from "@/store/trust.ts";
import type { ToolServices } from "@/tools/services.ts";
import type { HookAnswer } from "./answer.ts";
import { type ConfiguredHook, type HookSettings, hasAnyHook, hookLabel, listHooks } from "./config.ts";
import { FEEDBACK_CHARS, NOTICE_CHARS } from "./limits.ts";
import { matchesTool } from "./matcher.ts";

/** What a hook reads, as JSON. Further fields by event: spec of each in `samples.ts`. */
export interface HookInput {
  event_type: HookEvent;
  [field: string]: unknown;
}

/** Where and for whom hooks run. */
export interface HookPlace {
  agentId: string | null;
  conversationId: string;
  cwd: string;
  /** Of the conversation, for prompt hooks that name none. */
  model: string | null;
  signal: AbortSignal;
}

export interface HookRun {
  hook: ConfiguredHook;
  /** `failed`: it decided nothing; `problem` says why. */
  status: "ok" | "failed" | "timeout" | "cancelled";
  answer: HookAnswer;
  /** What it printed, when that was no answer in JSON. */
  text: string;
  exitCode: number | null;
  stdout: string;
  stderr: string;
  problem: string | null;
  /** Of the model a prompt hook asked. */
  usage: ModelUsage | null;
  durationMs: number;
}

export interface HookNotice {
  level: "info" | "warning";
  text: string;
}

/** What the hooks of one event decided together. */
export interface HookResult {
  runs: HookRun[];
  /** For people. */
  notices: HookNotice[];
}

export interface Hooks {
  /** All configured ones, inert ones with the reason. */
  list(): ConfiguredHook[];
  /** `tool`: the names a call's tool has. */
  has(event: HookEvent, tool?: readonly string[]): boolean;
  /** Runs those that match. Never throws. */
  run(input: HookInput, place: HookPlace, tool?: readonly string[]): Promise<HookResult>;
}

export interface HookDeps {
  settings: HookSettings & { readonly projectRoot: string | null };
  trust: Pick<Trust, "accepts">;
  services: Pick<ToolServices, "shells" | "childEnv" | "secrets">;
  models: ModelAdapter;
  now?: () => number;
}

export function createHooks({ settings, trust, services, models, now = Date.now }: HookDeps): Hooks {
  const select = (event: HookEvent, tool?: readonly string[]): ConfiguredHook[] => {
    if (!hasAnyHook(settings)) return [];
    return listHooks(settings, trust).filter(
      (hook) =>
        hook.event === event && hook.inert === undefined && (tool === undefined || matchesTool(hook.matcher, tool)),
    );
  };
  return {
    list: () => listHooks(settings, trust),
    has: (event, tool) => select(event, tool).length > 0,
    async run(input, place, tool) {
      const hooks = select(input.event_type, tool);
      if (hooks.length === 0) return { runs: [], notices: [] };
      const { runHooks } = await import("./run-hooks.ts");
      const { cwd: working_directory, conversationId, agentId } = place;
      const common = { working_directory, session_id: conversationId, agent_id: agentId };
      const { projectRoot } = settings;
      const deps = { services, models, projectRoot, now };
      const said = await runHooks(hooks, { ...common, ...input }, place, deps);
      const redactor = await services.secrets.refresh();
      const runs = redactor.idle ? said : said.map((run) => redactRun(run, (text) => redactor.redact(text)));
      return { runs, notices: runs.flatMap(noticesOf) };
    },
  };
}

/** What a hook says is read by people and models; what it puts into a call is the user's own doing. */
function redactRun(run: HookRun, redact: (text: string) => string): HookRun {
  const redactOr = (text: string | null): string | null => (text === null ? null : redact(text));
  const { reason, additionalContext } = run.answer;
  return {
    ...run,
    answer: { ...run.answer, reason: redactOr(reason), additionalContext: redactOr(additionalContext) },
    text: redact(run.text),
    stdout: redact(run.stdout),
    stderr: redact(run.stderr),
    problem: redactOr(run.problem),
  };
}

/** The first that denied, with its reason. */
export function denialOf({ runs }: HookResult): string | null {
  const denied = runs.find((run) => run.answer.decision === "deny");
  return denied ? (denied.answer.reason ?? "A hook denied this.").slice(0, FEEDBACK_CHARS) : null;
}

/** Why the turn is to end, when a hook wants that. */
export function stopOf({ runs }: HookResult): string | null {
  const stopped = runs.find((run) => !run.answer.continues);
  return stopped ? (stopped.answer.reason ?? hookLabel(stopped.hook)).slice(0, FEEDBACK_CHARS) : null;
}

/** What the hooks want the model to read. `printed`: plain output counts, too. */
export function contextOf({ runs }: HookResult, printed: "with_text" | "answers_only"): string[] {
  return runs
    .flatMap(({ answer, text }) => [answer.additionalContext ?? "", printed === "with_text" ? text : ""])
    .filter((text) => text.trim() !== "")
    .map((text) => text.slice(0, FEEDBACK_CHARS));
}

/** A hook that failed is worth a warning; what one printed is shown unless it asked not to be. Denials are told by
 *  whoever acts on them. */
function noticesOf({ hook, status, problem, text }: HookRun): HookNotice[] {
  const name = `${hook.event} hook (${hookLabel(hook).slice(0, 80)})`;
  if (status === "cancelled") return [];
  if (status !== "ok") return [{ level: "warning", text: `${name} failed: ${problem}`.slice(0, NOTICE_CHARS) }];
  if (text === "" || hook.definition.quiet) return [];
  return [{ level: "info", text: `${name}: ${text}`.slice(0, NOTICE_CHARS) }];
}
