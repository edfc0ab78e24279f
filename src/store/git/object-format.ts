// Trees, commits and tags: bytes ↔ values. Pure. What cannot be read is `invalid_data`; what is written is what git's
// strict fsck accepts.

import { LettaError } from "@/lib/errors.ts";
import { compareNames, decodeName, encodeName } from "./names.ts";
import type { Commit, FileMode, Identity, Oid, Signature } from "./types.ts";

export type ObjectType = "commit" | "tree" | "blob" | "tag";

export type TreeItem = { name: string; mode: FileMode | "40000"; oid: Oid };

export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

export function hashObject(type: ObjectType, content: Uint8Array): Oid {
  return new Bun.CryptoHasher("sha1").update(objectHeader(type, content.length)).update(content).digest("hex");
}

export function objectHeader(type: ObjectType, length: number): Uint8Array {
  return new TextEncoder().encode(`${type} ${length}\0`);
}

export function isOid(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}

export function parseTree(oid: Oid, bytes: Uint8Array): TreeItem[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const items: TreeItem[] = [];
  for (let at = 0; at < buffer.length; ) {
    const space = buffer.indexOf(0x20, at);
    const end = buffer.indexOf(0, space);
    if (space === -1 || end === -1 || end + 21 > buffer.length) throw broken(`tree ${oid}`);
    const name = decodeName(buffer.subarray(space + 1, end));
    if (name === "" || name.includes("/")) throw broken(`tree ${oid}`);
    const mode = toMode(buffer.toString("latin1", at, space));
    if (mode === null) throw broken(`tree ${oid}`);
    items.push({ name, mode, oid: buffer.toString("hex", end + 1, end + 21) });
    at = end + 21;
  }
  return items;
}

/** Sorts. A folder's name counts as if it ended with `/`. */
export function formatTree(items: readonly TreeItem[]): Uint8Array {
  const sorted = items.toSorted((a, b) => compareNames(sortKey(a), sortKey(b)));
  const parts: Uint8Array[] = [];
  for (const [index, { name, mode, oid }] of sorted.entries()) {
    if (name === "" || name === "." || name === ".." || /[/\0]/.test(name) || sorted[index - 1]?.name === name)
      throw new LettaError("invalid_data", `a folder cannot have the entry ${JSON.stringify(name)}`);
    if (!isOid(oid)) throw new LettaError("invalid_data", `${JSON.stringify(oid)} is not an object id`);
    parts.push(Buffer.from(`${mode} `), encodeName(name), Buffer.of(0), Buffer.from(oid, "hex"));
  }
  return Buffer.concat(parts);
}

export function parseCommit(oid: Oid, bytes: Uint8Array): Commit {
  const { headers, message } = parseHeaders(bytes);
  const tree = headers.find(([key]) => key === "tree")?.[1] ?? "";
  const parents = headers.filter(([key]) => key === "parent").map(([, value]) => value);
  if (!isOid(tree) || !parents.every(isOid)) throw broken(`commit ${oid}`);
  const person = (key: string) => parseSignature(headers.find(([name]) => name === key)?.[1] ?? "");
  return {
    oid,
    tree,
    parents,
    author: person("author"),
    committer: person("committer"),
    message: message.endsWith("\n") ? message : `${message}\n`,
  };
}

export function formatCommit(commit: {
  tree: Oid;
  parents: readonly Oid[];
  author: Signature;
  committer: Signature;
  message: string;
}): Uint8Array {
  const lines = [
    `tree ${commit.tree}`,
    ...commit.parents.map((parent) => `parent ${parent}`),
    `author ${formatSignature(commit.author)}`,
    `committer ${formatSignature(commit.committer)}`,
  ];
  return new TextEncoder().encode(`${lines.join("\n")}\n\n${cleanMessage(commit.message)}`);
}

/** What a tag points to. */
export function parseTag(oid: Oid, bytes: Uint8Array): Oid {
  const target = parseHeaders(bytes).headers.find(([key]) => key === "object")?.[1] ?? "";
  if (!isOid(target)) throw broken(`tag ${oid}`);
  return target;
}

/** `Name <email> 1700000000 +0100`: in commits and in reflogs. */
export function formatSignature({ name, email, at }: Signature): string {
  return `${cleanName(name) || "unknown"} <${cleanName(email) || "unknown"}> ${formatTime(at)}`;
}

/** With the offset of this machine, to the second, as git stores it. */
export function signatureNow({ name, email }: Identity, nowMs: number): Signature {
  return { name, email, at: toIso(Math.floor(nowMs / 1000), -new Date(nowMs).getTimezoneOffset()) };
}

function parseHeaders(bytes: Uint8Array): { headers: [string, string][]; message: string } {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const end = text.indexOf("\n\n");
  const head = end === -1 ? text.replace(/\n$/, "") : text.slice(0, end);
  const headers: [string, string][] = [];
  for (const line of head.split("\n")) {
    // Lines of a signature or merged tag belong to the header above.
    if (line.startsWith(" ")) continue;
    const space = line.indexOf(" ");
    headers.push([line.slice(0, space), line.slice(space + 1)]);
  }
  return { headers, message: end === -1 ? "" : text.slice(end + 2) };
}

/** Tolerant: old importers wrote odd ones, and a log must still be readable. */
function parseSignature(text: string): Signature {
  const match = /^(.*?) ?<([^>]*)>(?: (-?\d+)(?: ([+-])(\d\d)(\d\d))?)?/.exec(text);
  if (!match) return { name: text, email: "", at: toIso(0, 0) };
  const [, name = "", email = "", seconds = "0", sign, hours = "0", minutes = "0"] = match;
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1);
  return { name, email, at: toIso(Number(seconds), offset) };
}

/** ISO with offset; what is beyond the calendar is the epoch. */
function toIso(seconds: number, offsetMinutes: number): string {
  const shifted = new Date((seconds + offsetMinutes * 60) * 1000);
  if (Number.isNaN(shifted.getTime()) || shifted.getUTCFullYear() > 9999 || shifted.getUTCFullYear() < 0)
    return "1970-01-01T00:00:00+00:00";
  return `${shifted.toISOString().slice(0, 19)}${offsetText(offsetMinutes, ":")}`;
}

function formatTime(at: string): string {
  const seconds = Math.floor(Date.parse(at) / 1000);
  if (Number.isNaN(seconds) || seconds < 0) throw new LettaError("invalid_data", `${JSON.stringify(at)} is not a time`);
  const match = /([+-])(\d\d):?(\d\d)$/.exec(at);
  return `${seconds} ${match ? `${match[1]}${match[2]}${match[3]}` : "+0000"}`;
}

function offsetText(minutes: number, separator: string): string {
  const size = Math.abs(minutes);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}${separator}${two(size % 60)}`;
}

/** As git: no angle brackets, no line ends, none of the marks it strips from both ends (but for `Jr.`). */
function cleanName(text: string): string {
  const plain = text.toWellFormed().replace(/[<>\n\r\0]/g, "");
  return plain.replace(/^[\x00-\x20.,:;"\\']+|[\x00-\x20,:;"\\']+$/g, "");
}

/** Verbatim but for what would break the object: NULs, half characters. Ends with one newline. */
function cleanMessage(message: string): string {
  return `${message.toWellFormed().replaceAll("\0", "").replace(/\s+$/, "")}\n`;
}

function sortKey({ name, mode }: TreeItem): string {
  return mode === "40000" ? `${name}/` : name;
}

/** Git's own old commits have `100664`, some tools pad with zeros. */
function toMode(text: string): TreeItem["mode"] | null {
  const type = Number.parseInt(text, 8);
  if (!/^[0-7]{5,7}$/.test(text)) return null;
  switch (type & 0o170000) {
    case 0o040000:
      return "40000";
    case 0o100000:
      return type & 0o100 ? "100755" : "100644";
    case 0o120000:
      return "120000";
    case 0o160000:
      return "160000";
    default:
      return null;
  }
}

function broken(what: string): LettaError {
  return new LettaError("invalid_data", `${what} cannot be read: it is damaged`, {
    hint: "`git fsck` tells more. A backup or another copy of the repository has the object.",
  });
}
