// What the flags of a run become, and which runs are refused before anything is opened.

import { expect, test } from "bun:test";
import { parseGlobalFlags } from "@/commands/parse-flags.ts";
import { appOptionsFrom, headlessOptionsFrom, runRoot, selectionFrom } from "@/commands/root.ts";
import { readEnv } from "@/store/env.ts";

const CONTEXT = { cwd: "/work", env: readEnv({ HOME: "/nowhere" }) };

function parse(...argv: string[]) {
  const { flags, positionals } = parseGlobalFlags(argv);
  const selection = selectionFrom(flags, "headless");
  return { app: appOptionsFrom(flags, CONTEXT, false), run: headlessOptionsFrom(flags, positionals, selection) };
}

test.each([
  [["-p", "two", "words"], { prompt: "two words", outputFormat: "text", stdin: "auto", bidirectional: false }],
  [["-p", "-"], { prompt: "", stdin: "wait" }],
  [["-p", "--no-stdin", "x"], { prompt: "x", stdin: "never" }],
  [["-p", "--input-format", "stream-json"], { bidirectional: true, outputFormat: "stream-json" }],
  [["-p", "--max-turns", "2", "--timeout", "1s"], { limits: { maxTurns: 2, timeoutMs: 1000 } }],
  [["-p", "--system-custom", "Be brief."], { selection: expect.objectContaining({ system: { text: "Be brief." } }) }],
  [["-p", "--system", "letta"], { selection: expect.objectContaining({ system: { preset: "default" } }) }],
])("%j", (argv, expected) => expect(parse(...argv).run).toMatchObject(expected as never));

test.each([
  [["-p"], { label: "headless", interactive: false }],
  [["-p", "--yolo", "--permission-mode", "strict"], { permissionMode: "unrestricted" }],
  [["-p", "--input-format", "stream-json"], { interactive: true }],
  [["-p", "--ephemeral"], { ephemeral: true }],
  [["-p", "--tools", ""], { tools: [] }],
  [["-p", "--toolset", "gemini_snake"], { toolset: "gemini_snake" }],
  [["-p", "--no-system-info-reminder"], { systemInfoReminder: false }],
])("app of %j", (argv, expected) => expect(parse(...argv).app).toMatchObject(expected as never));

test.each([
  [["-p", "--prompt-file", "f", "x"], "--prompt-file does not go with a prompt on the command line"],
  [["-p", "--include-partial-messages", "x"], "--include-partial-messages needs --output-format stream-json"],
  [["-p", "--ephemeral", "--input-format", "stream-json"], "--ephemeral does not go with --input-format stream-json"],
  [["agnts"], 'unknown command or argument "agnts"'],
  [["cron"], 'this version of letta does not have "cron" yet'],
  [["-p", "--resume"], "--resume needs a terminal and does not go with -p"],
] as const)("%j is refused", async (argv, message) => {
  const error = await runRoot([...argv], CONTEXT).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "usage", message });
});
