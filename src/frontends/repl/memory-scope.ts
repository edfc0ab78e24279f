// What `letta memory …` does, done from a running conversation: the same commands, with the lines going to the surface.

import type { Io } from "@/commands/io.ts";
import type { MemoryScope } from "@/commands/memory-scope.ts";
import { LettaError } from "@/lib/errors.ts";
import type { AgentMemory } from "@/memory/service.ts";
import { asking, sessionIo } from "./connect.ts";
import type { ReplSession } from "./session.ts";

export type SessionIo = Io & ReturnType<typeof asking>;

/** Throws `usage` for an agent that has none. */
export function requireMemory(session: ReplSession): AgentMemory {
  const memory = session.app.memories?.find(session.agent);
  if (memory) return memory;
  throw new LettaError("usage", "This agent has no memory");
}

export async function withSessionMemory(
  session: ReplSession,
  use: (scope: MemoryScope, io: SessionIo) => Promise<unknown>,
): Promise<void> {
  // Made when it is first needed.
  await requireMemory(session).ensure();
  const { openScope } = await import("@/commands/memory-scope.ts");
  const scope = await openScope(session.app, { agent: session.agent.id });
  await use(scope, { ...sessionIo(session), ...asking(session, undefined) });
}
