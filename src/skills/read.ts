// Reads SKILL.md files from disk: of most only the beginning.

import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { systemReason } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import {
  FIRST_READ_BYTES,
  MAX_COMPANION_BYTES,
  MAX_COMPANION_FILES,
  MAX_HEAD_BYTES,
  MAX_SKILL_BYTES,
} from "./limits.ts";
import type { Skill } from "./types.ts";

export type ReadResult = { text: string; whole: boolean } | { problem: string };

/** The head and some of the body, or all of it. */
export function readHead(file: string): ReadResult {
  return withFile(file, (fd, size) => {
    const first = readUpTo(fd, Math.min(size, FIRST_READ_BYTES));
    if (first.length >= size || hasWholeHead(first)) return { bytes: first, whole: first.length >= size };
    const bytes = readUpTo(fd, Math.min(size, MAX_HEAD_BYTES));
    return { bytes, whole: bytes.length >= size };
  });
}

export function readWhole(file: string): ReadResult {
  return withFile(file, (fd, size) => ({ bytes: readUpTo(fd, size), whole: true }));
}

/** Hash of all that takes effect with a skill: its text, and with rules of its own everything they may let run. May
 *  throw what the disk says. */
export function digestSkill(text: string, { folder, allowedTools }: Pick<Skill, "folder" | "allowedTools">): string {
  return sha256(allowedTools.length > 0 ? `${text}\0${digestCompanions(folder)}` : text);
}

function digestCompanions(folder: string): string {
  let bytes = 0;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  // Too much to be looked at: the name of the hash is one that nobody has ever accepted.
  if (entries.length > MAX_COMPANION_FILES) return `too many files ${crypto.randomUUID()}`;
  const parts = entries.map(({ path, isFile }) => {
    if (!isFile) return `link ${path} ${crypto.randomUUID()}`;
    const content = readFileSync(path);
    bytes += content.length;
    return bytes > MAX_COMPANION_BYTES ? `too large ${crypto.randomUUID()}` : `${path} ${sha256(content)}`;
  });
  return parts.join("\n");
}

function withFile(file: string, read: (fd: number, size: number) => { bytes: Buffer; whole: boolean }): ReadResult {
  try {
    // A pipe that took the file's place must not hold us up.
    const fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stat = fstatSync(fd);
      const { size } = stat;
      if (!stat.isFile()) return { problem: "it is no file" };
      if (size > MAX_SKILL_BYTES) return { problem: `it is larger than ${MAX_SKILL_BYTES / 1024 / 1024} MB` };
      const { bytes, whole } = read(fd, size);
      if (bytes.includes(0)) return { problem: "it is no text: it holds NUL bytes" };
      return { text: decode(bytes), whole };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return { problem: `it cannot be read: ${systemReason(error)}` };
  }
}

function readUpTo(fd: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(fd, buffer, filled, length - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/** Including a paragraph behind it, which may have to be the description. */
function hasWholeHead(bytes: Buffer): boolean {
  const text = bytes.toString("latin1").replace(/\r\n?/g, "\n");
  const end = text.indexOf("\n---", 3);
  return end !== -1 && /\S[\s\S]*\n\s*\n/.test(text.slice(text.indexOf("\n", end + 1)));
}

const DECODER = new TextDecoder("utf-8");

/** A cut may have gone through a character. */
function decode(bytes: Buffer): string {
  return DECODER.decode(bytes).replace(/\ufffd$/, "");
}
