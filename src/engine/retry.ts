// The one retry budget of a turn: what is worth sending again, and after how long.

import type { TurnError } from "./events.ts";
import { MAX_RETRIES, RETRY_BASE_MS, RETRY_CAP_MS } from "./limits.ts";

export class RetryBudget {
  #used = 0;

  constructor(private readonly random: () => number = Math.random) {}

  get used(): number {
    return this.#used;
  }

  /** Takes one attempt and says how long to wait, or null when the error is final or the budget is used up. */
  take(error: Pick<TurnError, "retryable">, retryAfterMs?: number): { attempt: number; delayMs: number } | null {
    if (!error.retryable || this.#used >= MAX_RETRIES) return null;
    // A provider that wants a longer wait than the cap is not served by asking sooner: report the failure instead.
    if (retryAfterMs !== undefined && retryAfterMs > RETRY_CAP_MS) return null;
    this.#used += 1;
    const backoffMs = RETRY_BASE_MS * 2 ** (this.#used - 1) * (0.8 + 0.4 * this.random());
    return { attempt: this.#used, delayMs: Math.round(retryAfterMs ?? Math.min(backoffMs, RETRY_CAP_MS)) };
  }
}
