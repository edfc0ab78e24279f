// Finds the text an edit means. Exact first; then three ways in which models misquote a file, each only when it points to
// exactly one place. Indentation is never guessed.

export interface Span {
  start: number;
  end: number;
}

export interface Found {
  spans: Span[];
  /** How it was found, when not exactly; for the result. */
  tier?: string;
}

/** Both texts have LF line ends. No spans: not found. */
export function findText(text: string, wanted: string): Found {
  const exact = findAll(text, wanted);
  if (exact.length > 0) return { spans: exact };
  const tiers: [string, () => Span[]][] = [
    ["after un-escaping old_string", () => findUnescaped(text, wanted)],
    ["ignoring the style of quotes and spaces", () => findAll(foldCharacters(text), foldCharacters(wanted))],
    ["ignoring whitespace at line ends", () => findWithoutTrailingSpace(text, wanted)],
  ];
  for (const [tier, find] of tiers) {
    const spans = find();
    if (spans.length === 1) return { spans, tier };
  }
  return { spans: [] };
}

export function lineOf(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

/** The block most like `wanted`, when at least 80 % alike. */
export function findSimilar(text: string, wanted: string): { line: number; block: string; similarity: number } | null {
  const lines = text.split("\n");
  const target = wanted.replace(/^\n+|\n+$/g, "").split("\n");
  if (target.length > MAX_SIMILAR_LINES || lines.length > MAX_SEARCHED_LINES) return null;
  let best = { at: -1, score: MIN_SIMILARITY };
  let comparisons = 0;
  for (let at = 0; at + target.length <= lines.length; at++) {
    // What may still be lost without falling below the best.
    let budget = target.length * (1 - best.score);
    for (let offset = 0; offset < target.length && budget >= 0; offset++) {
      budget -= 1 - similarity(lines[at + offset]!.trim(), target[offset]!.trim());
      if (++comparisons > MAX_COMPARISONS) return null;
    }
    const score = best.score + budget / target.length;
    if (budget >= 0 && (best.at < 0 || score > best.score)) best = { at, score };
  }
  if (best.at < 0) return null;
  const block = lines.slice(best.at, best.at + target.length).join("\n");
  return { line: best.at + 1, block, similarity: best.score };
}

const MIN_SIMILARITY = 0.8;
const MAX_SIMILAR_LINES = 200;
const MAX_SEARCHED_LINES = 50_000;
const MAX_COMPARISONS = 400_000;

function findAll(text: string, wanted: string): Span[] {
  const spans: Span[] = [];
  if (wanted === "") return spans;
  for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + wanted.length)) {
    spans.push({ start, end: start + wanted.length });
  }
  return spans;
}

/** `\n`, `\t`, `\"` … written as two characters. */
function findUnescaped(text: string, wanted: string): Span[] {
  const characters: Record<string, string> = { n: "\n", t: "\t", r: "\r" };
  const plain = wanted.replace(/\\([ntr'"`\\])/g, (_, character: string) => characters[character] ?? character);
  return plain === wanted ? [] : findAll(text, plain.replaceAll("\r\n", "\n"));
}

/** One character for one, so that positions stay. */
function foldCharacters(text: string): string {
  return text
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f]/g, '"')
    .replace(/[\u00a0\u202f\u2007]/g, " ");
}

function findWithoutTrailingSpace(text: string, wanted: string): Span[] {
  const target = stripLineEnds(wanted).text;
  if (target.trim() === "") return [];
  const { text: stripped, lines } = stripLineEnds(text);
  const cutSpace = /[ \t]$/.test(wanted);
  return findAll(stripped, target).map(({ start, end }) => {
    let last = toOriginal(lines, end);
    // What was written behind the last line belongs to what is replaced.
    if (cutSpace) while (/[ \t]/.test(text[last] ?? "")) last++;
    return { start: toOriginal(lines, start), end: last };
  });
}

interface StrippedLine {
  /** Where the line starts in the original and in the stripped text. */
  original: number;
  stripped: number;
}

/** Without spaces and tabs before line ends. Not a regular expression: those are quadratic on long runs of spaces. */
function stripLineEnds(text: string): { text: string; lines: StrippedLine[] } {
  const lines: StrippedLine[] = [];
  const kept: string[] = [];
  let original = 0;
  let stripped = 0;
  for (const line of text.split("\n")) {
    let end = line.length;
    while (end > 0 && (line[end - 1] === " " || line[end - 1] === "\t")) end--;
    lines.push({ original, stripped });
    kept.push(line.slice(0, end));
    original += line.length + 1;
    stripped += end + 1;
  }
  return { text: kept.join("\n"), lines };
}

function toOriginal(lines: StrippedLine[], position: number): number {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle]!.stripped <= position) low = middle;
    else high = middle - 1;
  }
  return lines[low]!.original + position - lines[low]!.stripped;
}

/** Share of common letter pairs, 0…1. */
function similarity(a: string, b: string): number {
  if (a === b) return 1;
  if (a.length < 2 || b.length < 2 || Math.min(a.length, b.length) * 2 < Math.max(a.length, b.length)) return 0;
  const pairs = new Map<string, number>();
  for (let at = 0; at < a.length - 1; at++) {
    const pair = a.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  let common = 0;
  for (let at = 0; at < b.length - 1; at++) {
    const pair = b.slice(at, at + 2);
    const left = pairs.get(pair) ?? 0;
    if (left === 0) continue;
    pairs.set(pair, left - 1);
    common++;
  }
  return (2 * common) / (a.length + b.length - 2);
}
