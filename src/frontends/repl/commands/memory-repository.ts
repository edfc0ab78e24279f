import { LettaError } from "@/lib/errors.ts";
import { withSessionMemory } from "../memory-scope.ts";
import type { ReplCommand } from "./command.ts";

const USAGE = "Usage: /memory-repository [set URL | unset | status | push]";

export const memoryRepository: ReplCommand = {
  name: "memory-repository",
  args: "[set URL|unset|status|push]",
  summary: "A repository of your own that the memory is kept in, too",
  run(args, session) {
    const [verb = "", url, ...rest] = args.split(/\s+/);
    if (rest.length > 0 || (url !== undefined && verb !== "set")) throw new LettaError("usage", USAGE);
    return withSessionMemory(session, async (scope, io) => {
      const remote = await import("@/commands/memory-remote.ts");
      const text = { format: "text" };
      switch (verb || "status") {
        case "set":
          if (!url) throw new LettaError("usage", USAGE);
          if ((await remote.runMemoryRemoteSet(scope, { ...text, url }, io)) !== 0) return;
          return remote.runMemoryPush(scope, text, io);
        case "unset":
        case "remove":
        case "delete":
        case "rm":
          return remote.runMemoryRemoteUnset(scope, text, io);
        case "status":
          return remote.runMemoryRemoteShow(scope, text, io);
        case "push":
          return remote.runMemoryPush(scope, text, io);
      }
      throw new LettaError("usage", USAGE);
    });
  },
};
