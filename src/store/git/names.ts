// Names of files and refs: bytes in git, strings here, and which of them may touch the disk.
//
// A name that is not UTF-8 keeps its bytes: each byte that does not decode becomes a lone surrogate U+DC80…U+DCFF, and
// back again when written. Names are compared as git does, byte by byte, which UTF-16 order is not.

import { LettaError } from "@/lib/errors.ts";
import { MAX_DEPTH, MAX_NAME_BYTES, MAX_PATH_BYTES } from "./limits.ts";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const ESCAPED = /[\udc80-\udcff]/;
const LONE_SURROGATE = /\p{Surrogate}/u;

export function decodeName(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return decodeEscaped(bytes);
  }
}

export function encodeName(name: string): Uint8Array {
  if (!ESCAPED.test(name) || !LONE_SURROGATE.test(name)) return encoder.encode(name);
  const parts: Uint8Array[] = [];
  for (const char of name) {
    const code = char.codePointAt(0)!;
    parts.push(code >= 0xdc80 && code <= 0xdcff ? Uint8Array.of(code - 0xdc00) : encoder.encode(char));
  }
  return Buffer.concat(parts);
}

/** Of a file of the tree in `dir`, for the file system: a string where the name is text, else its bytes, which the
 *  path functions of the runtime would lose. */
export function toDiskPath(dir: string, file: string): string | Buffer {
  const path = `${dir}/${file}`;
  return ESCAPED.test(path) && LONE_SURROGATE.test(path) ? Buffer.from(encodeName(path)) : path;
}

/** By bytes of UTF-8. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    // Below the surrogates, UTF-16 order is UTF-8 order.
    if (left < 0xd800 && right < 0xd800) return left - right;
    return Buffer.compare(encodeName(a.slice(index)), encodeName(b.slice(index)));
  }
  return a.length - b.length;
}

/** True for `path` itself and what is below it; `""` covers everything. */
export function isAtOrBelow(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** Every folder a path is in, outermost first. */
export function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
    parents.push(path.slice(0, slash));
  }
  return parents;
}

/** Throws `invalid_data` for a path that must not exist in a working tree: it would leave the tree, or be taken for git's
 *  own folder on one of the file systems a repository may travel to. */
export function assertSafePath(path: string): void {
  const problem = findPathProblem(path);
  if (problem)
    throw new LettaError("invalid_data", `${JSON.stringify(path)} cannot be a file of a repository: ${problem}`);
}

export function findPathProblem(path: string): string | null {
  if (path === "") return "the path is empty";
  if (path.includes("\0")) return "it has a NUL";
  // A separator on Windows.
  if (path.includes("\\")) return "it has a backslash";
  const segments = path.split("/");
  if (segments.length > MAX_DEPTH) return `it is more than ${MAX_DEPTH} folders deep`;
  // A lone surrogate that stands for no byte cannot be written.
  if (!ESCAPED.test(path) && LONE_SURROGATE.test(path)) return "it is not valid Unicode";
  if (encodeName(path).length > MAX_PATH_BYTES) return `it is longer than ${MAX_PATH_BYTES} bytes`;
  for (const segment of segments) {
    const problem = findNameProblem(segment);
    if (problem) return problem;
  }
  return null;
}

function findNameProblem(name: string): string | null {
  if (name === "") return "it has an empty part";
  if (name === "." || name === "..") return `it has a part ${JSON.stringify(name)}`;
  if (encodeName(name).length > MAX_NAME_BYTES) return `a name in it is longer than ${MAX_NAME_BYTES} bytes`;
  if (looksLike(name, ".git", "git~1")) return "it names git's own folder";
  if (process.platform === "win32" && isWindowsDevice(name)) return "Windows does not allow the name";
  return null;
}

/** A file that real git gives a meaning to; as a link, or with bad content, its fsck complains. */
export function looksLikeGitmodules(name: string): boolean {
  return looksLike(name, ".gitmodules", "gitmod~1") || /^gi7eba~\d$/i.test(name);
}

/** What HFS+ ignores in names: `.g\u200cit` is `.git` there. */
const HFS_IGNORES = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** NTFS ignores case, dots and spaces at the end, and a stream's name behind a colon. */
function looksLike(name: string, long: string, short: string): boolean {
  const bare = name
    .replace(HFS_IGNORES, "")
    .toLowerCase()
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "");
  return bare === long || bare === short;
}

function isWindowsDevice(name: string): boolean {
  return /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name) || /[<>:"|?*\x01-\x1f]/.test(name) || /[. ]$/.test(name);
}

/** As `git check-ref-format`: `HEAD`-like names in capitals, or `refs/…`. */
export function isRefName(ref: string): boolean {
  if (/^[A-Z][A-Z_]*$/.test(ref)) return true;
  if (!ref.startsWith("refs/") || ref.length > 1_000) return false;
  if (/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\.$|\/$/.test(ref)) return false;
  if (LONE_SURROGATE.test(ref)) return false;
  return ref.split("/").every((part) => !part.startsWith(".") && !part.endsWith(".lock") && part !== "@");
}

export function assertRefName(ref: string): void {
  if (!isRefName(ref)) throw new LettaError("invalid_data", `${JSON.stringify(ref)} is not a valid ref name`);
}

function decodeEscaped(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; ) {
    const length = sequenceLength(bytes, index);
    text +=
      length === 0 ? String.fromCharCode(0xdc00 + bytes[index]!) : strict.decode(bytes.subarray(index, index + length));
    index += length || 1;
  }
  return text;
}

/** Of the valid UTF-8 sequence that starts there; 0: none does. */
function sequenceLength(bytes: Uint8Array, index: number): number {
  const first = bytes[index]!;
  const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  try {
    strict.decode(bytes.subarray(index, index + length));
    return index + length <= bytes.length ? length : 0;
  } catch {
    return 0;
  }
}
