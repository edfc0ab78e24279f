// Git's config file: read (values as git unquotes them; `include` is never followed), and changed in place, so that
// comments and what we do not know stay. Pure.

import { LettaError } from "@/lib/errors.ts";

interface ConfigLine {
  /** Lower case but for a subsection in quotes: `remote.Origin`. */
  section: string;
  /** Null: a line with no setting in it. */
  key: string | null;
  value: string;
  /** As in the file, without the line end; continued lines are one. */
  text: string;
  isHeader: boolean;
}

export class GitConfig {
  readonly #lines: ConfigLine[];

  constructor(text: string) {
    this.#lines = parseLines(text);
  }

  /** `section.key` or `section.subsection.key`; the last one counts. */
  get(name: string): string | null {
    const { section, key } = splitName(name);
    return this.#lines.findLast((line) => line.section === section && line.key === key)?.value ?? null;
  }

  getAll(name: string): string[] {
    const { section, key } = splitName(name);
    return this.#lines.filter((line) => line.section === section && line.key === key).map(({ value }) => value);
  }

  /** As git reads a switch; null when it is not set. */
  getBoolean(name: string): boolean | null {
    const value = this.get(name)?.toLowerCase();
    if (value === undefined) return null;
    return !["false", "no", "off", "0", ""].includes(value);
  }

  /** All settings, in their order. */
  entries(): { name: string; value: string }[] {
    return this.#lines.flatMap(({ section, key, value }) =>
      key === null ? [] : [{ name: `${section}.${key}`, value }],
    );
  }

  /** Names in it that begin so. */
  names(prefix: string): string[] {
    const names = this.#lines.filter(({ key }) => key !== null).map(({ section, key }) => `${section}.${key}`);
    return [...new Set(names)].filter((name) => name.startsWith(prefix));
  }

  /** Null removes it. */
  set(name: string, value: string | null): void {
    const { section, key } = splitName(name);
    const isIt = (line: ConfigLine) => line.section === section && line.key === key;
    if (value === null) {
      for (let at = this.#lines.length - 1; at >= 0; at--) if (isIt(this.#lines[at]!)) this.#lines.splice(at, 1);
      return;
    }
    const spelled = name.slice(name.lastIndexOf(".") + 1);
    const line: ConfigLine = { section, key, value, text: `\t${spelled} = ${quote(value)}`, isHeader: false };
    const last = this.#lines.findLastIndex(isIt);
    const first = this.#lines.findIndex(isIt);
    if (last !== -1) {
      this.#lines.splice(last, 1, line);
      if (first !== last)
        this.#lines.splice(0, this.#lines.length, ...this.#lines.filter((old) => old === line || !isIt(old)));
      return;
    }
    const end = this.#lines.findLastIndex((old) => old.section === section);
    if (end !== -1) this.#lines.splice(end + 1, 0, line);
    else this.#lines.push({ section, key: null, value: "", text: header(section), isHeader: true }, line);
  }

  toString(): string {
    return this.#lines.map(({ text }) => `${text}\n`).join("");
  }
}

function parseLines(text: string): ConfigLine[] {
  const lines: ConfigLine[] = [];
  let section = "";
  const physical = text.replace(/^\ufeff/, "").split(/\r?\n/);
  if (physical.at(-1) === "") physical.pop();
  for (let at = 0; at < physical.length; at++) {
    let line = physical[at]!;
    // A backslash at the very end goes on in the next line; one that is escaped does not.
    while (/(?<!\\)(?:\\\\)*\\$/.test(line) && !/^\s*[#;[]/.test(line) && at + 1 < physical.length)
      line += `\n${physical[++at]}`;
    const found = /^\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$/s.exec(line);
    if (found) {
      const [, name = "", sub, rest = ""] = found;
      section = sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub.replace(/\\(.)/g, "$1")}`;
      lines.push({ section, key: null, value: "", text: line, isHeader: true });
      const inline = parseSetting(rest);
      if (inline) lines.at(-1)!.key = inline.key;
      if (inline) lines.at(-1)!.value = inline.value;
      continue;
    }
    const setting = parseSetting(line);
    lines.push({ section, key: setting?.key ?? null, value: setting?.value ?? "", text: line, isHeader: false });
  }
  return lines;
}

function parseSetting(line: string): { key: string; value: string } | null {
  const match = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=(.*))?$/s.exec(
    line.replace(/^(\s*[A-Za-z][A-Za-z0-9-]*)\s*[#;][^\n]*$/, "$1"),
  );
  if (!match) return null;
  return { key: match[1]!.toLowerCase(), value: match[2] === undefined ? "true" : unquote(match[2]) };
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", b: "\b", "\n": "" };

function unquote(raw: string): string {
  let value = "";
  let kept = 0;
  let quoted = false;
  const text = raw.trimStart();
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\") {
      const next = text[++at] ?? "";
      value += ESCAPES[next] ?? next;
      kept = value.length;
    } else if (char === '"') {
      quoted = !quoted;
      kept = value.length;
    } else if (!quoted && (char === "#" || char === ";")) break;
    else {
      value += char;
      // Spaces at the end count only in quotes.
      if (quoted || !/\s/.test(char)) kept = value.length;
    }
  }
  return value.slice(0, kept);
}

function quote(value: string): string {
  if (value.includes("\0")) throw new LettaError("invalid_data", "a git setting cannot have a NUL");
  const escaped = value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  return /^$|^\s|\s$|[#;\r]/.test(value) ? `"${escaped}"` : escaped;
}

function header(section: string): string {
  const dot = section.indexOf(".");
  if (dot === -1) return `[${section}]`;
  return `[${section.slice(0, dot)} "${section.slice(dot + 1).replace(/[\\"]/g, "\\$&")}"]`;
}

function splitName(name: string): { section: string; key: string } {
  const first = name.indexOf(".");
  const last = name.lastIndexOf(".");
  const key = name.slice(last + 1);
  const section = name.slice(0, last);
  const [head, rest] = first === last ? [section, ""] : [name.slice(0, first), name.slice(first, last)];
  if (first <= 0 || !/^[A-Za-z][A-Za-z0-9-]*$/.test(key) || !/^[A-Za-z0-9-]+$/.test(head) || /[\n\0]/.test(rest))
    throw new LettaError("invalid_data", `${JSON.stringify(name)} is not the name of a git setting`);
  return { section: head.toLowerCase() + rest, key: key.toLowerCase() };
}
