// `letta undo`: takes back the file changes of a turn from the store of earlier contents. The user's git is never
// touched. Undoing can itself be undone.

import { existsSync } from "node:fs";
import { defineCommand } from "citty";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { pathInside, shortPath } from "@/lib/path-inside.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { renderTable } from "@/lib/table.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import type { ShadowStore, ShadowTurn, UndoResult } from "@/store/shadow.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, parseCount, present, tableOptions } from "./output.ts";

export const command = defineCommand({
  meta: { description: "Take back the file changes of a turn (default: the latest one in this folder)" },
  args: {
    turn: { type: "string", valueHint: "ID", description: "This turn" },
    list: { type: "boolean", description: "List the turns that changed files in this folder" },
    all: { type: "boolean", description: "Turns of every folder" },
    limit: { type: "string", valueHint: "N", description: "With --list: at most this many (default 20)" },
    "dry-run": { type: "boolean", description: "Only show what would be taken back" },
    force: { type: "boolean", description: "Also overwrite files that were changed since" },
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => withShadow(core, (shadow) => runUndo(core, shadow, args, io))),
});

export interface UndoArgs extends OutputArgs {
  turn?: string;
  list?: boolean;
  all?: boolean;
  limit?: string;
  "dry-run"?: boolean;
  force?: boolean;
}

/** Looked through for the turns of one folder; older changes are pruned anyway. */
const MAX_TURNS = 1000;

/** `shadow` is null when nothing was ever stored here. */
export async function runUndo(
  core: Pick<Core, "cwd" | "settings">,
  shadow: ShadowStore | null,
  args: UndoArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  if (args.list && (args.turn || args.force || args["dry-run"])) {
    throw new LettaError("usage", "--list goes with --all and --limit only");
  }
  const folder = core.settings.projectRoot ?? core.cwd;
  const turns = () => (shadow?.listTurns(null, MAX_TURNS) ?? []).filter((turn) => args.all || touches(turn, folder));
  if (args.list) {
    return present(io, args, () => turns().slice(0, parseCount("limit", args.limit, 20)), {
      text: (found) => (found.length === 0 ? "No turn changed files here.\n" : renderTurns(found, folder, io, now)),
    });
  }
  return present(
    io,
    args,
    async () => {
      const turn = chooseTurn(turns(), shadow?.listTurns(null, MAX_TURNS) ?? [], args.turn);
      if (args["dry-run"]) return { turnId: turn.turnId, dryRun: true, undoId: null, files: plannedFiles(turn) };
      const result = await shadow!.undoTurn(turn.turnId, { force: args.force === true });
      return { turnId: turn.turnId, dryRun: false, ...result };
    },
    {
      text: (data) => renderResult(data, folder),
      exitCode: ({ files }) => (files.some(({ outcome }) => INCOMPLETE.has(outcome)) ? 1 : 0),
    },
  );
}

/** The store of earlier contents; its database is not created for asking. */
export async function withShadow(core: Core, use: (shadow: ShadowStore | null) => Promise<number>): Promise<number> {
  if (!existsSync(core.paths.database)) return use(null);
  const [{ openDatabase }, { createShadowStore }] = await Promise.all([
    import("@/store/db.ts"),
    import("@/store/shadow.ts"),
  ]);
  const db = openDatabase(core.paths.database);
  try {
    return await use(createShadowStore(db, core.paths));
  } finally {
    db.close();
  }
}

type Outcome = UndoResult["files"][number]["outcome"] | "would_restore";
interface Undone {
  turnId: string;
  dryRun: boolean;
  undoId: string | null;
  files: { path: string; outcome: Outcome; detail?: string }[];
}

const INCOMPLETE = new Set<Outcome>(["conflict", "not_kept", "failed"]);

const OUTCOME_TEXT: Record<Outcome, string> = {
  restored: "restored",
  removed: "removed",
  unchanged: "already as it was",
  conflict: "LEFT ALONE: it was changed since (--force overwrites it)",
  not_kept: "NOT RESTORED: its earlier content was not kept",
  failed: "FAILED",
  would_restore: "would be taken back",
};

function chooseTurn(here: ShadowTurn[], all: ShadowTurn[], id: string | undefined): ShadowTurn {
  if (id !== undefined) {
    const turn = all.find(({ turnId }) => turnId === id);
    if (turn) return turn;
    throw new LettaError("not_found", `no turn ${id} changed files`, { hint: "See: letta undo --list --all" });
  }
  const latest = here.find((turn) => !turn.undone && turn.undoOf === null);
  if (latest) return latest;
  throw new LettaError("not_found", "there is nothing to undo in this folder", {
    hint: "See: letta undo --list --all",
  });
}

function touches(turn: ShadowTurn, folder: string): boolean {
  return turn.files.some(({ path }) => pathInside(folder, path) !== null);
}

function plannedFiles(turn: ShadowTurn): Undone["files"] {
  return turn.files.map(({ path, kind }) => ({ path, outcome: "would_restore", detail: kind }));
}

function renderTurns(turns: ShadowTurn[], folder: string, io: Io, now: number): string {
  const columns = [{ title: "TURN" }, { title: "WHEN" }, { title: "FILES", shrink: true }, { title: "" }];
  const rows = turns.map((turn) => [
    turn.turnId,
    formatAge(turn.at, now),
    turn.files.map(({ path, kind }) => `${kind} ${shortPath(folder, path)}`).join(", "),
    turn.undone ? "undone" : turn.undoOf === null ? "" : `undo of ${turn.undoOf}`,
  ]);
  return renderTable(columns, rows, tableOptions(io));
}

function renderResult({ turnId, dryRun, undoId, files }: Undone, folder: string): string {
  const lines = files.map(({ path, outcome, detail }) => {
    const more = detail ? ` (${toPlainLine(detail)})` : "";
    return `  ${toPlainLine(shortPath(folder, path))}: ${OUTCOME_TEXT[outcome]}${more}\n`;
  });
  const head = dryRun ? `Turn ${turnId} would be taken back:\n` : `Turn ${turnId}:\n`;
  const again = undoId === null ? "" : `To do it again: letta undo --turn ${undoId}\n`;
  return head + lines.join("") + again;
}
