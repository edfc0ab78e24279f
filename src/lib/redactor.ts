// Finds known secret values in text, in whatever spelling programs print them, also when a value arrives in pieces; and
// recognises what is a credential by its shape. Knows no names of ours: values and labels are given.

export interface SecretValue {
  /** Shown instead: `NAME=<REDACTED>`. */
  name: string;
  value: string;
}

export interface Redactor {
  /** There is nothing to find. */
  readonly idle: boolean;
  redact(text: string): string;
  /** For text in pieces: holds back what may be the beginning of a value. Shapes are not looked for. */
  stream(): RedactingStream;
}

export interface RedactingStream {
  push(text: string): string;
  /** What was held back. */
  finish(): string;
}

/** Shorter values would turn every text into holes. */
export const MIN_SECRET_CHARS = 6;
/** A line of a longer secret that is recognised alone. */
const MIN_LINE_CHARS = 12;
const MIN_ENCODED_CHARS = 8;
/** What `base64`, `openssl` and `xxd -p` break lines with, also inside a JSON string. */
const BREAKS = /(?:[\r\n]|\\[nr])+/g;
/** Where lines are indented, too. */
const INDENTED_BREAKS = /(?:\s|\\[nr])+/g;
/** A line, or the end of the text, that may be part of an encoded value in an indented block. */
const INDENTED = /(?:^|\n)[ \t]+(?:[A-Za-z0-9+/=_-]{2,}[\r\n]|[A-Za-z0-9+/=_-]*$)/;
/** Fewer characters before a break are not held back: half of all lines end in some. */
const MIN_OPEN_CHARS = 4;
/** Raw characters that were passed on and are still looked at, so that what follows such few is found. */
const CONTEXT_CHARS = 64;

interface Spelling {
  text: string;
  replacement: string;
}

/** Longest first. */
interface Spellings {
  /** Stand in the text as they are. */
  plain: Spelling[];
  /** Stand there with breaks anywhere. */
  encoded: Spelling[];
}

interface Range extends Omit<Spelling, "text"> {
  start: number;
  end: number;
}

export function createRedactor(secrets: readonly SecretValue[], { patterns = false } = {}): Redactor {
  const spellings = spell(secrets);
  const replaceKnown = (text: string): string => replaceRanges(text, findRanges(text, spellings));
  return {
    idle: spellings.plain.length === 0 && !patterns,
    redact: (text) => (patterns ? redactShapes(replaceKnown(text)) : replaceKnown(text)),
    stream: () => new HoldingStream(spellings),
  };
}

class HoldingStream implements RedactingStream {
  /** The end of what was passed on, as it was written. */
  #context = "";
  #held = "";
  readonly #tailChars: number;

  constructor(private readonly spellings: Spellings) {
    this.#tailChars = 4 * (spellings.encoded[0]?.text.length ?? 0) + CONTEXT_CHARS;
  }

  push(text: string): string {
    return this.#pass(this.#context + this.#held + text, (all) => all.length - this.#openLength(all));
  }

  finish(): string {
    return this.#pass(this.#context + this.#held, (all) => all.length);
  }

  #pass(all: string, findCut: (all: string) => number): string {
    const from = this.#context.length;
    const ranges = findRanges(all, this.spellings);
    let cut = Math.max(from, findCut(all));
    // Not in the middle of a whole value, which may end in what begins another.
    for (const { start, end } of ranges.toReversed()) if (start < cut && cut < end) cut = Math.max(from, start);
    this.#context = all.slice(Math.max(0, cut - CONTEXT_CHARS), cut);
    this.#held = all.slice(cut);
    return replaceRanges(all, ranges, from, cut);
  }

  /** Length of the longest end of the text that begins a value. */
  #openLength(text: string): number {
    const plain = openSpelling(text, this.spellings.plain);
    const tail = text.slice(-this.#tailChars).replace(/\\$/, "");
    const squeezed = squeeze(tail);
    const encoded = openSpelling(squeezed, this.spellings.encoded);
    if (encoded === 0) return plain;
    const start = keptPositions(tail)[squeezed.length - encoded]!;
    const open = text.length - Math.max(0, text.length - this.#tailChars) - start;
    return open > encoded && encoded < MIN_OPEN_CHARS ? plain : Math.max(plain, open);
  }
}

function openSpelling(text: string, spellings: readonly Spelling[]): number {
  const last = text.charCodeAt(text.length - 1);
  let longest = 0;
  for (const { text: spelling } of spellings) {
    for (let length = Math.min(spelling.length - 1, text.length); length > longest; length--) {
      if (spelling.charCodeAt(length - 1) !== last) continue;
      if (text.endsWith(spelling.slice(0, length))) longest = length;
    }
  }
  return longest;
}

/** Where values stand, in order; what overlaps is one. */
function findRanges(text: string, { plain, encoded }: Spellings): Range[] {
  const found: Range[] = [];
  for (const { text: spelling, replacement } of plain) {
    for (let at = text.indexOf(spelling); at !== -1; at = text.indexOf(spelling, at + spelling.length))
      found.push({ start: at, end: at + spelling.length, replacement });
  }
  const squeezed = encoded.length > 0 ? squeeze(text) : "";
  let kept: number[] | undefined;
  for (const { text: spelling, replacement } of encoded) {
    for (let at = squeezed.indexOf(spelling); at !== -1; at = squeezed.indexOf(spelling, at + spelling.length)) {
      kept ??= keptPositions(text);
      found.push({ start: kept[at]!, end: kept[at + spelling.length - 1]! + 1, replacement });
    }
  }
  return found.length > 1 ? merge(found) : found;
}

/** The longest of what overlaps names it. */
function merge(ranges: Range[]): Range[] {
  ranges.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Range[] = [];
  let longest = 0;
  for (const range of ranges) {
    const before = merged.at(-1);
    const length = range.end - range.start;
    if (!before || range.start >= before.end) {
      merged.push({ ...range });
      longest = length;
      continue;
    }
    before.end = Math.max(before.end, range.end);
    if (length <= longest) continue;
    before.replacement = range.replacement;
    longest = length;
  }
  return merged;
}

function breaksOf(text: string): RegExp {
  return INDENTED.test(text) ? INDENTED_BREAKS : BREAKS;
}

/** Without breaks. Most text is large and plain: replacing by an expression would cost ten times as much. */
function squeeze(text: string): string {
  const breaks = breaksOf(text);
  if (breaks === INDENTED_BREAKS || text.includes("\\n") || text.includes("\\r")) return text.replace(breaks, "");
  const joined = text.replaceAll("\n", "");
  return joined.includes("\r") ? joined.replaceAll("\r", "") : joined;
}

/** Of each character that squeezing keeps, where it stood. */
function keptPositions(text: string): number[] {
  const positions: number[] = [];
  let from = 0;
  const keep = (until: number): void => {
    for (let at = from; at < until; at++) positions.push(at);
  };
  for (const { 0: broken, index } of text.matchAll(breaksOf(text))) {
    keep(index);
    from = index + broken.length;
  }
  keep(text.length);
  return positions;
}

/** The text between `from` and `to`; of a range that began before, the rest goes. */
function replaceRanges(text: string, ranges: readonly Range[], from = 0, to = text.length): string {
  let result = "";
  let at = from;
  for (const { start, end, replacement } of ranges) {
    if (end <= from || start >= to) continue;
    result += text.slice(at, Math.max(at, start)) + replacement;
    at = end;
  }
  return at === 0 && to === text.length ? text : result + text.slice(at, Math.max(at, to));
}

function spell(secrets: readonly SecretValue[]): Spellings {
  const known = new Set<string>();
  const collect = (spellingsOf: (value: string) => string[]): Spelling[] =>
    secrets
      .filter(({ value }) => value.trim().length >= MIN_SECRET_CHARS)
      .flatMap(({ name, value }) =>
        spellingsOf(value.trim()).map((text) => ({ text, replacement: `${name}=<REDACTED>` })),
      )
      .filter(({ text }) => !known.has(text) && known.add(text))
      .sort((a, b) => b.text.length - a.text.length);
  return { plain: collect(plainSpellings), encoded: collect(encodedSpellings) };
}

function plainSpellings(value: string): string[] {
  const lines = value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.trim().length >= MIN_LINE_CHARS) : [];
  const json = jsonSpellings(value);
  return [
    value,
    ...json,
    ...json.map((text) => JSON.stringify(text).slice(1, -1)),
    ...lines,
    ...percentSpellings(value),
    ...markupSpellings(value),
    ...shellSpellings(value),
  ];
}

/** As JavaScript, Python (`\u00fc`), Go (`\u0026`) and PHP (`\/`) write a string. */
function jsonSpellings(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const ascii = (text: string): string => text.replace(/[^\x20-\x7e]/g, unicode);
  const html = (text: string): string => text.replace(/[&<>]/g, unicode);
  const slashes = json.replaceAll("/", "\\/");
  const spellings = [json, slashes, html(json), ascii(json), ascii(slashes), ascii(html(json))];
  const upper = (text: string): string =>
    text.replace(/\\u([0-9a-f]{4})/g, (_, code: string) => `\\u${code.toUpperCase()}`);
  return spellings.flatMap((text) => [text, upper(text)]);
}

function percentSpellings(value: string): string[] {
  const component = encodeURIComponent(value.toWellFormed());
  const strict = component.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const spellings = [component, strict, strict.replaceAll("%20", "+"), encodeURI(value.toWellFormed())];
  return spellings.flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

function markupSpellings(value: string): string[] {
  const text = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const attribute = text.replaceAll('"', "&quot;");
  return [text, attribute, ...["&#39;", "&#x27;", "&apos;"].map((quote) => attribute.replaceAll("'", quote))];
}

/** Inside single quotes, and as `set -x` and `printf %q` write it. */
function shellSpellings(value: string): string[] {
  return [
    value.replaceAll("'", "'\\''"),
    value.replaceAll("'", `'"'"'`),
    value.replace(/[^\w@%+=:,./\x80-\uffff-]/g, "\\$&"),
    value.replace(/["$`\\]/g, "\\$&"),
  ];
}

function encodedSpellings(value: string): string[] {
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2]
    .map((before) => base64Core(bytes, before))
    .filter((text) => text.length >= MIN_ENCODED_CHARS);
  const urlSafe = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  return [bytes.toString("base64"), ...base64, ...urlSafe, hex, hex.toUpperCase()];
}

/** The characters that stand for these bytes alone when `before` bytes (mod 3) precede them: `Authorization: Basic`
 *  hides a password behind a user name. */
function base64Core(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString("base64")
    .replace(/=+$/, "");
  const end = Math.floor(((before + bytes.length) * 8) / 6);
  return text.slice(Math.ceil((before * 8) / 6), end);
}

/** High confidence only: a false alarm takes text away that somebody needs. All are linear. */
const SHAPES: [RegExp, string][] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,20000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
    "<REDACTED private key>",
  ],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})/g, "<REDACTED GitHub token>"],
  [/\bsk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{20,300}/g, "<REDACTED API key>"],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, "<REDACTED AWS key id>"],
  [/\beyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,4000}/g, "<REDACTED JWT>"],
  [/\bxox[abeprs]-[A-Za-z0-9-]{20,300}/g, "<REDACTED Slack token>"],
  [/\bAIza[A-Za-z0-9_-]{35}/g, "<REDACTED Google key>"],
  [/\bglpat-[A-Za-z0-9_-]{20,300}/g, "<REDACTED GitLab token>"],
];

function redactShapes(text: string): string {
  return SHAPES.reduce((result, [shape, replacement]) => result.replace(shape, replacement), text);
}
