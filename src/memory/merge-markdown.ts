// How two versions of a memory file become one: frontmatter by key, Markdown by section, list item and line, other text
// by line, anything else not at all. Line ends, byte order mark and final newline are the file's, not the lines'.

import type { FileMerger } from "@/store/git/types.ts";
import { joinFrontmatter, mergeFrontmatter, splitFrontmatter } from "./merge-frontmatter.ts";
import { type Lines, mergePlainLines } from "./merge-lines.ts";
import { mergeMarkdownBody } from "./merge-sections.ts";
import { mergeCount, parseText, renderText } from "./text-lines.ts";

export const mergeMemoryFile: FileMerger = ({ path, base, ours, theirs }) => {
  const [was, our, their] = [base, ours, theirs].map((bytes) => (bytes ? parseText(bytes) : undefined));
  if (was === null || !our || !their) return null;
  const lines = { base: was?.lines, ours: our.lines, theirs: their.lines };
  const merged = isMarkdown(path) ? mergeMarkdown(lines) : mergePlainLines(lines);
  if (merged === null) return null;
  return renderText({
    lines: merged,
    crlf: mergeCount(was?.crlf, our.crlf, their.crlf),
    bom: mergeCount(was?.bom, our.bom, their.bom),
    tail: mergeCount(was?.tail, our.tail, their.tail),
  });
};

export function isMarkdown(path: string): boolean {
  return /\.mdx?$/i.test(path);
}

function mergeMarkdown({ base, ours, theirs }: Lines): string[] | null {
  const [was, our, their] = [base ?? [], ours, theirs].map(splitFrontmatter);
  // Frontmatter that cannot be read is text.
  if (!was || !our || !their) return mergeMarkdownBody({ base, ours, theirs });
  const frontmatter = mergeFrontmatter(was.keys, our.keys, their.keys);
  if (frontmatter === null) return null;
  const body = mergeMarkdownBody({ base: base ? was.body : undefined, ours: our.body, theirs: their.body });
  return body && joinFrontmatter({ ...frontmatter, body });
}
