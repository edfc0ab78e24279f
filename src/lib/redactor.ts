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

interface Spelling {
  text: string;
  replacement: string;
}

export function createRedactor(secrets: readonly SecretValue[], { patterns = false } = {}): Redactor {
  const spellings = spell(secrets);
  const replaceKnown = (text: string): string => {
    let result = text;
    for (const { text: spelling, replacement } of spellings) {
      if (result.includes(spelling)) result = result.replaceAll(spelling, () => replacement);
    }
    return result;
  };
  return {
    idle: spellings.length === 0 && !patterns,
    redact: (text) => (patterns ? redactShapes(replaceKnown(text)) : replaceKnown(text)),
    stream: () => new HoldingStream(spellings, replaceKnown),
  };
}

class HoldingStream implements RedactingStream {
  #held = "";

  constructor(
    private readonly spellings: readonly Spelling[],
    private readonly replace: (text: string) => string,
  ) {}

  push(text: string): string {
    const all = this.#held + text;
    const cut = this.#safeCut(all, all.length - this.#openLength(all));
    this.#held = all.slice(cut);
    return this.replace(all.slice(0, cut));
  }

  finish(): string {
    const rest = this.#held;
    this.#held = "";
    return this.replace(rest);
  }

  /** Length of the longest end of the text that begins a value. */
  #openLength(text: string): number {
    const last = text.charCodeAt(text.length - 1);
    let longest = 0;
    for (const { text: spelling } of this.spellings) {
      for (let length = Math.min(spelling.length - 1, text.length); length > longest; length--) {
        if (spelling.charCodeAt(length - 1) !== last) continue;
        if (text.endsWith(spelling.slice(0, length))) longest = length;
      }
    }
    return longest;
  }

  /** Not in the middle of a whole value, which may end in what begins another. */
  #safeCut(text: string, wanted: number): number {
    let cut = wanted;
    for (let moved = true; moved; ) {
      moved = false;
      for (const { text: spelling } of this.spellings) {
        const at = text.indexOf(spelling, Math.max(0, cut - spelling.length + 1));
        if (at === -1 || at >= cut) continue;
        cut = at;
        moved = true;
      }
    }
    return cut;
  }
}

/** Longest first, so that a value inside another one's spelling does not break it. */
function spell(secrets: readonly SecretValue[]): Spelling[] {
  const byText = new Map<string, string>();
  for (const { name, value } of secrets) {
    const replacement = `${name}=<REDACTED>`;
    for (const text of spellingsOf(value.trim())) if (!byText.has(text)) byText.set(text, replacement);
  }
  return [...byText]
    .map(([text, replacement]) => ({ text, replacement }))
    .sort((a, b) => b.text.length - a.text.length);
}

function spellingsOf(value: string): string[] {
  if (value.length < MIN_SECRET_CHARS) return [];
  const json = JSON.stringify(value).slice(1, -1);
  const lines = value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.trim().length >= MIN_LINE_CHARS) : [];
  return [
    value,
    json,
    JSON.stringify(json).slice(1, -1),
    ...lines,
    ...percentSpellings(value),
    ...byteSpellings(value),
  ];
}

function percentSpellings(value: string): string[] {
  const component = encodeURIComponent(value.toWellFormed());
  const strict = component.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const spellings = [component, strict, strict.replaceAll("%20", "+"), encodeURI(value.toWellFormed())];
  return spellings.flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

function byteSpellings(value: string): string[] {
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
