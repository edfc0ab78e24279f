// `letta dream --to FILE`: a document that reflections maintain. It lies in the memory as `system/<name>.md`, with a head
// of our own, while the dream works on it; afterwards what became of it goes back to the file, without the head.

import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { formatMarkdown, parseMarkdown } from "@/memory/frontmatter.ts";
import { HARNESS_IDENTITY } from "@/memory/places.ts";
import type { AgentMemory } from "@/memory/service.ts";
import { decodeLoosely } from "@/memory/validate.ts";
import { writeFileAtomic } from "@/store/atomic-file.ts";

export interface Target {
  /** Absolute. */
  file: string;
  /** In the memory. */
  path: string;
}

export function openTarget(file: string): Target {
  const name = basename(file)
    .replace(/\.(?:md|markdown|txt)$/i, "")
    .replace(/[^A-Za-z0-9._-]/g, "-");
  if (name === "" || name === "persona") throw new LettaError("usage", `${file} cannot be maintained by reflections`);
  return { file, path: `system/${name}.md` };
}

/** The document as it is now, in the memory. Nothing happens while there is no document. */
export async function syncFromTarget({ file, path }: Target, memory: AgentMemory): Promise<void> {
  if (!existsSync(file)) return;
  const body = readFileSync(file, "utf8")
    .replace(/^\ufeff/, "")
    .replace(/\r\n/g, "\n");
  const text = formatMarkdown(
    { description: `Maintained for ${basename(file)}; goes back there after each reflection` },
    body,
  );
  const repository = await memory.ensure();
  const now = await repository.readFile("HEAD", path);
  if (now !== null && decodeLoosely(now) === text) return;
  await memory.edit(async (draft) => draft.write(path, Buffer.from(text)), {
    message: `dream: sync ${basename(file)} from target`,
    author: HARNESS_IDENTITY,
    ownerMayOverride: true,
  });
}

/** True when the file changed. A document that nobody had anything to say about is not made. */
export async function syncToTarget({ file, path }: Target, memory: AgentMemory): Promise<boolean> {
  const repository = await memory.ensure();
  const committed = await repository.readFile("HEAD", path);
  if (committed === null) return false;
  const body = parseMarkdown(decodeLoosely(committed)).body.replace(/^\n+/, "");
  const before = existsSync(file) ? readFileSync(file, "utf8") : null;
  if (body.trim() === "" && before === null) return false;
  if (before !== null && before.replace(/\r\n/g, "\n").trimEnd() === body.trimEnd()) return false;
  // A file keeps its line ends.
  const text = before?.includes("\r\n") ? body.replace(/\n/g, "\r\n") : body;
  writeFileAtomic(file, text, { mode: 0o644 });
  return true;
}

/** What the dreamer is told about it, before what the person wants. */
export function targetInstruction({ file, path }: Target, instruction: string | undefined): string {
  const isAgentsFile = /^AGENTS\.md$/i.test(basename(file));
  const purpose = isAgentsFile
    ? "It tells coding agents how to work in this repository: commands that build, test and lint, conventions, traps, where things are. Short imperative lines; nothing about people, nothing that the code says itself."
    : "Keep its purpose, structure and tone.";
  return [
    `The document ${basename(file)} is maintained by you as $MEMORY_DIR/${path}: its body goes back to that file when you are done. ${purpose} If nothing in the transcript concerns it, leave it as it is; if it does not exist, create it only when there is something to say.`,
    ...(instruction ? [instruction] : []),
  ].join("\n\n");
}
