// pi-ai's protocol modules lose initialisers when bundled carelessly, and Bedrock's hides behind a computed import
// (spec 02 §8.2). `bun run` shows none of it, so this suite links an executable with the product's own flags.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../scripts/build.ts";
import { type ModelServer, type ScriptedReply, startModelServer } from "../support/model-server.ts";
import { PROTOCOLS, removeHomes, serverEnv } from "./support.ts";

afterAll(removeHomes);

const dir = mkdtempSync(join(tmpdir(), "letta-compiled-"));
const outfile = join(dir, "calls");

beforeAll(() => compile({ entry: join(import.meta.dir, "compiled-entry.ts"), outfile }), 60_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Line {
  type: string;
  at: number;
  delta?: string;
  error?: { code: string; message: string };
  message?: { content: unknown[]; stopReason: string };
}

async function run(
  server: ModelServer,
  handle: string,
  vars: Record<string, string> = {},
  ...more: string[]
): Promise<Line[]> {
  const env = { ...serverEnv(server.url, vars).all };
  await using child = Bun.spawn([outfile, handle, ...more], { env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (err !== "") throw new Error(err);
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const REPLY: ScriptedReply = {
  thinking: "hm",
  text: "héllo wörld",
  toolCalls: [{ id: "c1", name: "Bash", args: { command: "ls" } }],
};

describe("compiled", () => {
  test.each(Object.values(PROTOCOLS))("%s streams text and a tool call", async (handle) => {
    await using server = await startModelServer([REPLY]);
    const lines = await run(server, handle);
    expect(lines.map(({ type, delta }) => (type === "text" ? delta : "")).join("")).toBe("héllo wörld");
    expect(lines.at(-1)).toMatchObject({ type: "done", message: { stopReason: "toolUse" } });
    expect(lines.at(-1)?.message?.content.at(-1)).toMatchObject({
      id: "c1",
      name: "Bash",
      arguments: { command: "ls" },
    });
  });

  test.each(Object.values(PROTOCOLS))("%s: abort closes the socket within 100 ms", async (handle) => {
    await using server = await startModelServer([{ text: ["first ", "second"], fault: "stall" }]);
    const lines = await run(server, handle, {}, "abort");
    expect(lines.at(-1)).toMatchObject({ type: "error", error: { code: "cancelled" } });
    const abortedAt = lines.find(({ type }) => type === "text")?.at ?? 0;
    while (server.closedAt === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(server.closedAt - abortedAt).toBeLessThanOrEqual(100);
  });

  test("Bedrock's module is in the executable and talks", async () => {
    await using server = await startModelServer([]);
    const lines = await run(server, "bedrock/global.anthropic.claude-sonnet-4-6", {
      AWS_ACCESS_KEY_ID: "AKIATEST",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_REGION: "us-east-1",
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: server.url,
      AWS_BEDROCK_FORCE_HTTP1: "1",
    });
    expect(server.listings.map(({ path }) => path)).toEqual([expect.stringContaining("/converse-stream")]);
    expect(lines).toMatchObject([{ type: "error", error: { code: "not_found" } }]);
  });
});
