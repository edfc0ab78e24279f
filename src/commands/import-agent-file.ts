// `letta import X.af`: agents of an AgentFile, with their blocks as files of a memory.

import { resolve } from "node:path";
import { parseAgentFile } from "@/agent/agent-file.ts";
import { LettaError, systemReason } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import type { StoreApp } from "./context.ts";
import type { ImportArgs } from "./import.ts";
import type { Io } from "./io.ts";
import { present } from "./output.ts";

/** More than any agent; a wrong file is not read whole. */
const MAX_BYTES = 512 * 1024 * 1024;

export async function runImportAgentFile(
  app: StoreApp,
  args: ImportArgs & { folder: string },
  io: Io,
): Promise<number> {
  const path = resolve(app.cwd, args.folder);
  const dryRun = args["dry-run"] ?? false;
  return present(
    io,
    args,
    async () => {
      const found = parseAgentFile(await read(path), path);
      const agents = [];
      for (const { body, messages } of found) {
        const { id } = dryRun ? { id: null } : await app.backend.createAgent(body);
        agents.push({ id, name: body.name, blocks: body.memory_blocks?.length ?? 0, messages_left_out: messages });
      }
      return { dryRun, path, agents };
    },
    {
      text: ({ agents }) =>
        agents
          .map(({ id, name, blocks, messages_left_out }) => {
            const who = `${name}${id === null ? "" : ` (${id})`}`;
            const rest = messages_left_out > 0 ? `; ${plural(messages_left_out, "message")} left out` : "";
            const line = `${dryRun ? "Found" : "Imported"} ${who}: ${plural(blocks, "block")} of memory${rest}`;
            return `${toPlainLine(line)}\n`;
          })
          .join(""),
    },
  );
}

async function read(path: string): Promise<string> {
  const file = Bun.file(path);
  if (file.size > MAX_BYTES) throw new LettaError("usage", `${path} is too large for an AgentFile`);
  try {
    return await file.text();
  } catch (cause) {
    throw new LettaError("not_found", `cannot read ${path}: ${systemReason(cause)}`, { cause });
  }
}
