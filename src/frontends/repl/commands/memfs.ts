import { LettaError } from "@/lib/errors.ts";
import { requireMemory, withSessionMemory } from "../memory-scope.ts";
import type { ReplSession } from "../session.ts";
import type { ReplCommand } from "./command.ts";
import { confirm } from "./memory.ts";

const HELP = `/memfs status  what is not committed and not pushed
/memfs sync    take over what the remote has, then push
/memfs reset   put the memory aside and begin with an empty one
Every agent has its memory: it cannot be switched off. In a shell: letta memory help`;

export const memfs: ReplCommand = {
  name: "memfs",
  args: "[status|sync|reset|help]",
  summary: "State of the agent's memory directory",
  async run(args, session) {
    switch (args || "status") {
      case "status":
        return withSessionMemory(session, async (scope, io) => {
          const { runMemoryStatus } = await import("@/commands/memory-status.ts");
          return runMemoryStatus(scope, { format: "text" }, io);
        });
      case "sync":
        return withSessionMemory(session, async (scope, io) => {
          const { runMemoryPull, runMemoryPush } = await import("@/commands/memory-remote.ts");
          const pulled = await runMemoryPull(scope, { format: "text" }, io);
          if (pulled === 0 && (await hasRemote(scope))) await runMemoryPush(scope, { format: "text" }, io);
        });
      case "reset":
        return reset(session);
      case "enable":
        return session.say("Every agent has a memory: there is nothing to switch on.");
      case "help":
        return session.say(HELP);
    }
    throw new LettaError("usage", "Usage: /memfs [status|sync|reset|help]");
  },
};

async function hasRemote({ memory }: { memory: ReturnType<typeof requireMemory> }): Promise<boolean> {
  const { originOf } = await import("@/memory/remote-settings.ts");
  return originOf(await memory.ensure()) !== null;
}

async function reset(session: ReplSession): Promise<void> {
  const { app, agent } = session;
  const { places } = requireMemory(session);
  if (!(await confirm(session, `Put the whole memory of ${agent.name} aside and begin anew?`))) {
    return session.say("Nothing was changed.");
  }
  const { putAside } = await import("@/memory/backups.ts");
  // A backup and nothing in a temp directory: those are emptied, and may be on another disk.
  const { name } = await putAside(places, new Date(session.now()));
  app.memories?.forget(agent.id);
  await requireMemory(session).ensure();
  session.say(`A new memory has begun. To bring the old one back: letta memory restore --from ${name} --force`);
}
