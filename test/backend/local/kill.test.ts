import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Message, StreamChunk } from "@/backend/wire.ts";
import { openDatabase } from "@/store/db.ts";
import { createLeases } from "@/store/leases.ts";
import { say } from "../../support/fake-model.ts";
import { brief, collect, user } from "../contract.ts";
import { type Setup, setup } from "./setup.ts";

type Line = StreamChunk | { lease: string };
type Child = Bun.Subprocess<"pipe", "pipe", "inherit">;

function spawn({ path, ref }: Setup, mode: string): Child {
  return Bun.spawn([process.execPath, join(import.meta.dir, "child.ts"), path, ref.agentId, ref.conversationId, mode], {
    cwd: join(import.meta.dir, "../../.."),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
}

/** Whole lines of the child's output until it ends. */
async function* linesOf(child: Child): AsyncGenerator<Line> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Line;
  }
}

/** All lines of a child that is killed -9 after it printed `count` lines. */
async function runAndKill(s: Setup, count: number): Promise<StreamChunk[]> {
  const child = spawn(s, "turns");
  const lines: Line[] = [];
  for await (const line of linesOf(child)) {
    lines.push(line);
    if (lines.length === count) child.kill("SIGKILL");
  }
  await child.exited;
  return lines.filter((line): line is StreamChunk => "message_type" in line);
}

/** Streamed text per message id. */
function textsOf(chunks: StreamChunk[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const chunk of chunks) {
    if (chunk.message_type === "assistant_message") {
      texts.set(chunk.id, (texts.get(chunk.id) ?? "") + chunk.content);
    }
  }
  return texts;
}

const MOMENTS = [1, 2, 3, 5, 9, 12, 13, 14, 15, 16, 17, 20, 25, 28, 29, 30, 31, 45, 60, 77];

test.each(MOMENTS)(
  "kill -9 after %d lines loses nothing that was shown and doubles nothing",
  async (count) => {
    const s = await setup();
    const shown = await runAndKill(s, count);
    const db = openDatabase(s.path);
    expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(db.query("PRAGMA foreign_key_check").all()).toEqual([]);

    const other = s.another({ models: s.model });
    const { items } = await other.listMessages(s.ref, { order: "asc", limit: 10_000 });
    expect(new Set(items.map((item) => item.id)).size).toBe(items.length);
    const users = items.filter((item) => item.message_type === "user_message").map(brief);
    expect(users).toEqual(users.map((_, turn) => `user: ask ${turn}`));

    // Replies that were shown to their end are whole; a cut one holds a beginning and says that it is cut.
    const streamed = textsOf(shown);
    for (const [id, text] of streamed) {
      const stored = items.find((item) => item.id === id) as
        | (Message & { message_type: "assistant_message" })
        | undefined;
      const runId = shown.find((chunk) => "id" in chunk && chunk.id === id)?.run_id;
      const ended = shown.some((chunk) => chunk.message_type === "stop_reason" && chunk.run_id === runId);
      if (ended) expect(stored).toMatchObject({ content: text });
      // At most the deltas of the last milliseconds are missing, and never the first.
      else expect(stored?.content).toStartWith("turn ");
    }
    // Calls that were shown are stored, and answered or pending.
    const tail = await other.resumeTail(s.ref, 50);
    for (const chunk of shown) {
      if (chunk.message_type !== "approval_request_message") continue;
      const id = chunk.tool_call.tool_call_id;
      expect(items.some((item) => item.id === chunk.id)).toBe(true);
      const answered = items.some((item) => item.message_type === "tool_return_message" && item.tool_call_id === id);
      expect(answered).toBe(!tail.pendingToolCallIds.includes(id));
    }
    // No run is left open, every stream has an end, and what was shown of it is its beginning.
    for (const run of await other.listRuns(s.ref, { limit: 100 })) {
      expect(run.status).not.toBe("running");
      const replayed = await collect(other.streamRun(run.id));
      expect(replayed.slice(-2).map((chunk) => chunk.message_type)).toEqual(["stop_reason", "usage_statistics"]);
      const seen = shown.filter((chunk) => chunk.run_id === run.id);
      if (run.status === "completed") expect(replayed.slice(0, seen.length)).toEqual(seen);
    }

    // The dead process does not hold the conversation, and it goes on with the words said once.
    const attempt = createLeases(db).tryAcquire(s.ref.conversationId, "next");
    if (attempt.status !== "acquired") throw new Error("still busy");
    s.model.add(say("going on"));
    const last = users.length - 1;
    await collect(
      other.sendMessages(
        s.ref,
        { messages: last >= 0 ? [user(`ask ${last}`, `turn-${last}`)] : [user("ask 0")] },
        { fence: attempt.lease.fence },
      ),
    );
    const after = (await other.listMessages(s.ref, { order: "asc", limit: 10_000 })).items;
    expect(after.filter((item) => item.message_type === "user_message").length).toBe(Math.max(1, users.length));
    expect(brief(after.at(-1)!)).toBe("assistant: going on");
    expect((await other.resumeTail(s.ref, 1)).pendingToolCallIds).toEqual([]);
    db.close();
  },
  20_000,
);

/** Reads until the child shows the held text; the rest is read by the returned iterator. */
async function untilHeld(child: Child): Promise<{ lines: AsyncGenerator<Line>; runId: string }> {
  const lines = linesOf(child);
  for (;;) {
    const { value } = await lines.next();
    if (!value) throw new Error("the child ended");
    if ("message_type" in value && value.message_type === "assistant_message") {
      return { lines, runId: value.run_id ?? "" };
    }
  }
}

async function rest(lines: AsyncGenerator<Line>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) if ("message_type" in line) all.push(brief(line));
  return all;
}

test("a second process is told at once who is busy, may watch, and may cancel", async () => {
  const s = await setup();
  const child = spawn(s, "hold");
  const { lines, runId } = await untilHeld(child);
  expect(createLeases(s.db).tryAcquire(s.ref.conversationId, "second")).toMatchObject({
    status: "busy",
    holder: { pid: child.pid, label: "child" },
  });
  await expect(s.send(user("me too"))).rejects.toMatchObject({
    code: "busy",
    message: expect.stringContaining(`pid ${child.pid}`),
  });
  const watched = collect(s.backend.streamRun(runId));
  const startedAt = performance.now();
  await s.backend.cancelConversation(s.ref);
  expect(performance.now() - startedAt).toBeLessThan(500);
  child.stdin.end();
  expect(await rest(lines)).toEqual(["stop: cancelled", "usage_statistics"]);
  expect((await watched).map(brief)).toEqual(["assistant: held here", "stop: cancelled", "usage_statistics"]);
  await child.exited;
  expect(await s.history()).toEqual(["user: hold", "assistant (interrupted): held here"]);
  expect(s.model.requests).toEqual([]);
}, 20_000);

test("a watcher of a killed process sees the end", async () => {
  const s = await setup();
  const child = spawn(s, "hold");
  const { runId } = await untilHeld(child);
  const watched: string[] = [];
  for await (const chunk of s.backend.streamRun(runId)) {
    watched.push(brief(chunk));
    child.kill("SIGKILL");
    await child.exited;
  }
  expect(watched).toEqual(["assistant: held here", "error: local_backend_error", "stop: error", "usage_statistics"]);
  expect(await s.history()).toEqual(["user: hold", "assistant (interrupted): held here"]);
  expect(await s.backend.retrieveRun(runId)).toMatchObject({
    status: "failed",
    metadata: { error: { retryable: true } },
  });
}, 20_000);

test("three processes that want one conversation take turns, and nothing interleaves", async () => {
  const s = await setup();
  const children = [1, 2, 3].map(() => spawn(s, "contend"));
  const outputs = await Promise.all(children.map((child) => rest(linesOf(child))));
  expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0]);
  expect(outputs.flat().filter((line) => line === "stop: end_turn").length).toBe(15);
  const lines = await s.history();
  expect(lines.length).toBe(15 * 5);
  for (let index = 0; index < lines.length; index += 5) {
    const turn = lines[index]?.replace("user: ask ", "");
    expect(lines.slice(index, index + 5)).toEqual([
      `user: ask ${turn}`,
      `assistant: turn ${turn} begins with some words that arrive one after the other `,
      `request c${turn}: Bash {"command":"c${turn}"}`,
      `return c${turn} success: out ${turn}`,
      `assistant: turn ${turn} ends with other words that also take their time `,
    ]);
  }
  expect(s.db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
}, 20_000);
