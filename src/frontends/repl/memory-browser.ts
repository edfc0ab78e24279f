// `/memory`: looking around in a memory. Where a person answers, one folder at a time and files page by page; elsewhere the
// whole tree as text. What is shown is what was committed; what was not is counted.

import { toPlainLine, toPlainText } from "@/lib/terminal-text.ts";
import { formatCount, plural } from "@/lib/text.ts";
import { descriptionOf, parseMarkdown } from "@/memory/frontmatter.ts";
import { isMarkdown, SYSTEM_FOLDER } from "@/memory/places.ts";
import type { AgentMemory } from "@/memory/service.ts";
import { countTokens } from "@/memory/tokens.ts";
import { decodeLoosely } from "@/memory/validate.ts";
import type { ChoiceItem } from "./choice.ts";
import type { ReplSession } from "./session.ts";

const PAGE_LINES = 40;

export interface MemoryEntry {
  name: string;
  /** In the repository; of a folder without a slash at its end. */
  path: string;
  isFolder: boolean;
  /** Below it, for a folder. */
  files: number;
}

/** What is directly in a folder ("": the top): folders first, `system` before the others; dot-files are left out. */
export function listFolder(paths: readonly string[], folder: string): MemoryEntry[] {
  const prefix = folder === "" ? "" : `${folder}/`;
  const entries = new Map<string, MemoryEntry>();
  for (const path of paths) {
    if (!path.startsWith(prefix) || path.split("/").some((name) => name.startsWith("."))) continue;
    const [name = "", ...below] = path.slice(prefix.length).split("/");
    const entry = entries.get(name) ?? { name, path: prefix + name, isFolder: below.length > 0, files: 0 };
    entries.set(name, { ...entry, files: entry.files + 1 });
  }
  const rank = ({ isFolder, path }: MemoryEntry) => (path === SYSTEM_FOLDER ? 0 : isFolder ? 1 : 2);
  return [...entries.values()].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

export async function browseMemory(session: ReplSession, memory: AgentMemory): Promise<void> {
  const files = await memory.files();
  await sayUncommitted(session, memory);
  if (!session.ui.interactive) return session.print(treeLines(files.paths, ""));
  const { theme } = session.ui;
  let folder = "";
  for (;;) {
    const items: ChoiceItem<MemoryEntry | null>[] = await Promise.all(
      listFolder(files.paths, folder).map(async (entry) => ({
        value: entry,
        label: toPlainLine(entry.name) + (entry.isFolder ? "/" : ""),
        hint: entry.isFolder ? plural(entry.files, "file") : toPlainLine(await describe(files, entry.path)),
      })),
    );
    if (folder !== "") items.unshift({ value: null, label: "..", hint: "back" });
    const where = folder === "" ? `Memory of ${toPlainLine(session.agent.name)}` : toPlainLine(`${folder}/`);
    const answer = await session.ui.choose({ title: [theme.bold(where)], items, filter: true });
    if (!answer) return;
    const chosen = answer.values[0] ?? null;
    if (chosen === null) folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
    else if (chosen.isFolder) folder = chosen.path;
    else if (!(await showFile(session, memory, chosen.path))) return;
  }
}

/** False when the person has seen enough. */
export async function showFile(session: ReplSession, memory: AgentMemory, path: string): Promise<boolean> {
  const bytes = await (await memory.files()).read(path);
  const { theme } = session.ui;
  if (!bytes || bytes.includes(0)) {
    session.say(
      bytes ? `${path}: not text, ${formatCount(bytes.byteLength)} bytes` : `${path} is no file of this memory.`,
    );
    return true;
  }
  const lines = toPlainText(decodeLoosely(bytes)).trimEnd().split("\n");
  const { total_tokens } = countTokens([{ path, bytes: bytes.byteLength }]);
  session.print([`${theme.bold(toPlainLine(path))} ${theme.dim(`about ${plural(total_tokens, "token")}`)}`]);
  if (!session.ui.interactive) {
    session.say(lines.join("\n"));
    return true;
  }
  for (let at = 0; at < lines.length; at += PAGE_LINES) {
    session.say(lines.slice(at, at + PAGE_LINES).join("\n"));
    const left = lines.length - at - PAGE_LINES;
    if (left <= 0) break;
    const answer = await session.ui.choose({
      title: [],
      items: [
        { value: "more" as const, label: "More", hint: `${plural(left, "line")} left`, keys: [" "] },
        { value: "back" as const, label: "Back", keys: ["b"] },
        { value: "done" as const, label: "Done", keys: ["q"] },
      ],
    });
    if (answer?.values[0] !== "more") return answer?.values[0] === "back";
  }
  return true;
}

export function treeLines(paths: readonly string[], folder: string, indent = ""): string[] {
  return listFolder(paths, folder).flatMap((entry) =>
    entry.isFolder
      ? [`${indent}${toPlainLine(entry.name)}/`, ...treeLines(paths, entry.path, `${indent}  `)]
      : [`${indent}${toPlainLine(entry.name)}`],
  );
}

async function sayUncommitted(session: ReplSession, memory: AgentMemory): Promise<void> {
  const changed = await (await memory.ensure()).status();
  if (changed.length > 0)
    session.say(`${plural(changed.length, "file has", "files have")} uncommitted changes: /memfs status`);
}

async function describe(files: Awaited<ReturnType<AgentMemory["files"]>>, path: string): Promise<string> {
  if (!isMarkdown(path)) return "";
  return descriptionOf(parseMarkdown(decodeLoosely((await files.read(path)) ?? new Uint8Array()))) ?? "";
}
