// Rows that need a model: a scripted server on loopback stands in for it.

import { spawn } from "node:child_process";
import { childEnv, tempHome } from "../../test/support/binary.ts";
import { type ModelServer, startModelServer } from "../../test/support/model-server.ts";
import { headless, PROTOCOLS } from "../../test/support/protocols.ts";

export interface TurnServer extends AsyncDisposable {
  args: string[];
  env: Record<string, string>;
  server: ModelServer;
}

/** Every turn is one shell call, then one sentence. */
export async function openTurnServer(command = "echo hello"): Promise<TurnServer> {
  const server = await startModelServer((request) =>
    request.messages.at(-1)?.toolResults.length
      ? { text: "It said hello." }
      : { toolCalls: [{ id: `call_${request.messages.length}`, name: "Bash", args: { command } }] },
  );
  return { ...headless(server.url, ["--yolo"]), server, [Symbol.asyncDispose]: () => server.close() };
}

/** Size of what every conversation starts with, and whether a second turn begins with the same bytes. */
export async function measureRequests(letta: string): Promise<{ firstBytes: number; stablePrefix: boolean }> {
  using home = tempHome();
  await using server = await startModelServer(() => ({ text: "ok" }));
  const anthropic = PROTOCOLS[0]!;
  for (const flags of [["one"], ["--continue", "two"]]) {
    const { args, env } = headless(server.url, flags, anthropic);
    const child = Bun.spawn([letta, ...args], { cwd: home.workdir, env: childEnv(home, env), stdout: "ignore" });
    if ((await child.exited) !== 0) throw new Error("a bench turn failed");
  }
  const [first, second] = server.requests.map(({ body }) => body);
  const fixed = (body: { system: unknown; tools: unknown }) => JSON.stringify([body.system, body.tools]);
  const said = (body: { messages: object[] }, count: number) => stripCacheMarks(body.messages.slice(0, count));
  return {
    firstBytes: Buffer.byteLength(fixed(first)),
    stablePrefix:
      stripCacheMarks(fixed(first)) === stripCacheMarks(fixed(second)) &&
      said(first, first.messages.length) === said(second, first.messages.length),
  };
}

/** Median milliseconds from the server's write of a piece of text to its line on our stdout. */
export async function measureFirstDelta(letta: string, runs: number): Promise<number> {
  using home = tempHome();
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer([{ text: ["before ", "after"], gate: gate.promise }]);
    const flags = ["--output-format", "stream-json", "--include-partial-messages", "go"];
    const { args, env } = headless(server.url, flags);
    const child = spawn(letta, args, {
      cwd: home.workdir,
      env: childEnv(home, env),
      stdio: ["ignore", "pipe", "ignore"],
    });
    let sentAt = 0;
    let seen = "";
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (bytes: Buffer) => {
        seen += bytes.toString();
        if (sentAt === 0 && seen.includes("before ")) {
          // Everything that streaming needs is loaded now; what is timed is one piece on its way.
          setTimeout(() => {
            sentAt = performance.now();
            gate.resolve();
          }, 20);
        }
        if (sentAt > 0 && seen.includes("after")) resolve();
      });
      child.on("exit", () => resolve());
    });
    times.push(performance.now() - sentAt);
    await new Promise((resolve) => (child.exitCode === null ? child.on("exit", resolve) : resolve(null)));
  }
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}

/** Marks for the provider's cache move with the end of the conversation and are not part of what is cached. */
function stripCacheMarks(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.replace(/,"cache_control":\{[^}]*\}/g, "");
}
