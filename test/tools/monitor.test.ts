import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { monitorTool } from "@/tools/monitor.ts";
import { MonitorEvents } from "@/tools/monitor-events.ts";
import { openWorkbench, until } from "./support.ts";

const bench = openWorkbench();
const told: string[] = [];
beforeAll(() => void bench.services.background.onFinished((_, text) => told.push(text)));
afterAll(() => bench[Symbol.asyncDispose]());

let count = 0;
async function watch(args: object): Promise<{ id: string; output: string; texts: () => string[] }> {
  const result = await bench.call(monitorTool, { description: "the log", ...args }, { toolCallId: `call-${++count}` });
  const id = /monitor_\d+/.exec(result.output)![0];
  return { id, output: result.output, texts: () => told.filter((text) => text.includes(`<task-id>${id}</task-id>`)) };
}
const event = (id: string, text: string): string =>
  `<task-notification><task-id>${id}</task-id><summary>Monitor event: "the log"</summary><result><event>${text}</event></result></task-notification>`;
const ending = (id: string, how: string): string =>
  `<task-notification><task-id>${id}</task-id><summary>Monitor "the log" ${how}.</summary><result></result></task-notification>`;

describe("a command", () => {
  test("lines of a moment are one event; its end is told; stderr is no event", async () => {
    const { id, output, texts } = await watch({ command: "echo one; echo no >&2; printf 'a<b>\\n\\n  \\nlast'" });
    await until(() => texts().length === 2);
    expect(texts()).toEqual([event(id, "one\na&lt;b&gt;\nlast"), ending(id, "ended")]);
    expect(readFileSync(/Its stderr: (.*)/.exec(output)![1]!, "utf8")).toBe("no\n");
    expect(readFileSync(/Output file: (.*)/.exec(output)![1]!, "utf8")).toContain("one\n");
  });

  test.each([
    ["exit 3", "failed without output (exit code 3)"],
    ["true", "ended without output"],
  ])("%s", async (command, how) => {
    const { id, texts } = await watch({ command });
    await until(() => texts().length === 1);
    expect(texts()).toEqual([ending(id, how)]);
  });

  test("its time is limited, and says how to go on", async () => {
    const { id, texts } = await watch({ command: "echo a; sleep 600", timeout_ms: 1000 });
    await until(() => texts().length === 2);
    expect(texts()[1]).toBe(ending(id, "was ended after 1000 ms. Start it again if you still need it"));
  });

  test("who stops it is not told", async () => {
    const { id, texts } = await watch({ command: "echo a; sleep 600", persistent: true });
    await until(() => texts().length === 1);
    await bench.services.background.stop(id);
    expect(texts()).toEqual([event(id, "a")]);
  });
});

test("a WebSocket's frames are events", async () => {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, self) => (self.upgrade(request) ? undefined : new Response("?")),
    websocket: {
      message: () => {},
      open: (socket) => {
        socket.send("hello\nyou");
        socket.send(new Uint8Array([1, 2]));
        socket.close(1000);
      },
    },
  });
  const { id, texts } = await watch({ ws: { url: `ws://127.0.0.1:${server.port}/x` } });
  await until(() => texts().length === 2);
  expect(texts()).toEqual([event(id, "hello you\n[a frame of bytes]"), ending(id, "ended")]);
  await server.stop(true);
});

test.each([
  [{}, "needs either command or ws"],
  [{ command: "ls", ws: { url: "ws://h" } }, "needs either command or ws"],
  [{ ws: { url: "http://h" } }, "Not a WebSocket address"],
  [{ ws: { url: "ws://u:p@h" } }, "user name"],
  [{ ws: { url: "ws://h", protocols: ["a", "a"] } }, "different tokens"],
  [{ command: "echo \u200b" }, "invisible character"],
])("%j is refused before anybody is asked", (args, message) => {
  expect(() => monitorTool.targets(monitorTool.parse({ description: "x", ...args }), bench.context())).toThrow(message);
});

describe("events", () => {
  function collect() {
    let time = 0;
    const seen: string[] = [];
    const events = new MonitorEvents({
      emit: (text) => seen.push(text),
      flooded: () => seen.push("FLOODED"),
      now: () => time,
    });
    const after = (ms: number): void => {
      time += ms;
    };
    return { events, seen, after };
  }

  test("ten at once, then one every two seconds, which says what is missing", () => {
    const { events, seen, after } = collect();
    const say = (line: string) => {
      events.push(line);
      events.flush();
    };
    for (let index = 0; index < 13; index++) say(`e${index}`);
    expect(seen).toEqual(["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9"]);
    after(2_000);
    say("later");
    expect(seen.at(-1)).toBe("later\n[3 more events were not shown]");
    events.close();
  });

  test("long lines are cut, and a batch holds so much", () => {
    const { events, seen } = collect();
    for (let index = 0; index < 10; index++) events.push("x".repeat(600));
    events.close();
    expect(seen).toEqual([
      `${Array(5)
        .fill(`${"x".repeat(500)}…`)
        .join("\n")}\n[5 more events were not shown]`,
    ]);
  });

  test("a flood of half a minute ends it, once", () => {
    const { events, seen, after } = collect();
    for (let index = 0; index < 400; index++) {
      events.push("e");
      events.flush();
      after(100);
    }
    expect(seen.filter((text) => text === "FLOODED")).toHaveLength(1);
    expect(seen.at(-1)).toBe("FLOODED");
  });
});
