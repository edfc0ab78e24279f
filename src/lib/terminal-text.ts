// Text on its way to a terminal. Whatever a model, a tool or a file produced is hostile: a terminal obeys escape
// sequences (clipboard writes, title changes, cursor moves, fake prompts), so they are taken out before anything is
// printed. Our own styling is added afterwards. Widths count terminal cells, not characters.

/** CSI, OSC/DCS/APC/PM/SOS strings with their terminator (or to the end of the text), two-byte escapes; 7 and 8 bit. */
const SEQUENCES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|$)|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x9c|\x1b\\|$)?|\x1b[ -/]*[0-~]?/g;
/** C0 without tab and newline, DEL, C1, and the marks that reorder text. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
/** What could make a reviewed text look different from what it is: controls, bidi, invisible characters. */
const DECEPTIVE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const TAB = "    ";

/** Plain text that a terminal shows and does not obey. Keeps newlines; a lone carriage return keeps what a terminal
 *  would have left of the line. */
export function toPlainText(text: string): string {
  if (!/[^\x20-\x7e\n]/.test(text)) return text;
  return text
    .replace(SEQUENCES, "")
    .replace(/\r+\n/g, "\n")
    .replace(/^[^\n]*\r(?=[^\n])/gm, "")
    .replaceAll("\t", TAB)
    .replace(CONTROLS, "");
}

/** One line of plain text. */
export function toPlainLine(text: string): string {
  return toPlainText(text.replace(/\s*\n\s*/g, " ")).trim();
}

/** For texts a person decides about: nothing is removed, everything deceptive is spelled out (`\x1b`, `\u202e`). */
export function escapeDeceptive(text: string): string {
  return text.replaceAll("\t", TAB).replace(DECEPTIVE, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** Cells a styled text takes. */
export function textWidth(text: string): number {
  return Bun.stringWidth(text);
}

/** Cut to `columns` cells with an ellipsis; styling survives. */
export function truncate(text: string, columns: number): string {
  if (columns <= 0) return "";
  return textWidth(text) <= columns ? text : Bun.sliceAnsi(text, 0, columns, "…");
}

/** Lines of at most `columns` cells, broken between words where possible; styling survives. */
export function wrap(text: string, columns: number): string[] {
  const rows = Bun.wrapAnsi(text, Math.max(1, columns), { hard: true, trim: false }).split("\n");
  if (rows.length === 1) return rows;
  // The blank a line was broken at belongs to neither row.
  return rows.map((row, index) => {
    const start = index === 0 ? row : row.replace(/^((?:\x1b\[[\d;]*m)*) /, "$1");
    return index === rows.length - 1 ? start : start.replace(/ +((?:\x1b\[[\d;]*m)*)$/, "$1");
  });
}

let segmenter: Intl.Segmenter | undefined;

/** What a person sees as single characters. */
export function graphemes(text: string): string[] {
  if (/^[\x00-\x7f]*$/.test(text)) return text.split("");
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return Array.from(segmenter.segment(text), (part) => part.segment);
}
