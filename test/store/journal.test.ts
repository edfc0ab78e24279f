import { expect, test } from "bun:test";
import { createClientState } from "@/store/client-state.ts";
import { openDatabase } from "@/store/db.ts";
import { createJournal } from "@/store/journal.ts";
import { createLeases } from "@/store/leases.ts";

const call = (toolCallId: string, turnId = "t1") => ({
  conversationKey: "conv",
  turnId,
  toolCallId,
  tool: "Bash",
  argumentsText: `{"command":"${toolCallId}"}`,
});

test("calls go through their states in call order and leave when settled", () => {
  const journal = createJournal(openDatabase(":memory:"), () => 0);
  journal.record([call("b"), call("a")]);
  journal.setState("conv", "a", "approved");
  journal.setState("conv", "a", "running");
  const result = { type: "tool", tool_call_id: "a", tool_return: "ok", status: "success" } as const;
  journal.setState("conv", "a", "done", { result });
  expect(journal.openCalls("conv")).toEqual([
    { ...call("b"), state: "requested", result: null, followUp: null, updatedAt: "1970-01-01T00:00:00.000Z" },
    { ...call("a"), state: "done", result, followUp: null, updatedAt: "1970-01-01T00:00:00.000Z" },
  ]);
  journal.settle("conv", ["a"]);
  expect(journal.openCalls("conv").map((open) => open.toolCallId)).toEqual(["b"]);
  expect(journal.openCalls("other")).toEqual([]);
});

test("recording again changes nothing, before and after settling", () => {
  const journal = createJournal(openDatabase(":memory:"));
  journal.record([call("a")]);
  journal.setState("conv", "a", "running");
  journal.record([call("a"), call("a", "t2")]);
  expect(journal.openCalls("conv")).toMatchObject([{ turnId: "t1", state: "running" }]);
  journal.settle("conv", ["a"]);
  journal.record([call("a")]);
  journal.setState("conv", "a", "running");
  expect(journal.openCalls("conv")).toEqual([]);
});

test("under a fence that is not the current one nothing changes", () => {
  const db = openDatabase(":memory:");
  const attempt = createLeases(db).tryAcquire("conv", "x");
  if (attempt.status === "busy") throw new Error("busy");
  const plain = createJournal(db);
  const journal = plain.under(attempt.lease.fence);
  journal.record([call("a")]);
  db.run("UPDATE leases SET fence = fence + 1");
  for (const write of [
    () => journal.record([call("b")]),
    () => journal.setState("conv", "a", "running"),
    () => journal.settle("conv", ["a"]),
  ]) {
    expect(write).toThrow(expect.objectContaining({ code: "lease_lost" }));
  }
  expect(plain.openCalls("conv")).toMatchObject([{ toolCallId: "a", state: "requested" }]);
});

test("client state keeps JSON values per conversation and name", () => {
  const state = createClientState(openDatabase(":memory:"));
  expect(state.find("conv", "cwd")).toBeUndefined();
  state.set("conv", "cwd", { path: "/tmp", n: 1 });
  state.set("conv", "cwd", { path: "/", n: 2 });
  state.set("other", "cwd", null);
  expect(state.find("conv", "cwd")).toEqual({ path: "/", n: 2 });
  expect(state.find("other", "cwd")).toBeNull();
  state.set("conv", "cwd", undefined);
  expect(state.find("conv", "cwd")).toBeUndefined();
});
