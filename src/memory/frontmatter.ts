// The head of a Markdown file: `---`, keys, `---`. Reading is lenient, because people and other programs write these
// files; changing one key leaves every other byte as it was (comments, order, quoting, CRLF, a byte order mark).
// Values are YAML. A line like `description: Note: this` is not, and is understood as the text it obviously is.

export interface Field {
  key: string;
  value: unknown;
  /** 1-based line of the key. */
  line: number;
  /** Span of the field's whole lines in the file's text, with their line ends. */
  start: number;
  end: number;
  /** Was no YAML and was taken as plain text. */
  lenient: boolean;
}

export interface MarkdownFile {
  /** `none`: the file does not begin with `---`. `unclosed`: the second `---` is missing, and everything is body. */
  head: "none" | "closed" | "unclosed";
  /** In the order of the file; a key given twice is twice in here. */
  fields: Field[];
  /** Lines of the head that are neither field, comment nor blank. 1-based. */
  strayLines: number[];
  body: string;
  /** Where the body begins in the text. */
  bodyStart: number;
  /** What the file ends its lines with, judged by its first one. */
  newline: "\n" | "\r\n";
}

export function parseMarkdown(text: string): MarkdownFile {
  const newline = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  const start = text.startsWith("\ufeff") ? 1 : 0;
  const first = lineAt(text, start);
  const file: MarkdownFile = {
    head: "none",
    fields: [],
    strayLines: [],
    body: text.slice(start),
    bodyStart: start,
    newline,
  };
  if (!isFence(first.text)) return file;
  const lines: Line[] = [];
  let line = lineAt(text, first.end);
  while (!isFence(line.text)) {
    if (line.end === line.start) return { ...file, head: "unclosed" };
    lines.push(line);
    line = lineAt(text, line.end);
  }
  const { fields, strayLines } = scanFields(text, lines);
  return { head: "closed", fields, strayLines, body: text.slice(line.end), bodyStart: line.end, newline };
}

/** The value of a key; the last one counts where it is given twice. */
export function fieldValue(file: MarkdownFile, key: string): unknown {
  return file.fields.findLast((field) => field.key === key)?.value;
}

/** On one line, trimmed; null when there is none, or it is empty. */
export function descriptionOf(file: MarkdownFile): string | null {
  const value = fieldValue(file, "description");
  if (value === null || value === undefined || typeof value === "object") return null;
  return oneLine(String(value)) || null;
}

/** Whoever says twice whether a file may be changed means the stricter one. */
export function isReadOnly(file: MarkdownFile): boolean {
  return file.fields.some(({ key, value }) => key === "read_only" && isTrue(value));
}

/** The text with one key set, added or (null) removed. Every other byte stays. */
export function setField(text: string, key: string, value: string | number | boolean | null): string {
  const file = parseMarkdown(text);
  const line = value === null ? "" : `${key}: ${formatValue(value)}${file.newline}`;
  if (file.head !== "closed") {
    if (value === null) return text;
    const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
    const nl = file.newline;
    return `${mark}---${nl}${line}---${nl}${file.head === "none" && file.body ? nl : ""}${file.body}`;
  }
  const present = file.fields.filter((field) => field.key === key);
  const last = present.at(-1);
  if (!last) {
    const fence = startOfClosingFence(text, file);
    return text.slice(0, fence) + line + text.slice(fence);
  }
  let result = text;
  for (const field of present.reverse()) {
    result = result.slice(0, field.start) + (field === last ? line : "") + result.slice(field.end);
  }
  return result;
}

/** The text with another body. */
export function setBody(text: string, body: string): string {
  return text.slice(0, parseMarkdown(text).bodyStart) + body;
}

/** A new file. */
export function formatMarkdown(fields: Record<string, string | number | boolean>, body: string): string {
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${formatValue(value)}\n`);
  const text = body.trim() === "" ? "" : body.endsWith("\n") ? body : `${body}\n`;
  return `---\n${lines.join("")}---\n${text}`;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

interface Line {
  /** Without its end. */
  text: string;
  start: number;
  end: number;
}

function lineAt(text: string, start: number): Line {
  const newline = text.indexOf("\n", start);
  const end = newline === -1 ? text.length : newline + 1;
  return { text: text.slice(start, end).replace(/\r?\n$/, ""), start, end };
}

function isFence(line: string): boolean {
  return /^---[ \t]*$/.test(line);
}

function startOfClosingFence(text: string, { bodyStart }: MarkdownFile): number {
  const end = text[bodyStart - 1] === "\n" ? bodyStart - 1 : bodyStart;
  return text.lastIndexOf("\n", end - 1) + 1;
}

/** A field is its key's line and what is indented below it, or a list that begins in the first column. */
function scanFields(text: string, lines: Line[]): Pick<MarkdownFile, "fields" | "strayLines"> {
  const fields: Field[] = [];
  const strayLines: number[] = [];
  for (let index = 0; index < lines.length; ) {
    const line = lines[index]!;
    // The opening fence is line 1.
    const number = index + 2;
    const key = keyOf(line.text);
    index++;
    if (key === null) {
      if (line.text.trim() && !line.text.startsWith("#")) strayLines.push(number);
      continue;
    }
    let last = line;
    for (let next = index; next < lines.length; next++) {
      const below = lines[next]!;
      if (/^(?:[ \t]+\S|- |-$)/.test(below.text)) {
        last = below;
        index = next + 1;
      } else if (below.text.trim()) break;
    }
    const raw = text.slice(line.start, last.end);
    fields.push({ key, line: number, start: line.start, end: last.end, ...readValue(raw, key) });
  }
  return { fields, strayLines };
}

function keyOf(line: string): string | null {
  const match = /^(?:"([^"\\]+)"|'([^']+)'|([^\s#"'[\]{},&*!|>%@`-][^:#]*?))[ \t]*:(?=[ \t]|$)/.exec(line);
  return match ? (match[1] ?? match[2] ?? match[3] ?? null) : null;
}

function readValue(raw: string, key: string): { value: unknown; lenient: boolean } {
  const value = raw.slice(raw.indexOf(":") + 1);
  const rest = value.trim();
  // Most values are words on the key's line, and what YAML makes of those needs no parser.
  const isBelow = /^[ \t]*(?:#[^\n]*)?\r?\n/.test(value);
  if (!isBelow && /^\p{L}[^\n]*$/u.test(rest) && !/^(?:true|false|null)\b/i.test(rest)) {
    const lenient = /:(?:\s|$)/.test(rest);
    return { value: lenient ? oneLine(rest) : rest.replace(/\s#.*/, "").trim(), lenient };
  }
  try {
    const parsed = Bun.YAML.parse(raw.replaceAll("\r\n", "\n")) as Record<string, unknown> | null;
    return { value: parsed?.[key] ?? null, lenient: false };
  } catch {
    // Not ours to refuse: `Note: see "x"` means itself.
    return { value: oneLine(rest), lenient: true };
  }
}

function formatValue(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  const plain =
    /^[\p{L}_][\p{L}\p{N} _,.;()/'&+=!?*$@-]*$/u.test(value) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(value);
  // A JSON string is a YAML string.
  return plain && value === value.trim() ? value : JSON.stringify(value);
}

function isTrue(value: unknown): boolean {
  return value === true || (typeof value === "string" && value.trim().toLowerCase() === "true");
}
