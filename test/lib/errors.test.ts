import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { codeOf, errorMessage, isAbortError, LettaError, systemReason } from "@/lib/errors.ts";

test("codeOf tells expected failures from bugs", () => {
  expect(codeOf(new LettaError("busy", "held"))).toBe("busy");
  expect(codeOf(new TypeError("x is undefined"))).toBe("internal");
});

test("isAbortError recognises aborted waits and our own cancellation", () => {
  const controller = new AbortController();
  controller.abort();
  expect(isAbortError(controller.signal.reason)).toBe(true);
  expect(isAbortError(new LettaError("cancelled", "stopped"))).toBe(true);
  expect(isAbortError(new Error("AbortError"))).toBe(false);
});

test("errorMessage never prints a stack", () => {
  expect(errorMessage(new Error("disk full"))).toBe("disk full");
  expect(errorMessage("plain")).toBe("plain");
});

test("systemReason leaves out the code, the call and the path", () => {
  const thrownBy = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return error;
    }
  };
  expect(systemReason(thrownBy(() => readFileSync("/no/such/file")))).toBe("no such file or directory");
  expect(systemReason(thrownBy(() => readFileSync("/")))).toMatch(/^[a-z ]*directory[a-z ]*$/);
  expect(systemReason(new Error("odd: yes, it is"))).toBe("odd: yes, it is");
});
