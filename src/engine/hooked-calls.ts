// Puts PreToolUse and PostToolUse hooks around the calls of one batch. A hook runs right before its call does, so that
// it sees what the calls before have done; whatever it changes goes through the whole decision again.

import { type ApprovalDeps, type ApprovedCall, type DecidedCall, decideAgain } from "./approvals.ts";
import type { ToolOutcome } from "./events.ts";
import type { Preceding, TurnHooks } from "./turn-hooks.ts";

export interface HookedCallsDeps extends ApprovalDeps {
  hooks: TurnHooks;
  signal: AbortSignal;
  /** What the model had said before the batch. */
  preceding: Preceding;
}

export class HookedCalls {
  /** Refused after they had been approved. */
  readonly denied: { tool: string; reason: string }[] = [];
  /** A person was asked again, refused, and wants the turn to end. */
  interrupted = false;

  constructor(private readonly deps: HookedCallsDeps) {}

  /** What the call touches is not known before its hooks have run. */
  changes(call: ApprovedCall): boolean {
    return this.deps.hooks.changesCall(call);
  }

  async before(call: ApprovedCall): Promise<DecidedCall> {
    const { hooks, signal } = this.deps;
    if (signal.aborted) return call;
    if (this.interrupted) return this.#deny(call, "A person stopped the turn before this call was run.");
    if (hooks.stopReason !== null) return this.#deny(call, `A hook stopped the turn: ${hooks.stopReason}`);
    if (!hooks.changesCall(call)) return call;
    const wish = await hooks.beforeTool(call);
    if (signal.aborted) return call;
    if (wish.denied !== null) {
      const reason = { by: "hook", detail: wish.denied };
      const { turnId } = this.deps;
      await this.deps.emit({ type: "auto_decided", turnId, call: call.info, behavior: "deny", reason, again: true });
      return this.#deny(call, `A hook blocked this call: ${wish.denied}`);
    }
    const ruling = await decideAgain(call, wish, this.deps);
    this.interrupted ||= ruling.interrupt;
    if (ruling.call.status === "denied") return this.#deny(ruling.call, ruling.call.reason);
    if (ruling.call.status === "invalid" || wish.context.length === 0) return ruling.call;
    return { ...ruling.call, comment: [ruling.call.comment, ...wish.context].filter(Boolean).join("\n\n") };
  }

  /** Somebody wants to hear how it went. */
  follows(call: ApprovedCall, outcome: ToolOutcome): boolean {
    return !this.deps.signal.aborted && this.deps.hooks.followsCall(call, outcome);
  }

  /** What hooks say about a result. */
  after(call: ApprovedCall, outcome: ToolOutcome): Promise<string[]> {
    return this.deps.hooks.afterTool(call, outcome, this.deps.preceding);
  }

  #deny({ info }: Pick<ApprovedCall, "info">, reason: string): DecidedCall {
    this.denied.push({ tool: info.tool, reason });
    return { status: "denied", info, reason };
  }
}
