// A dream that goes on when the process that noticed it was due has ended. It is a process of its own with a lifetime of
// its own: bounded by the dream's time limit, alone by the agent's lease, and what it starts dies with it.

import type { ConversationRef } from "@/backend/backend.ts";
import { selfCommand, withoutBunSwitches } from "@/lib/self.ts";
import type { Env } from "@/store/env.ts";

/** Returns its process id. */
export function spawnReflection(
  { agentId, conversationId }: ConversationRef,
  { env, cwd }: { env: Env; cwd: string },
): number {
  const args = ["dream", "--if-due", "--agent", agentId, "--from", conversationId];
  const child = Bun.spawn([...selfCommand(), "--backend", "local", ...args], {
    cwd,
    env: withoutBunSwitches(env.all),
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  });
  child.unref();
  return child.pid;
}
