// What one sitting has used, for `/usage` and the farewell.

import type { TurnResult } from "@/engine/events.ts";
import { formatDuration } from "@/lib/duration.ts";
import { plural, shortCount } from "@/lib/text.ts";

export class Stats {
  turns = 0;
  steps = 0;
  apiMs = 0;
  promptTokens = 0;
  cachedTokens = 0;
  completionTokens = 0;
  /** Null while no provider told a price. */
  costUsd: number | null = null;
  /** Tokens in the model's window after the last step; null before the first. */
  contextTokens: number | null = null;

  constructor(private readonly startedAt: number) {}

  add(result: TurnResult): void {
    this.turns += 1;
    this.steps += result.steps;
    this.apiMs += result.apiDurationMs;
    const { usage } = result;
    if (!usage) return;
    this.promptTokens += usage.prompt_tokens;
    this.cachedTokens += usage.cached_input_tokens ?? 0;
    this.completionTokens += usage.completion_tokens;
    if (usage.cost_usd !== undefined) this.costUsd = (this.costUsd ?? 0) + usage.cost_usd;
    if (usage.context_tokens !== undefined) this.contextTokens = usage.context_tokens;
  }

  lines(now: number): string[] {
    const cached = this.cachedTokens > 0 ? ` (${shortCount(this.cachedTokens)} cached)` : "";
    const cost = this.costUsd === null ? "" : ` · $${this.costUsd.toFixed(this.costUsd < 1 ? 4 : 2)}`;
    return [
      `${formatDuration(now - this.startedAt)} here · ${formatDuration(this.apiMs)} waiting for the model`,
      `${plural(this.turns, "turn")} · ${plural(this.steps, "step")} · ${shortCount(this.promptTokens)} tokens in${cached} · ${shortCount(this.completionTokens)} out${cost}`,
    ];
  }
}
