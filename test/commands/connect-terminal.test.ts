// Typing a key at a real terminal: it works, and it is never shown.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { openPty } from "../support/pty.ts";

const ENV = { LETTA_SKIP_KEYCHAIN_CHECK: "1" };

test("the key is asked for without echo, corrected with backspace, checked and stored", async () => {
  await using server = await startModelServer([], { requireKey: "typed-secret" });
  using home = tempHome();
  await using pty = await openPty(["connect", "openai", "--base-url", server.url], { home, env: ENV });
  await pty.waitFor(/OpenAI API key: /);
  pty.type("typed-secretX\x7f\r");
  await pty.waitFor(/Next: +letta --model openai\/m/);
  expect(await pty.exited).toBe(0);
  expect(pty.raw()).not.toContain("typed");
  expect(readFileSync(join(home.path, ".letta/local/providers/auth.json"), "utf8")).toContain('"typed-secret"');
}, 60_000);

test("Ctrl-C at the question stores nothing", async () => {
  await using server = await startModelServer([]);
  await using pty = await openPty(["connect", "openai", "--base-url", server.url], { env: ENV });
  await pty.waitFor(/OpenAI API key: /);
  pty.type("half\x03");
  await pty.waitFor(/Nothing was stored/);
  expect(await pty.exited).toBe(130);
  expect(server.listings).toHaveLength(0);
}, 60_000);

test("a second question can be asked: the window of an endpoint that does not tell it", async () => {
  await using server = await startModelServer([], { models: [{ id: "m" }] });
  using home = tempHome();
  const args = ["connect", "openai-compatible", "--name", "mine", "--base-url", `${server.url}/v1`];
  await using pty = await openPty(args, { home, env: ENV });
  await pty.waitFor(/API key \(Enter: none\): /);
  // Typed ahead: what follows the first line belongs to the next question.
  pty.type("\r24000\r");
  await pty.waitFor(/Context window of \S+, in tokens/);
  await pty.waitFor(/Next: /);
  expect(await pty.exited).toBe(0);
  expect(readFileSync(join(home.path, ".letta/local/providers/auth.json"), "utf8")).toContain("24000");
}, 60_000);
