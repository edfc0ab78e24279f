// Bytes ↔ text of a file, without loss: encoding, byte order mark and line ends are kept apart from the text and put
// back. What cannot be decoded is refused, never transcoded.

import { ToolError } from "@/lib/errors.ts";

export interface TextFile {
  encoding: "utf-8" | "utf-16le" | "utf-16be";
  bom: boolean;
  /** Line ends as in the file; without the byte order mark. */
  text: string;
}

const SNIFFED_BYTES = 8 * 1024;

/** Throws ToolError for binary data and for bytes that are not valid in their encoding. */
export function decodeTextFile(bytes: Uint8Array, path: string): TextFile {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (startsWith(buffer, 0xff, 0xfe) && !startsWith(buffer, 0xff, 0xfe, 0, 0)) {
    return { encoding: "utf-16le", bom: true, text: decodeUtf16(buffer, path, false) };
  }
  if (startsWith(buffer, 0xfe, 0xff)) return { encoding: "utf-16be", bom: true, text: decodeUtf16(buffer, path, true) };
  const bom = startsWith(buffer, 0xef, 0xbb, 0xbf);
  if (looksBinary(buffer.subarray(0, SNIFFED_BYTES))) {
    throw new ToolError(`This is a binary file: ${path}. Look at it with Bash (file, strings, xxd).`);
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { encoding: "utf-8", bom, text: decoder.decode(bom ? buffer.subarray(3) : buffer) };
  } catch (error) {
    throw new ToolError(
      `Not valid UTF-8: ${path}. It is binary or in an older encoding; convert it with Bash (iconv) first.`,
      { cause: error },
    );
  }
}

export function encodeTextFile(text: string, { encoding, bom }: Pick<TextFile, "encoding" | "bom">): Uint8Array {
  const marked = bom ? `\ufeff${text}` : text;
  if (encoding === "utf-8") return Buffer.from(marked, "utf8");
  const bytes = Buffer.from(marked, "utf16le");
  return encoding === "utf-16be" ? bytes.swap16() : bytes;
}

/** The line end most lines have; LF when there are none, or as many of each. */
export function dominantLineEnd(text: string): "\n" | "\r\n" {
  let crlf = 0;
  let lf = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (at > 0 && text.charCodeAt(at - 1) === 13) crlf++;
    else lf++;
  }
  return crlf > lf ? "\r\n" : "\n";
}

export function normaliseLineEnds(text: string): string {
  return text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
}

function decodeUtf16(buffer: Buffer, path: string, bigEndian: boolean): string {
  if (buffer.length % 2 !== 0) throw new ToolError(`Not valid UTF-16 (odd length): ${path}.`);
  // Lone surrogates survive this way in both directions; TextDecoder would replace them.
  const bytes = bigEndian ? Buffer.from(buffer).swap16() : buffer;
  return bytes.toString("utf16le", 2);
}

function looksBinary(head: Uint8Array): boolean {
  let controls = 0;
  for (const byte of head) {
    if (byte === 0) return true;
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27) controls++;
  }
  return controls > head.length * 0.3;
}

function startsWith(bytes: Uint8Array, ...prefix: number[]): boolean {
  return bytes.length >= prefix.length && prefix.every((byte, index) => bytes[index] === byte);
}
