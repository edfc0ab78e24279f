// Fixed limits of the engine, and the budgets a turn was given.

import type { ModelUsage } from "@/backend/model.ts";
import type { UsageStatistics } from "@/backend/wire.ts";
import { formatSeconds } from "@/lib/duration.ts";
import { LettaError } from "@/lib/errors.ts";
import type { TurnLimits } from "./events.ts";

/** Backstop on any text a tool returns, characters (spec 03 §2); tools have lower limits of their own. */
export const MAX_TOOL_RETURN_CHARS = 32_000;
/** Sends that may be repeated per turn, whatever the reason: one budget, so that layers cannot multiply it. */
export const MAX_RETRIES = 5;
export const RETRY_BASE_MS = 1_000;
export const RETRY_CAP_MS = 60_000;
/** Empty replies asked again per turn, the last time with a nudge. */
export const MAX_EMPTY_REPLIES = 2;
/** Events buffered for a slow front end before the engine waits for it. */
export const EVENT_BUFFER = 256;

/** What a turn has used so far. */
export class Budget {
  steps = 0;
  toolCalls = 0;
  usage: UsageStatistics | null = null;

  constructor(private readonly limits: TurnLimits) {}

  addUsage(step: UsageStatistics): void {
    const sum = this.usage;
    if (!sum) {
      this.usage = { ...step };
      return;
    }
    sum.prompt_tokens += step.prompt_tokens;
    sum.completion_tokens += step.completion_tokens;
    sum.total_tokens += step.total_tokens;
    sum.step_count += step.step_count;
    for (const key of ["cached_input_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd"] as const) {
      const value = step[key];
      if (value !== undefined) sum[key] = (sum[key] ?? 0) + value;
    }
    if (step.context_tokens !== undefined) sum.context_tokens = step.context_tokens;
  }

  /** A model was asked beside the conversation (prompt hooks). It costs, and is no step of the turn. */
  addSideUsage({ input, output, cacheRead, cacheWrite, totalTokens, costUsd }: ModelUsage): void {
    this.addUsage({
      prompt_tokens: input + cacheRead + cacheWrite,
      completion_tokens: output,
      total_tokens: totalTokens,
      step_count: 0,
      ...(costUsd !== undefined && { cost_usd: costUsd }),
    });
  }

  /** The limit that forbids another model call, or null. */
  exceeded(): LettaError | null {
    const { maxTurns, maxCostUsd, maxTokens, maxToolCalls } = this.limits;
    if (maxTurns !== undefined && this.steps >= maxTurns) {
      return limitError(`Maximum turns limit reached (${this.steps}/${maxTurns} steps)`, "--max-turns");
    }
    if (maxToolCalls !== undefined && this.toolCalls >= maxToolCalls) {
      return limitError(`Maximum tool calls reached (${this.toolCalls}/${maxToolCalls})`, "--max-tool-calls");
    }
    if (maxTokens !== undefined && (this.usage?.total_tokens ?? 0) >= maxTokens) {
      return limitError(`Token budget used up (${this.usage?.total_tokens}/${maxTokens} tokens)`, "--max-tokens");
    }
    if (maxCostUsd === undefined || !this.usage) return null;
    if (this.usage.cost_usd === undefined) {
      return new LettaError("limit", "The cost budget cannot be enforced: the model's price is unknown", {
        hint: "Use --max-tokens or --max-turns with this model.",
      });
    }
    if (this.usage.cost_usd < maxCostUsd) return null;
    return limitError(`Cost budget used up ($${this.usage.cost_usd.toFixed(4)} of $${maxCostUsd})`, "--max-cost");
  }

  timedOut(): LettaError {
    return limitError(`Time limit reached (${formatSeconds(this.limits.timeoutMs ?? 0)})`, "--timeout");
  }
}

function limitError(message: string, flag: string): LettaError {
  return new LettaError("limit", message, { hint: `Raise ${flag}, or continue the conversation to go on.` });
}
