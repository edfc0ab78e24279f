import { expect, test } from "bun:test";
import { RetryBudget } from "@/engine/retry.ts";

test("backs off exponentially within one budget per turn", () => {
  const budget = new RetryBudget(() => 0.5);
  const delays = Array.from({ length: 6 }, () => budget.take({ retryable: true })?.delayMs ?? null);
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16000, null]);
});

test("the provider's own wait wins, unless it is longer than anyone would wait", () => {
  const budget = new RetryBudget();
  expect(budget.take({ retryable: true }, 2_500)).toEqual({ attempt: 1, delayMs: 2_500 });
  expect(budget.take({ retryable: true }, 3_600_000)).toBeNull();
  // Nothing was sent again, so nothing is said to have been.
  expect(budget.used).toBe(1);
});

test("a final error costs nothing of the budget", () => {
  const budget = new RetryBudget();
  expect(budget.take({ retryable: false })).toBeNull();
  expect(budget.used).toBe(0);
});
