// The moments of a turn at which hooks are asked, and what their answers mean there. What hooks print for people becomes
// `notice` events; stdout is never theirs.

import type { CompactionOutlook } from "@/backend/backend.ts";
import { contentText } from "@/backend/content.ts";
import type { ModelUsage } from "@/backend/model.ts";
import type { ContentPart } from "@/backend/wire.ts";
import { MAX_STOP_CONTINUATIONS } from "@/hooks/limits.ts";
import {
  contextOf,
  denialOf,
  type HookInput,
  type HookPlace,
  type HookResult,
  type Hooks,
  stopOf,
} from "@/hooks/service.ts";
import { ToolError } from "@/lib/errors.ts";
import type { PermissionChecker, Verdict } from "@/permissions/types.ts";
import type { AnyTool, ToolContext } from "@/tools/define-tool.ts";
import type { EngineEvent, ToolCallInfo, ToolOutcome } from "./events.ts";

export interface HookedCall {
  info: ToolCallInfo;
  tool: AnyTool;
  /** Parsed. */
  args: unknown;
}

export interface TurnHooksDeps {
  turnId: string;
  hooks: Hooks;
  permissions: Pick<PermissionChecker, "listRules">;
  services: ToolContext["services"];
  place(): HookPlace;
  /** What prompt hooks used. */
  addUsage(usage: ModelUsage): void;
  emit(event: EngineEvent): Promise<void>;
}

/** What the model said before. */
export interface Preceding {
  text?: string;
  reasoning?: string;
}

/** What PreToolUse hooks want with a call that is about to run. */
export interface BeforeTool {
  /** Why it must not run. */
  denied: string | null;
  /** A person is to be asked although nothing else asks. */
  ask: string | null;
  /** Merged over the arguments. */
  updatedInput: Record<string, unknown> | null;
  /** For the model, beside the result. */
  context: string[];
}

export class TurnHooks {
  /** A hook wants the turn to end after this batch. */
  stopReason: string | null = null;
  #continuations = 0;
  readonly #refusedCompactions = new Map<CompactionOutlook["trigger"], string>();

  constructor(private readonly deps: TurnHooksDeps) {}

  /** A call that a hook may still change or refuse runs alone: what it touches is not known before. */
  changesCall(call: HookedCall): boolean {
    return this.deps.hooks.has("PreToolUse", this.#namesOf(call));
  }

  /** Somebody wants to hear how it went. */
  followsCall(call: HookedCall, { status }: ToolOutcome): boolean {
    const names = this.#namesOf(call);
    const { hooks } = this.deps;
    return hooks.has("PostToolUse", names) || (status === "error" && hooks.has("PostToolUseFailure", names));
  }

  async beforeTool(call: HookedCall): Promise<BeforeTool> {
    const result = await this.#run({ event_type: "PreToolUse", ...describe(call) }, call);
    const asking = result.runs.find(({ answer }) => answer.decision === "ask");
    const rewriting = result.runs.find(({ answer }) => answer.updatedInput !== null);
    return {
      denied: denialOf(result) ?? this.stopReason,
      ask: asking ? (asking.answer.reason ?? "a hook wants a person to decide") : null,
      updatedInput: rewriting?.answer.updatedInput ?? null,
      context: contextOf(result, "answers_only"),
    };
  }

  /** What the model should read beside the result. */
  async afterTool(call: HookedCall, outcome: ToolOutcome, preceding: Preceding): Promise<string[]> {
    const output = contentText(outcome.output);
    const { text: preceding_assistant_message, reasoning: preceding_reasoning } = preceding;
    const common = { ...describe(call), preceding_assistant_message, preceding_reasoning };
    const result = { status: outcome.status, output };
    const events: HookInput[] = [{ event_type: "PostToolUse", ...common, tool_result: result }];
    if (outcome.status === "error") {
      const failure = { error_message: output, error_type: "tool_error" };
      events.push({ event_type: "PostToolUseFailure", ...common, ...failure });
    }
    const results = await Promise.all(events.map((event) => this.#run(event, call)));
    return results.flatMap((each) => [...feedbackOf(each), ...contextOf(each, "answers_only")]);
  }

  /** An answer to what would be asked. What only a person may allow, a hook can only deny. */
  async permission(
    call: HookedCall,
    verdict: Extract<Verdict, { behavior: "ask" }>,
  ): Promise<{ behavior: "allow" | "deny"; reason: string } | null> {
    const { permissions } = this.deps;
    if (!this.deps.hooks.has("PermissionRequest", this.#namesOf(call))) return null;
    const session_permissions = permissions
      .listRules()
      .flatMap(({ effect, rule, source }) => (source === "session" && effect === "allow" ? [rule] : []));
    const permission = {
      type: verdict.reason.by,
      reason: verdict.reason.detail,
      scope: verdict.suggestions[0]?.scope ?? null,
    };
    const input = { event_type: "PermissionRequest" as const, ...describe(call), permission, session_permissions };
    const result = await this.#run(input, call);
    const denied = denialOf(result) ?? this.stopReason;
    if (denied !== null) return { behavior: "deny", reason: denied };
    if (verdict.always || result.runs.some(({ answer }) => answer.decision === "ask")) return null;
    // Ending well without an objection allows. Where one of them failed, nobody knows what it would have said.
    if (result.runs.some(({ status }) => status !== "ok")) return null;
    const reason = result.runs.find(({ answer }) => answer.reason !== null)?.answer.reason;
    return { behavior: "allow", reason: reason ?? "a PermissionRequest hook allowed it" };
  }

  /** Before a message of the user's is sent. `context` goes with it. */
  async userPrompt(content: string | ContentPart[]): Promise<{ refused: string | null; context: string[] }> {
    const result = await this.#run({ event_type: "UserPromptSubmit", prompt: contentText(content), is_command: false });
    return { refused: denialOf(result) ?? this.stopReason, context: contextOf(result, "with_text") };
  }

  /** At the end of a turn: what the model should go on with, or null. */
  async stop(about: Record<string, unknown>): Promise<string | null> {
    const stop_hook_active = this.#continuations > 0;
    const result = await this.#run({ event_type: "Stop", stop_reason: "end_turn", ...about, stop_hook_active });
    const reason = denialOf(result);
    if (reason === null || this.stopReason !== null) return null;
    if (this.#continuations >= MAX_STOP_CONTINUATIONS) {
      const text = `Stop hooks sent the agent back ${MAX_STOP_CONTINUATIONS} times; the turn ends now although one still objects: ${reason}`;
      await this.deps.emit({ type: "notice", turnId: this.deps.turnId, level: "warning", text });
      return null;
    }
    this.#continuations += 1;
    const text = `A Stop hook sends the agent back to work: ${reason}`;
    await this.deps.emit({ type: "notice", turnId: this.deps.turnId, level: "info", text });
    return `<stop-hook>\n${reason}\n</stop-hook>`;
  }

  /** Why a conversation must not be shrunk by itself; null when it may. Asked once per turn and cause. */
  async compaction({ trigger: cause, contextTokens, contextWindow }: CompactionOutlook): Promise<string | null> {
    if (!this.deps.hooks.has("PreCompact")) return null;
    const known = this.#refusedCompactions.get(cause);
    if (known !== undefined) return known;
    const about = { context_length: contextTokens, max_context_length: contextWindow ?? undefined };
    const refusal = denialOf(await this.#run({ event_type: "PreCompact", trigger: "auto", cause, ...about }));
    if (refusal === null) return null;
    this.#refusedCompactions.set(cause, refusal);
    const text = `A hook refused to shorten the conversation: ${refusal}`;
    await this.deps.emit({ type: "notice", turnId: this.deps.turnId, level: "warning", text });
    return refusal;
  }

  async #run(input: HookInput, call?: HookedCall): Promise<HookResult> {
    const { hooks, place, emit, turnId } = this.deps;
    const where = place();
    const about = { conversation_id: where.conversationId, ...input };
    const result = await hooks.run(about, where, call && this.#namesOf(call));
    for (const { level, text } of result.notices) await emit({ type: "notice", turnId, level, text });
    for (const { usage } of result.runs) if (usage) this.deps.addUsage(usage);
    this.stopReason ??= stopOf(result);
    return result;
  }

  /** A tool is known by its names in all toolsets, whichever the model calls it by, and by the family of what it does: a hook for
   *  `Bash` guards every shell and one for `Edit` every edit, whatever a toolset calls them. */
  #namesOf({ tool, info, args }: HookedCall): string[] {
    const { services, place } = this.deps;
    const names = new Set([tool.name, info.tool, ...Object.values(tool.toolsets ?? {}), ...(tool.also ?? [])]);
    try {
      for (const target of tool.targets(args, { cwd: place().cwd, services })) {
        if (target.kind === "shell") names.add("Bash");
        if (target.kind === "file") names.add(target.family);
      }
    } catch (error) {
      if (!(error instanceof ToolError)) throw error; // A path that cannot be: its names are all it has.
    }
    return [...names];
  }
}

function describe({ tool, info }: HookedCall): Record<string, unknown> {
  return { tool_name: tool.name, tool_input: info.args, tool_call_id: info.toolCallId };
}

/** After the fact a denial is a word to the model: nothing can be stopped any more. */
function feedbackOf({ runs }: HookResult): string[] {
  return runs.flatMap(({ answer }) => (answer.decision === "deny" && answer.reason ? [answer.reason] : []));
}
