// Bytes of a program → text a model can read: streaming UTF-8 (a character split between two reads stays whole), escape
// sequences removed, `\r` overwriting as a terminal would show it, binary data described and not dumped.

import { formatCount } from "@/lib/text.ts";
import { MAX_PENDING_LINE_CHARS } from "./limits.ts";

/** CSI; OSC, DCS and the other strings with their end; two-byte escapes. A string stops where another begins, so that
 *  matching stays linear. */
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x9c|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]/g;
/** A sequence whose end has not arrived. */
const OPEN_ESCAPE = /(?:\x1b|\x1b\[[0-?]*[ -/]*|\x1b[\]PX^_][^\x07\x1b]*\x1b?)$/;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
/** What needs any of the work below. */
const SPECIAL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]/;
const MAX_OPEN_ESCAPE = 4_096;

export class OutputText {
  readonly #decoder = new TextDecoder("utf-8");
  /** End of the last piece, kept because an escape sequence in it is not complete. */
  #openEscape = "";
  /** A line that may still be overwritten by `\r`, or turn out to be binary. */
  #line = "";
  #binaryBytes = 0;

  /** `live` is for people, at once; `text` is for the model, line by line. */
  push(bytes: Uint8Array): { live: string; text: string } {
    return this.#take(this.#decoder.decode(bytes, { stream: true }), false);
  }

  /** What there is of a line that has not ended, such as a prompt. It is then as good as ended. */
  takeOpenLine(): string {
    const line = this.#line;
    this.#line = "";
    return line === "" ? "" : this.#cleanLine(line);
  }

  finish(): { live: string; text: string } {
    return this.#take(this.#decoder.decode(), true);
  }

  #take(piece: string, last: boolean): { live: string; text: string } {
    let plain = this.#openEscape + piece;
    this.#openEscape = "";
    if (plain.includes("\x1b") || /[\x80-\x9f]/.test(plain)) {
      plain = plain.replace(ESCAPES, "");
      const open = OPEN_ESCAPE.exec(plain.slice(-MAX_OPEN_ESCAPE));
      if (open) {
        this.#openEscape = last ? "" : open[0];
        plain = plain.slice(0, plain.length - open[0].length);
      }
    }
    return { live: toLive(plain), text: this.#toLines(plain, last) };
  }

  #toLines(plain: string, last: boolean): string {
    const all = this.#line + plain;
    const end = last || all.length > MAX_PENDING_LINE_CHARS ? all.length : all.lastIndexOf("\n") + 1;
    this.#line = all.slice(end);
    const complete = all.slice(0, end);
    if (this.#binaryBytes === 0 && !SPECIAL.test(complete)) return complete;
    let text = "";
    for (const line of complete.split(/(?<=\n)/)) text += this.#cleanLine(line);
    return last ? text + this.#endBinary() : text;
  }

  #cleanLine(line: string): string {
    if (isBinary(line, this.#binaryBytes > 0)) {
      this.#binaryBytes += Buffer.byteLength(line);
      return "";
    }
    const newline = line.endsWith("\n") ? "\n" : "";
    const content = line.replace(/\r*\n?$/, "");
    const visible = content.slice(content.lastIndexOf("\r") + 1).replace(CONTROLS, "");
    return this.#endBinary() + visible + newline;
  }

  #endBinary(): string {
    if (this.#binaryBytes === 0) return "";
    const note = `[about ${formatCount(this.#binaryBytes)} bytes of binary data not shown]\n`;
    this.#binaryBytes = 0;
    return note;
  }
}

/** Binary data is nothing to watch; a `\r` stays, so that a terminal overwrites the line as it was meant. */
function toLive(plain: string): string {
  if (plain.includes("\0")) return "";
  return SPECIAL.test(plain) ? plain.replaceAll("\r\n", "\n").replace(CONTROLS, "") : plain;
}

/** Once binary, always binary until a line is clean: compressed data has short stretches that look like text. */
function isBinary(line: string, inBinary: boolean): boolean {
  if (line.includes("\0")) return true;
  const odd = line.match(/[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]/g)?.length ?? 0;
  if (inBinary) return odd > 0 || line.trim().length < 4;
  return odd > Math.max(3, line.length * 0.3);
}
