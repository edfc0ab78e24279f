// The frames git's protocol travels in, checked before anybody parses them: an answer that was cut, or is something else,
// is told from a whole one, and the remote's own complaint is found.

import { RemoteError } from "./remote.ts";
import type { Oid } from "./types.ts";

const ERROR_BAND = 3;
const MAX_COMPLAINT_CHARS = 300;

/** Ref → object, of a server's list. isomorphic-git takes an empty one for a newer protocol. */
export function parseRefList(bytes: Uint8Array): Map<string, Oid> {
  const refs = new Map<string, Oid>();
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < buffer.length; ) {
    const end = at + Math.max(Number.parseInt(buffer.toString("latin1", at, at + 4), 16), 4);
    const [, oid, ref] = /^([0-9a-f]{40}) ([^\0\n]+)/.exec(buffer.toString("utf8", at + 4, end)) ?? [];
    // A repository without refs may list its abilities under a name and an object that are none.
    if (oid && ref && !/^0+$/.test(oid)) refs.set(ref, oid);
    at = end;
  }
  return refs;
}

/** Throws `stream_cut` for half an answer, and what the remote complains about. */
export function assertWholeAnswer(host: string, bytes: Uint8Array): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let ended = false;
  for (let at = 0; at < buffer.length; ) {
    const digits = buffer.toString("latin1", at, at + 4);
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : -1;
    ended = length === 0;
    // 0000 to 0002 are marks without content.
    const end = at + Math.max(length, 4);
    if (length < 0 && at === 0) throw new RemoteError("not_found", `${host} does not answer as a git server does.`);
    if (length < 0 || length === 3 || end > buffer.length) throw cut(host);
    const content = buffer.subarray(at + 4, end);
    if (content[0] === ERROR_BAND) throw complaint(host, content.subarray(1));
    if (content.subarray(0, 4).toString("latin1") === "ERR ") throw complaint(host, content.subarray(4));
    at = end;
  }
  if (!ended) throw cut(host);
}

function cut(host: string): RemoteError {
  return new RemoteError("stream_cut", `${host} did not send a whole answer.`, { retryable: true });
}

function complaint(host: string, words: Buffer): RemoteError {
  const text = words
    .toString("utf8")
    .replace(/[^\P{C}\n]/gu, "")
    .trim()
    .replace(/\s+/g, " ");
  return new RemoteError("invalid_data", `${host} says: ${text.slice(0, MAX_COMPLAINT_CHARS)}`);
}
