// What can be found out about the state of a memory without a model, and the repair of what has only one right answer.

import { plural } from "@/lib/text.ts";
import { descriptionOf, fieldValue, parseMarkdown, setField } from "./frontmatter.ts";
import { FILE_BYTES, SYSTEM_FILE_BYTES, SYSTEM_TOKENS } from "./limits.ts";
import { isMarkdown, isSkillPath, isSystemPath, labelOf } from "./places.ts";
import type { AgentMemory, MemoryCommit } from "./service.ts";
import { countTokens } from "./tokens.ts";
import { decodeLoosely } from "./validate.ts";

const MAX_NAMED = 10;
const MAX_LINKS = 20;

/** One line each; what is fine is not mentioned, but for the size. */
export async function examineMemory(memory: AgentMemory): Promise<string[]> {
  const files = await memory.files();
  const markdown = files.paths.filter(isMarkdown);
  const texts = new Map<string, string>();
  const sizes = new Map<string, number>();
  for (const path of files.paths) {
    const bytes = (await files.read(path)) ?? new Uint8Array();
    sizes.set(path, bytes.byteLength);
    if (isMarkdown(path) && bytes.byteLength <= FILE_BYTES) texts.set(path, decodeLoosely(bytes));
  }
  const system = markdown.filter(isSystemPath).map((path) => ({ path, bytes: sizes.get(path) ?? 0 }));
  const { total_tokens } = countTokens(system);
  const dirty = await (await memory.ensure()).status();
  const tooLarge = system.filter(({ bytes }) => bytes > SYSTEM_FILE_BYTES).map(({ path }) => path);
  const large = [...sizes].filter(([, bytes]) => bytes > FILE_BYTES).map(([path]) => path);
  const silent = markdown.filter((path) => !isSkillPath(path) && !hasDescription(texts.get(path)));
  const links = brokenLinks(files.paths, texts);
  return [
    `system/ has ${plural(system.length, "file")} of about ${total_tokens} tokens${total_tokens > SYSTEM_TOKENS ? ", which is too much" : ""}; ${plural(files.paths.length, "file")} in all`,
    ...named("Large for every request", tooLarge),
    ...named("Very large", large),
    ...named("Without a description", silent),
    ...named("Links that lead nowhere", links),
    ...named(
      "Not committed",
      dirty.map(({ path, state }) => `${path} (${state})`),
    ),
  ];
}

/** Skills without a name cannot be found: they get their folder's. Null when there was nothing to do. */
export async function nameSkills(memory: AgentMemory): Promise<MemoryCommit | null> {
  const files = await memory.files();
  const nameless = new Map<string, string>();
  for (const path of files.paths.filter((name) => isSkillPath(name) && /\/SKILL\.md$/.test(name))) {
    const text = decodeLoosely((await files.read(path)) ?? new Uint8Array());
    const folder = path.split("/").at(-2) ?? "";
    if (folder === "skills" || fieldValue(parseMarkdown(text), "name")) continue;
    nameless.set(path, setField(text, "name", folder));
  }
  if (nameless.size === 0) return null;
  return memory.edit(
    async (draft) => {
      for (const [path, text] of nameless) draft.write(path, Buffer.from(text));
    },
    {
      message: `fix(doctor): name ${plural(nameless.size, "skill")} after ${nameless.size === 1 ? "its folder" : "their folders"}`,
    },
  );
}

function hasDescription(text: string | undefined): boolean {
  return text === undefined || Boolean(descriptionOf(parseMarkdown(text))?.trim());
}

function brokenLinks(paths: readonly string[], texts: ReadonlyMap<string, string>): string[] {
  const known = new Set(paths.flatMap((path) => [path, labelOf(path)]));
  const isKnown = (link: string) => known.has(link) || paths.some((path) => path.startsWith(`${link}/`));
  const broken = new Set<string>();
  for (const [path, text] of texts) {
    for (const [, link = ""] of text.matchAll(/\[\[([^[\]\n]{1,300})\]\]/g)) {
      const target = link.split(/[|#]/)[0]!.trim().replace(/\/+$/, "");
      if (target !== "" && !isKnown(target) && broken.size < MAX_LINKS) broken.add(`[[${link}]] in ${path}`);
    }
  }
  return [...broken];
}

function named(what: string, names: string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length - MAX_NAMED;
  return [`${what}: ${names.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
}
