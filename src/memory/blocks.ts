// Memory blocks, as requests and AgentFiles carry them, and the files they are here.

import { DEFAULT_FILES } from "./default-files.ts";
import { descriptionOf, fieldValue, formatMarkdown, oneLine, parseMarkdown } from "./frontmatter.ts";
import { labelOf, SYSTEM_FOLDER } from "./places.ts";

export interface Block {
  label: string;
  value: string;
  description?: string | null;
  read_only?: boolean;
}

/** Files by path; of two blocks with one label the later counts. Undefined: what an agent begins with anyway. */
export function blockFiles(blocks: readonly Block[] | undefined): Record<string, string> {
  if (blocks === undefined) return { ...DEFAULT_FILES };
  return Object.fromEntries(blocks.flatMap((block) => blockFile(block) ?? []).map(({ path, text }) => [path, text]));
}

/** Of files under `system/`. */
export function fileBlocks(files: Readonly<Record<string, string>>): Block[] {
  return Object.entries(files).map(([path, text]) => {
    const file = parseMarkdown(text);
    return {
      label: labelOf(path).slice(SYSTEM_FOLDER.length + 1),
      value: file.body.trim(),
      description: descriptionOf(file),
      ...(fieldValue(file, "read_only") === true && { read_only: true }),
    };
  });
}

/** Null when the label names nothing. */
function blockFile({ label, value, description, read_only }: Block): { path: string; text: string } | null {
  const segments = label
    .split(/[/\\]/)
    .map((segment) => segment.replace(/[\u0000-\u001f\u007f]/g, "").trim())
    .filter((segment) => segment !== "" && segment !== "." && segment !== ".." && !/^\.git$/i.test(segment));
  if (segments[0] === SYSTEM_FOLDER) segments.shift();
  if (segments.length === 0) return null;
  const name = segments.join("/").replace(/\.md$/i, "");
  const about = oneLine(description ?? "") || `Memory block ${name}`;
  return {
    path: `${SYSTEM_FOLDER}/${name}.md`,
    text: formatMarkdown({ description: about, ...(read_only && { read_only: true }) }, value),
  };
}
