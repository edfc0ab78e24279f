// `letta import`: takes over agents, conversations, messages and memories of the other Letta client's local store. That
// store is only read; doing it again brings what is new there. Provider keys stay where they are.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { defineCommand } from "citty";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { withCore, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

export const command = defineCommand({
  meta: { description: "Take over agents and conversations of another Letta client's local store" },
  args: {
    folder: {
      type: "positional",
      required: false,
      description: "Its store (default: ~/.letta/lc-local-backend), or an AgentFile (.af)",
    },
    "dry-run": { type: "boolean", description: "Only show what is there" },
    ...outputArgs,
  },
  run: ({ args, data }) => {
    const { folder } = args;
    if (!folder?.endsWith(".af")) return withCore(data, (core, io) => runImport(core, args, io));
    return withStore(data, async (app, io) => {
      const { runImportAgentFile } = await import("./import-agent-file.ts");
      return runImportAgentFile(app, { ...args, folder }, io);
    });
  },
});

export interface ImportArgs extends OutputArgs {
  folder?: string;
  "dry-run"?: boolean;
}

export async function runImport(core: Core, args: ImportArgs, io: Io, now = Date.now): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const root = findStore(core, args.folder);
      const dryRun = args["dry-run"] ?? false;
      const [{ importStore }, { importMemories }, { openDatabase }] = await Promise.all([
        import("@/backend/local/import.ts"),
        import("@/memory/import.ts"),
        import("@/store/db.ts"),
      ]);
      const db = dryRun ? null : openDatabase(core.paths.database);
      try {
        const { problems, ...report } = await importStore(root, db, now);
        const { problems: left, ...memories } = await importMemories(root, core.paths, { dryRun });
        return { dryRun, ...report, memories, problems: [...problems, ...left] };
      } finally {
        db?.close();
      }
    },
    {
      text: ({ dryRun, root, agents, conversations, messages, memories, problems }) => {
        const verb = dryRun ? "Found" : "Imported";
        const lines = [
          `${verb} ${plural(agents.imported, "agent")}, ${plural(conversations.imported, "conversation")}, ${plural(messages, "message")}, ${plural(memories.imported, "memory", "memories")} from ${root}`,
          ...(conversations.extended > 0
            ? [`${plural(conversations.extended, "conversation")} got what was new there`]
            : []),
          ...(agents.present + conversations.present > 0
            ? [`Here already: ${plural(agents.present, "agent")}, ${plural(conversations.present, "conversation")}`]
            : []),
          ...problems.map(({ file, message }) => `${file}: ${message}`),
          ...(dryRun ? [] : ["Connect your models with `letta connect`: provider keys are not taken over."]),
        ];
        return lines.map((line) => `${toPlainLine(line)}\n`).join("");
      },
    },
  );
}

function findStore(core: Core, folder: string | undefined): string {
  if (folder !== undefined) return resolve(core.cwd, folder);
  // LETTA_LOCAL_BACKEND_DIR names the store of both clients.
  const candidates = [join(core.paths.root, "lc-local-backend"), core.paths.local];
  const found = candidates.find((candidate) => existsSync(join(candidate, "agents")));
  if (found) return found;
  throw new LettaError("not_found", `no local store of another client in ${candidates[0]}`, {
    hint: "Name its folder: letta import FOLDER (it holds agents/ and conversations/).",
  });
}
