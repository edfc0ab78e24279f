// Starts a deaf child and waits: for tests that kill it.

import { createWatchdog } from "@/lib/watchdog.ts";
import { launchChild } from "@/subagents/launch-child.ts";
import { fakeCommand, LAUNCH } from "./fake-launch.ts";

launchChild(LAUNCH, {
  env: process.env,
  parentAgentId: "agent-1",
  watchdog: createWatchdog(),
  signal: new AbortController().signal,
  timeoutMs: 600_000,
  maxOutputBytes: 1_000_000,
  command: fakeCommand("deaf"),
  onToolCall: ({ argumentsText }) => console.log(argumentsText),
});
setInterval(() => {}, 1000);
