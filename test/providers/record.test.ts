import { afterAll, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelAdapter } from "@/backend/model.ts";
import { recordingAdapter, replayingAdapter } from "@/providers/record.ts";
import { type ScriptedReply, startModelServer } from "../support/model-server.ts";
import { call, PROTOCOLS, removeHomes, request, serverEnv, testAdapter, user } from "./support.ts";

afterAll(removeHomes);

const dir = mkdtempSync(join(tmpdir(), "letta-record-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(dir, `run-${++files}.jsonl`);

const HANDLE = PROTOCOLS.anthropic;
const secret = "sk-ant-very-secret-key";

async function record(replies: ScriptedReply[], run: (adapter: ModelAdapter) => Promise<void>): Promise<string> {
  const file = newFile();
  await using server = await startModelServer(replies);
  await run(recordingAdapter(testAdapter(serverEnv(server.url, { ANTHROPIC_API_KEY: secret })), file));
  return file;
}

test("a replay yields the same events as the run", async () => {
  const reply = { thinking: "hm", text: "one\ntwo", toolCalls: [{ name: "Bash", args: { command: "ls" } }] };
  let events: unknown;
  const file = await record([reply], async (adapter) => {
    await adapter.resolveModel(HANDLE);
    events = (await call(adapter, request(HANDLE))).events;
  });
  const replay = replayingAdapter(file);
  expect((await call(replay, request(HANDLE))).events).toEqual(events as never);
  expect(await replay.resolveModel(HANDLE)).toMatchObject({ handle: HANDLE, max_context_window: 1_000_000 });
});

test("a recording brings its model along, also when the run did not ask for the default", async () => {
  const file = await record([{ text: "ok" }], async (adapter) => {
    await adapter.resolveModel(HANDLE);
    await call(adapter, request(HANDLE));
  });
  expect(await replayingAdapter(file).defaultModel()).toBe(HANDLE);
});

test("failures are replayed with all that decides about retries", async () => {
  const file = await record([{ status: 429, headers: { "retry-after": "3" } }], async (adapter) => {
    await call(adapter, request(HANDLE));
  });
  const { last } = await call(replayingAdapter(file), request(HANDLE));
  expect(last).toMatchObject({ error: { code: "rate_limit", status: 429, retryable: true, retryAfterMs: 3000 } });
});

test("ids, times and reminders may differ", async () => {
  const text = (id: string, day: string): string => `<system-reminder>\n${day}\n</system-reminder>\nsee ${id}`;
  const file = await record([{ text: "ok" }], async (adapter) => {
    await call(adapter, request(HANDLE, { messages: [user(text("0b0f3d1e-0000-4000-8000-000000000001", "Monday"))] }));
  });
  const messages = [user(text("0b0f3d1e-0000-4000-8000-00000000ffff", "Tuesday"))];
  expect((await call(replayingAdapter(file), request(HANDLE, { messages }))).last.type).toBe("done");
});

test.each([
  [
    [user("hello")],
    [user("goodbye")],
    'step 1 of the recording FILE does not match: message 1 (user) differs at line 1, which is now "goodbye"',
  ],
  [[user("a\nb\nc")], [user("a\nX\nc")], 'message 1 (user) differs at line 2, which is now "X"'],
  [[user("a\nb")], [user("a")], "message 1 (user) ends after line 1, recorded were 2"],
  [[user("a"), user("b")], [user("a")], "the recorded request had 2 messages, now there are 1"],
  [[user("a")], [user("a"), user("b")], "message 2 (user) was not there; the recorded request had 1 messages"],
])("a changed request is named: %#", async (then, now, expected) => {
  const file = await record([{ text: "ok" }], async (adapter) => {
    await call(adapter, request(HANDLE, { messages: then }));
  });
  const { last } = await call(replayingAdapter(file), request(HANDLE, { messages: now }));
  if (last.type !== "error") throw new Error(last.type);
  expect(last.error).toMatchObject({ code: "provider", retryable: false });
  expect(last.error.message.replace(file, "FILE")).toContain(expected);
});

test("a run that asks more often than recorded is told so", async () => {
  const file = await record([{ text: "ok" }], async (adapter) => {
    await call(adapter, request(HANDLE));
  });
  const replay = replayingAdapter(file);
  await call(replay, request(HANDLE));
  const { last } = await call(replay, request(HANDLE));
  expect(last).toMatchObject({ error: { code: "provider", message: expect.stringContaining("ends after step 1") } });
});

test("the file holds neither keys nor what was asked, and nobody else can read it", async () => {
  const file = await record(
    [{ status: 401, errorBody: { error: { type: "authentication_error", message: `bad ${secret}` } } }],
    async (adapter) => {
      await call(adapter, request(HANDLE, { messages: [user("the password is hunter2")] }));
    },
  );
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain(secret);
  expect(text).not.toContain("hunter2");
  expect((await Bun.file(file).stat()).mode & 0o777).toBe(0o600);
});

test("a half-written last line is skipped, and the cut step says so", async () => {
  const file = await record([{ text: "ok" }], async (adapter) => {
    await call(adapter, request(HANDLE));
  });
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  writeFileSync(file, `${lines.slice(0, -1).join("\n")}\n`);
  appendFileSync(file, '{"type":"eve');
  const { last, text } = await call(replayingAdapter(file), request(HANDLE));
  expect(text).toBe("ok");
  expect(last).toMatchObject({ error: { message: expect.stringContaining("is cut off") } });
});

test.each([
  ["", "it is empty"],
  ["hello\n", "does not begin with a recording's header"],
  ['{"type":"header","format":"letta-recording","version":9}\n', "version 9"],
  ['{"type":"header","format":"letta-recording","version":1}\n{}\n', "line 2 is damaged"],
])("an unusable file is refused: %p", (content, reason) => {
  const file = newFile();
  writeFileSync(file, content);
  expect(() => replayingAdapter(file)).toThrow(reason);
});

test("a place that cannot be written is refused before anything runs", () => {
  expect(() => recordingAdapter(replayingAdapterOf([]), join(dir, "no", "such", "dir"))).toThrow(
    "cannot write the recording",
  );
});

function replayingAdapterOf(lines: string[]): ModelAdapter {
  const file = newFile();
  const header = '{"type":"header","format":"letta-recording","version":1}';
  writeFileSync(file, `${[header, ...lines].join("\n")}\n`);
  return replayingAdapter(file);
}

test("a pipe is refused: opening it would wait for its other end", () => {
  const pipe = join(dir, "pipe");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  const adapter = testAdapter(serverEnv("http://127.0.0.1:9"));
  expect(() => recordingAdapter(adapter, pipe)).toThrow(`cannot write the recording ${pipe}: it is not a file`);
  expect(() => replayingAdapter(pipe)).toThrow(`cannot replay ${pipe}: it is not a file`);
});
