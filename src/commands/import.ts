// `letta import`: takes over agents, conversations and messages of the other Letta client's local store. That store is
// only read; doing it again brings what is new there. Memory repositories and provider keys stay where they are.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { defineCommand } from "citty";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

export const command = defineCommand({
  meta: { description: "Take over agents and conversations of another Letta client's local store" },
  args: {
    folder: { type: "positional", required: false, description: "Its store (default: ~/.letta/lc-local-backend)" },
    "dry-run": { type: "boolean", description: "Only show what is there" },
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runImport(core, args, io)),
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
      const [{ importStore }, { openDatabase }] = await Promise.all([
        import("@/backend/local/import.ts"),
        import("@/store/db.ts"),
      ]);
      if (args["dry-run"]) return { dryRun: true, ...(await importStore(root, null, now)) };
      const db = openDatabase(core.paths.database);
      try {
        return { dryRun: false, ...(await importStore(root, db, now)) };
      } finally {
        db.close();
      }
    },
    {
      text: ({ dryRun, root, agents, conversations, messages, problems }) => {
        const verb = dryRun ? "Found" : "Imported";
        const lines = [
          `${verb} ${plural(agents.imported, "agent")}, ${plural(conversations.imported, "conversation")}, ${plural(messages, "message")} from ${root}`,
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
  if (folder !== undefined) {
    if (folder.endsWith(".af")) {
      throw new LettaError("usage", "this version cannot import AgentFiles (.af) yet", {
        hint: "It imports the folder of a local store.",
      });
    }
    return resolve(core.cwd, folder);
  }
  // LETTA_LOCAL_BACKEND_DIR names the store of both clients.
  const candidates = [join(core.paths.root, "lc-local-backend"), core.paths.local];
  const found = candidates.find((candidate) => existsSync(join(candidate, "agents")));
  if (found) return found;
  throw new LettaError("not_found", `no local store of another client in ${candidates[0]}`, {
    hint: "Name its folder: letta import FOLDER (it holds agents/ and conversations/).",
  });
}
