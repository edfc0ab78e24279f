// Three-way merge of a Markdown body: by its lines, as git does and with what git gives up on in lists; where that is a
// conflict, by its headings. Then each section is merged with itself wherever it stands, so rewrites of different
// sections, moved sections and new neighbours never meet.

import { addsUp, type Lines, mergeMarkdownLines } from "./merge-lines.ts";
import { mergeOrder } from "./merge-order.ts";
import { mergeCount } from "./text-lines.ts";

interface Section {
  /** Blank lines before the heading. */
  gap: number;
  /** As written; empty for the text before the first heading. */
  heading: string;
  /** Up to the next heading, without the blank lines that belong to that one's gap. */
  body: string[];
  parts: Section[];
}

const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Null: a conflict. Lines do not end with blank ones. */
export function mergeMarkdownBody(lines: Lines): string[] | null {
  for (const merge of [mergeMarkdownLines, mergeBySections]) {
    const merged = merge(lines);
    if (merged !== null && addsUp(lines, merged)) return merged;
  }
  return null;
}

function mergeBySections({ base, ours, theirs }: Lines): string[] | null {
  const merged = mergeSection(base ? parseSections(base) : undefined, parseSections(ours), parseSections(theirs));
  return merged && renderSection(merged);
}

function mergeSection(base: Section | undefined, ours: Section, theirs: Section): Section | null {
  const body = mergeMarkdownLines({ base: base?.body, ours: ours.body, theirs: theirs.body });
  const parts = mergeParts(base?.parts ?? [], ours.parts, theirs.parts);
  if (body === null || parts === null) return null;
  return { gap: mergeCount(base?.gap, ours.gap, theirs.gap), heading: ours.heading, body, parts };
}

function mergeParts(base: Section[], ours: Section[], theirs: Section[]): Section[] | null {
  const [was, our, their] = [base, ours, theirs].map(byHeading);
  if (!was || !our || !their) return null;
  const merged = new Map<string, Section>();
  for (const heading of new Set([...was.keys(), ...our.keys(), ...their.keys()])) {
    const part = mergePart(was.get(heading), our.get(heading), their.get(heading));
    if (part === null) return null;
    if (part) merged.set(heading, part);
  }
  const order = mergeOrder(
    { base: [...was.keys()], ours: [...our.keys()], theirs: [...their.keys()] },
    new Set(merged.keys()),
  );
  return order.map((heading) => merged.get(heading)!);
}

/** Undefined: the section is gone. Null: one side removed what the other changed, or both changed the same. */
function mergePart(base?: Section, ours?: Section, theirs?: Section): Section | null | undefined {
  if (ours && theirs) return mergeSection(base, ours, theirs);
  const left = ours ?? theirs;
  if (!base || !left) return left;
  return sameText(base, left) ? undefined : null;
}

function byHeading(sections: Section[]): Map<string, Section> | null {
  const found = new Map(sections.map((section) => [section.heading.trim(), section]));
  return found.size === sections.length ? found : null;
}

function parseSections(lines: string[]): Section {
  const root: Section = { gap: 0, heading: "", body: [], parts: [] };
  const open: { level: number; section: Section }[] = [{ level: 0, section: root }];
  let fence: string | null = null;
  for (const line of lines) {
    const { section } = open.at(-1)!;
    const mark = FENCE.exec(line)?.[1];
    if (mark && fence === null) fence = mark;
    else if (fence !== null && mark?.startsWith(fence) && line.trim() === mark) fence = null;
    const level = fence === null ? HEADING.exec(line)?.[1]?.length : undefined;
    if (level === undefined) {
      section.body.push(line);
      continue;
    }
    const text = section.body.findLastIndex((line) => line !== "") + 1;
    const gap = section.body.splice(text).length;
    while (open.at(-1)!.level >= level) open.pop();
    const next: Section = { gap, heading: line, body: [], parts: [] };
    open.at(-1)!.section.parts.push(next);
    open.push({ level, section: next });
  }
  return root;
}

function renderSection({ gap, heading, body, parts }: Section): string[] {
  const head = heading === "" ? [] : [...Array<string>(gap).fill(""), heading];
  return [...head, ...body, ...parts.flatMap(renderSection)];
}

/** The gap is its surroundings'. */
function sameText(a: Section, b: Section): boolean {
  return renderSection({ ...a, gap: 0 }).join("\n") === renderSection({ ...b, gap: 0 }).join("\n");
}
