import { expect, test } from "bun:test";
import { orAbort, wait } from "@/lib/abort.ts";

test("a wait ends when the signal aborts", async () => {
  const controller = new AbortController();
  const waiting = wait(60_000, controller.signal);
  controller.abort();
  await waiting;
});

test("a wait on an aborted signal is over at once", async () => {
  await wait(60_000, AbortSignal.abort());
});

test("orAbort gives the outcome", async () => {
  const { signal } = new AbortController();
  expect(await orAbort(Promise.resolve(1), signal)).toBe(1);
  expect(orAbort(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
});

test("orAbort leaves work behind that never ends, also when the signal had aborted before", async () => {
  const never = new Promise<never>(() => {});
  const controller = new AbortController();
  const waiting = orAbort(never, controller.signal);
  controller.abort(new Error("enough"));
  expect(waiting).rejects.toThrow("enough");
  expect(orAbort(never, controller.signal)).rejects.toThrow("enough");
});
