import { join } from "node:path";
import type { Launch } from "@/subagents/launch.ts";

export const LAUNCH: Launch = {
  v: 1,
  run_id: "run-1",
  backend: "local",
  agent: { kind: "new", tags: [] },
  system_prompt: "You test.",
  prompt: "hello",
  model: null,
  tools: null,
  permissions: { mode: "standard", allow: [], deny: [] },
  cwd: "/",
  limits: {},
  depth: 1,
};

export function fakeCommand(kind: string): string[] {
  return [process.execPath, join(import.meta.dir, "fake-child.ts"), kind];
}
