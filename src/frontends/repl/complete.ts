// Completion of `/commands` and `@files`. Files are looked for when the first `@` is typed, not before.

import type { ReplCommand } from "./commands/command.ts";
import { COMPLETION_ROWS } from "./limits.ts";
import type { Completion } from "./ui.ts";

/** `files` lists paths relative to the working directory, `/` at the end of directories. */
export async function complete(
  text: string,
  cursor: number,
  commands: readonly ReplCommand[],
  files: () => Promise<readonly string[]>,
): Promise<Completion | null> {
  const command = /^\/([\w:./-]*)$/.exec(text.slice(0, cursor));
  if (command && cursor === text.length) return completeCommand(command[1] ?? "", commands, cursor);
  const mention = /(?:^|[\s"'=])@([^\s"'@]*)$/.exec(text.slice(0, cursor));
  if (!mention) return null;
  const query = mention[1] ?? "";
  const candidates = rankFiles(await files(), query).map((path) => ({ text: quoted(path) }));
  return { start: cursor - query.length - 1, end: cursor, candidates };
}

/** Substring match; names that begin with it come first. */
function completeCommand(typed: string, commands: readonly ReplCommand[], end: number): Completion {
  const wanted = typed.toLowerCase();
  const matching = commands.filter(({ name, aliases }) =>
    [name, ...(aliases ?? [])].some((word) => word.includes(wanted)),
  );
  const sorted = matching.toSorted((a, b) => Number(b.name.startsWith(wanted)) - Number(a.name.startsWith(wanted)));
  return {
    start: 0,
    end,
    candidates: sorted.map(({ name, args, summary }) => ({
      text: `/${name}${args ? " " : ""}`,
      hint: `${args ? `${args}  ` : ""}${summary}`,
    })),
  };
}

/** Exact name 100, prefix 80, substring 50, somewhere in the path 30; directories 10 more; shorter paths first. */
export function rankFiles(paths: readonly string[], query: string): string[] {
  const wanted = query.toLowerCase();
  const scored: { path: string; score: number }[] = [];
  for (const path of paths) {
    const score = scoreFile(path.toLowerCase(), wanted);
    if (score > 0) scored.push({ path, score });
  }
  scored.sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return scored.slice(0, COMPLETION_ROWS).map(({ path }) => path);
}

function scoreFile(path: string, wanted: string): number {
  const directory = path.endsWith("/");
  const trimmed = directory ? path.slice(0, -1) : path;
  const bonus = directory ? 10 : 0;
  if (wanted === "") return (trimmed.includes("/") ? 1 : 2) + bonus;
  const name = trimmed.slice(trimmed.lastIndexOf("/") + 1);
  if (name === wanted || trimmed === wanted) return 100 + bonus;
  if (name.startsWith(wanted)) return 80 + bonus;
  if (name.includes(wanted)) return 50 + bonus;
  return path.includes(wanted) ? 30 + bonus : 0;
}

/** Only the path is inserted; the agent reads the file itself. */
function quoted(path: string): string {
  const text = /[\s"']/.test(path) ? `"${path.replaceAll('"', '\\"')}"` : path;
  return path.endsWith("/") ? text : `${text} `;
}
