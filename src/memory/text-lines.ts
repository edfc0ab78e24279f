// A text file taken apart for merging: its lines, and what belongs to the file as a whole.

const MAX_MERGED_BYTES = 2 * 1024 * 1024;

export interface Text {
  /** Without line ends, and without blank lines at the end. */
  lines: string[];
  /** 1 where most lines end with CRLF. */
  crlf: number;
  bom: number;
  /** Line ends behind the last line. */
  tail: number;
}

/** Null for what is not text. */
export function parseText(bytes: Uint8Array): Text | null {
  if (bytes.byteLength > MAX_MERGED_BYTES || bytes.includes(0)) return null;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null; // Another encoding; merging would transcode it.
  }
  const bom = text.startsWith("\ufeff") ? 1 : 0;
  const ends = text.split("\r\n").length - 1;
  const lines = text.slice(bom).replaceAll("\r\n", "\n").split("\n");
  const filled = lines.findLastIndex((line) => line !== "") + 1;
  return {
    lines: lines.slice(0, filled),
    crlf: ends * 2 > lines.length - 1 ? 1 : 0,
    bom,
    tail: filled === 0 ? 0 : lines.length - filled,
  };
}

export function renderText({ lines, crlf, bom, tail }: Text): Uint8Array {
  const end = crlf ? "\r\n" : "\n";
  return Buffer.from((bom ? "\ufeff" : "") + lines.join(end) + (lines.length > 0 ? end.repeat(tail) : ""));
}

/** A number that is nobody's words: the side that changed it wins, the larger one when both did. */
export function mergeCount(base: number | undefined, ours: number, theirs: number): number {
  if (base === ours) return theirs;
  if (base === theirs) return ours;
  return Math.max(ours, theirs);
}
