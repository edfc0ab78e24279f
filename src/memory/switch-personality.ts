// Gives an agent another personality: the texts of persona and human change, whatever else their heads hold stays.

import { descriptionOf, parseMarkdown, setBody, setField } from "./frontmatter.ts";
import { HARNESS_IDENTITY, HUMAN_PATH, PERSONA_PATH } from "./places.ts";
import { comparableBody, type Personality } from "./presets.ts";
import type { AgentMemory, MemoryCommit } from "./service.ts";
import { decodeLoosely } from "./validate.ts";

/** Null when it is that already. Throws `conflict` when the files have changes nobody committed. */
export async function switchPersonality(
  memory: AgentMemory,
  { label, files }: Personality,
): Promise<MemoryCommit | null> {
  const present = await memory.files();
  const changed: [string, Buffer][] = [];
  for (const path of [PERSONA_PATH, HUMAN_PATH]) {
    const wanted = files[path];
    if (wanted === undefined) continue;
    // Where upstream once kept everything.
    const place = present.paths.includes(`memory/${path}`) ? `memory/${path}` : path;
    const before = await present.read(place);
    const text = before ? decodeLoosely(before) : null;
    if (text !== null && comparableBody(text) === comparableBody(wanted)) continue;
    changed.push([place, Buffer.from(text === null ? wanted : replaceTexts(text, wanted))]);
  }
  if (changed.length === 0) return null;
  return memory.edit(
    async (draft) => {
      for (const [path, content] of changed) draft.write(path, content);
    },
    { message: `chore(personality): switch to ${label}`, author: HARNESS_IDENTITY, ownerMayOverride: true },
  );
}

function replaceTexts(text: string, wanted: string): string {
  const file = parseMarkdown(wanted);
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const replaced = setBody(text, file.body.replaceAll("\n", newline));
  return setField(replaced, "description", descriptionOf(file));
}
