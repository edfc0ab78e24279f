// A child that misbehaves as its first argument says. It reads its launch as a real one would.

import { spawn } from "node:child_process";
import { readLaunch } from "@/frontends/headless/subagent.ts";

const kind = process.argv[2];
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const result = (text: string) =>
  say({ type: "result", is_error: false, result: text, num_turns: 2, usage: { total_tokens: 7 } });
const { stdin } = await readLaunch(Bun.stdin.stream());

async function* messages(): AsyncGenerator<{ type: string; message?: { content: string }; response?: object }> {
  let text = "";
  for await (const bytes of stdin) {
    text += Buffer.from(bytes).toString();
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n")) {
      yield JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
    }
  }
}

switch (kind) {
  case "echo":
    for await (const { message } of messages()) result(`heard ${message?.content}`);
    break;
  case "asks":
    for await (const line of messages()) {
      if (line.type === "user")
        say({ type: "control_request", request_id: "r1", request: { subtype: "can_use_tool" } });
      else result(JSON.stringify(line.response));
    }
    break;
  case "fails":
    for await (const _ of messages())
      say({ type: "result", is_error: true, result: null, error: { message: "no credits" } });
    break;
  case "silent":
    console.error("first\nError: no model is connected");
    process.exit(3);
    break;
  case "flood":
    for (;;) await new Promise<void>((done) => process.stdout.write(`${"x".repeat(1_000_000)}\n`, () => done()));
  case "deaf": {
    // Ignores what can be ignored, and has a child in another session.
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
    const grandchild = spawn("sleep", ["300"], { detached: true, stdio: "ignore" });
    say({
      type: "message",
      message_type: "tool_call_message",
      tool_call: { name: "pids", arguments: `${process.pid} ${grandchild.pid}` },
    });
    setInterval(() => {}, 1000);
    await new Promise(() => {});
  }
}
