// A whole headless process (flags, signals, stdin, stdout) around a scripted engine. LETTA_TEST_SCRIPT names the turn.

import { parseGlobalFlags } from "@/commands/parse-flags.ts";
import { appOptionsFrom, headlessOptionsFrom, selectionFrom } from "@/commands/root.ts";
import { startHeadless } from "@/frontends/headless/start.ts";
import { LettaError } from "@/lib/errors.ts";
import { readEnv } from "@/store/env.ts";
import { ended, type Script, say, textDelta } from "../../support/scripted-engine.ts";
import { openTestApp } from "./support.ts";

const SCRIPTS: Record<string, Script> = {
  echo: (context) => say(String(context.input.content))(context),
  /** Streams text for ever, until it is aborted. */
  async *flood(context) {
    while (!context.signal.aborted) {
      yield textDelta(context, "x".repeat(1000));
      await Bun.sleep(0);
    }
    console.error("aborted");
    yield ended(context, { status: "interrupted", stopReason: "cancelled", text: "x" });
  },
  /** Says one word and waits to be aborted. */
  async *wait(context) {
    yield textDelta(context, "part");
    const alive = setInterval(() => {}, 1000);
    await context.aborted;
    clearInterval(alive);
    yield ended(context, { status: "interrupted", stopReason: "cancelled", text: "part" });
  },
  /** Says one word and does not listen. */
  async *deaf(context) {
    yield textDelta(context, "part");
    await new Promise(() => setInterval(() => {}, 1000));
  },
  async *large(context) {
    yield textDelta(context, "y".repeat(5_000_000));
    yield ended(context, { text: "done" });
  },
};

const env = readEnv();
const { flags, positionals } = parseGlobalFlags(process.argv.slice(2));
const context = { cwd: process.cwd(), env };
const name = process.env.LETTA_TEST_SCRIPT ?? "echo";
process.exitCode = await startHeadless(
  appOptionsFrom(flags, context, false),
  headlessOptionsFrom(flags, positionals, selectionFrom(flags, "headless")),
  {
    open: async () => {
      if (name === "broken")
        throw new LettaError("storage", "the store is damaged\u001b[2J\u202e", { hint: "Run letta doctor." });
      const app = await openTestApp(Array.from({ length: 9 }, () => SCRIPTS[name]!));
      return { ...app, close: async () => await app[Symbol.asyncDispose]() };
    },
  },
);
