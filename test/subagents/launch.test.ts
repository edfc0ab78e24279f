import { expect, test } from "bun:test";
import { readLaunch } from "@/frontends/headless/subagent.ts";
import { CHILD_ARGS, childEnv, type Launch, launchLine } from "@/subagents/launch.ts";
import { expectGolden } from "../support/golden.ts";

const launch: Launch = {
  v: 1,
  run_id: "reflection-20260504100000-1a2b3c4d",
  backend: "local",
  agent: { kind: "new", tags: ["type:reflection", "parent:agent-1"] },
  system_prompt: "You are the reflection.\nLook back.",
  prompt: "Look back on a conversation.",
  model: "anthropic/claude",
  tools: ["Bash", "Read", "Write", "Edit"],
  permissions: { mode: "acceptEdits", allow: [], deny: ["Bash(git push:*)"] },
  memory: { dir: "/m/worktree", readable: ["/t"] },
  transcript_path: "/t/payload.json",
  cwd: "/m/worktree",
  limits: { max_turns: 60, timeout_s: 1500 },
  depth: 1,
};

test("argv, environment and first line of a child", () => {
  const env = childEnv(launch, {
    env: {
      PATH: "/usr/bin",
      HOME: "/home/ann",
      ANTHROPIC_API_KEY: "key",
      BUN_OPTIONS: "--preload=/x",
      BUN_BE_BUN: "1",
      AGENT_ID: "agent-1",
      LETTA_CONVERSATION_ID: "conv-1",
      MEMORY_DIR: "/m/other",
    },
    parentAgentId: "agent-1",
    mark: { name: "LETTA_SHELL_ID", value: "mark" },
  });
  const lines = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = [CHILD_ARGS.join(" "), ...lines.map(([name, value]) => `${name}=${value}`), launchLine(launch)];
  expectGolden("subagents/reflection-launch.txt", text.join("\n"));
});

const stream = (...pieces: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(Buffer.from(piece));
      controller.close();
    },
  });

test("the child reads what the parent wrote, however it arrives, and leaves the rest on stdin", async () => {
  const line = launchLine(launch);
  const start = await readLaunch(stream(line.slice(0, 10), `${line.slice(10)}{"type":"user"`, "}\n"));
  expect(start.launch).toEqual(launch);
  const rest = await new Response(start.stdin).text();
  const message = { role: "user", content: launch.prompt };
  expect(rest).toBe(`${JSON.stringify({ type: "user", message })}\n{"type":"user"}\n`);
});

test.each([
  ["a newer version", '{"v":2}\n', "usage", /understands launches of version 1, not 2/],
  ["a field is missing", '{"v":1,"run_id":"x"}\n', "invalid_data", /is no launch: .*backend/],
  ["no JSON", "hello\n", "invalid_data", /is no launch/],
  ["nothing", "", "usage", /ended before it said what to do/],
])("a launch that is none: %s", async (_, text, code, message) => {
  const error = await readLaunch(stream(text)).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
});

test("fields of a newer parent are ignored", async () => {
  const line = `${JSON.stringify({ ...launch, mods: { profile: "x" }, memory: { ...launch.memory, lock: 1 } })}\n`;
  expect((await readLaunch(stream(line))).launch).toEqual(launch);
});
