// Streamed Markdown → finished terminal lines plus a live tail. Blocks are printed once and never again, so a block is
// finished only when nothing later can change it: a paragraph at its blank line, a list item at the next one, a code
// line at its newline, a table at its end. What is unfinished is the tail, shown in the bottom area as it grows.

import { toPlainText } from "@/lib/terminal-text.ts";
import { BLOCK_CHARS } from "./limits.ts";

export interface MarkdownOptions {
  columns(): number;
  colors: boolean;
}

type Kind = "none" | "text" | "item" | "code";

export class MarkdownStream {
  /** Source of the unfinished block. */
  #block = "";
  /** The unfinished line. */
  #line = "";
  /** Open code fence. */
  #fence: { mark: string; language: string; indent: number } | null = null;
  /** Kind of the last printed block, for the blank lines between. */
  #previous: Kind = "none";
  #blankBefore = false;

  constructor(private readonly options: MarkdownOptions) {}

  /** Finished lines, ready to print. */
  push(delta: string): string[] {
    const lines: string[] = [];
    const pieces = (this.#line + delta).split("\n");
    this.#line = pieces.pop() ?? "";
    for (const piece of pieces) lines.push(...this.#addLine(piece));
    if (this.#line.length > BLOCK_CHARS) {
      // A line without end: printed in pieces, or the tail would grow without bound.
      const cut = this.#line.lastIndexOf(" ", BLOCK_CHARS);
      const piece = this.#line.slice(0, cut > 0 ? cut : BLOCK_CHARS);
      this.#line = this.#line.slice(piece.length);
      lines.push(...this.#addLine(piece), ...this.#flush());
    }
    return lines;
  }

  /** The end of the text: everything that is left. */
  finish(): string[] {
    const lines = this.#line === "" ? [] : this.#addLine(this.#line);
    this.#line = "";
    lines.push(...this.#flush());
    this.#fence = null;
    this.#previous = "none";
    this.#blankBefore = false;
    return lines;
  }

  /** The unfinished block as it looks now. */
  tail(): string[] {
    if (this.#fence) return this.#line === "" ? [] : [this.#codeLine(this.#line)];
    const source = this.#block + this.#line;
    if (source.trim() === "") return [];
    const gap = this.#gap(this.#kindOf(source)) ? [""] : [];
    return [...gap, ...this.#render(source)];
  }

  #addLine(line: string): string[] {
    if (this.#fence) return this.#addCode(this.#fence, line);
    const fence = /^( {0,3})(`{3,}|~{3,})\s*([^`\s]*)/.exec(line);
    if (fence) {
      const lines = this.#flush();
      if (this.#gap("code")) lines.push("");
      this.#fence = { mark: fence[2] ?? "```", language: fence[3] ?? "", indent: fence[1]?.length ?? 0 };
      this.#previous = "code";
      this.#blankBefore = false;
      return lines;
    }
    if (line.trim() === "") {
      const lines = this.#flush();
      this.#blankBefore = this.#previous !== "none";
      return lines;
    }
    const lines = this.#startsBlock(line) ? this.#flush() : [];
    this.#block += `${line}\n`;
    if (/^ {0,3}#{1,6}\s/.test(line) || this.#block.length > BLOCK_CHARS) lines.push(...this.#flush());
    return lines;
  }

  #addCode(fence: { mark: string; language: string; indent: number }, line: string): string[] {
    const closing = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line)?.[1];
    if (closing?.startsWith(fence.mark)) {
      this.#fence = null;
      this.#blankBefore = true;
      return [];
    }
    return [this.#codeLine(line)];
  }

  /** A list item, a heading or a rule ends the block before it without a blank line. Nested items stay with theirs. */
  #startsBlock(line: string): boolean {
    if (this.#block === "" || isTable(this.#block)) return this.#block !== "" && !line.includes("|");
    if (/^ {0,3}#{1,6}\s/.test(line)) return true;
    return isItem(line) && indentOf(line) <= Math.max(1, indentOf(this.#block));
  }

  #flush(): string[] {
    const source = this.#block;
    this.#block = "";
    if (source.trim() === "") return [];
    const kind = this.#kindOf(source);
    const gap = this.#gap(kind) ? [""] : [];
    const lines = this.#render(source);
    this.#previous = kind;
    this.#blankBefore = false;
    return [...gap, ...lines];
  }

  /** An indented block after a list item belongs to that item. */
  #kindOf(source: string): Kind {
    return isItem(source) || (this.#previous === "item" && indentOf(source) >= 2) ? "item" : "text";
  }

  /** Blocks stand apart; items of a list only when the source sets them apart. */
  #gap(kind: Kind): boolean {
    if (this.#previous === "none") return false;
    return !(kind === "item" && this.#previous === "item") || this.#blankBefore;
  }

  #render(source: string): string[] {
    const { colors } = this.options;
    const indent = this.#previous === "item" ? indentOf(source) : 0;
    const inner = indent >= 2 ? source.replace(new RegExp(`^ {0,${indent}}`, "gm"), "") : source;
    const pad = indent >= 2 ? " ".repeat(Math.min(indent + 2, 12)) : "";
    const columns = Math.max(10, this.options.columns() - pad.length);
    const plain = toPlainText(inner).replace(BARE_LINK, JOINER);
    const text = Bun.markdown.ansi(plain, { colors, columns, hyperlinks: false }).replaceAll(JOINER, "");
    return trimBlank(text.split("\n")).map((line) => pad + line);
  }

  /** Code is printed line by line, indented, without a frame: it is there to be copied. */
  #codeLine(line: string): string {
    const fence = this.#fence;
    const code = toPlainText(fence && fence.indent > 0 ? line.replace(new RegExp(`^ {0,${fence.indent}}`), "") : line);
    if (code.trim() === "") return "";
    if (!this.options.colors) return `  ${code}`;
    const mark = "`".repeat(Math.max(3, longestRun(code) + 1));
    const language = fence?.language.replace(/[^\w+#.-]/g, "") ?? "";
    const framed = Bun.markdown
      .ansi(`${mark}${language}\n${code}\n${mark}\n`, { colors: true, columns: 0 })
      .split("\n");
    const row = framed.find((candidate) => candidate.includes("│"));
    return `  ${row ? row.replace(/^(?:\x1b\[[\d;]*m)*│ ?/, "") : code}\x1b[0m`;
  }
}

/** Takes no cell. Inside a bare address it keeps Bun from making a link of it and printing the address twice. */
const JOINER = "\u2060";
const BARE_LINK = /(?<=\bhttps?:)(?=\/\/)|(?<=[\w.+-]@)(?=\w)|(?<=\bwww)(?=\.)/g;

function isItem(line: string): boolean {
  return /^\s*(?:[-*+]|\d{1,9}[.)])\s/.test(line) && !/^ {0,3}(?:[-*_]\s*){3,}$/.test(line.split("\n")[0] ?? "");
}

function isTable(source: string): boolean {
  return source.trimStart().startsWith("|") || /^[^\n]*\|[^\n]*\n\s*\|?\s*:?-{2,}/.test(source);
}

function indentOf(source: string): number {
  return /^\s*/.exec(source)?.[0].length ?? 0;
}

function longestRun(code: string): number {
  return Math.max(0, ...(code.match(/`+/g) ?? []).map((run) => run.length));
}

function trimBlank(lines: string[]): string[] {
  const isBlank = (line: string | undefined): boolean => line !== undefined && Bun.stripANSI(line).trim() === "";
  let start = 0;
  let end = lines.length;
  while (start < end && isBlank(lines[start])) start++;
  while (end > start && isBlank(lines[end - 1])) end--;
  return lines.slice(start, end);
}
