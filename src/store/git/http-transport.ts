// Smart HTTP: isomorphic-git speaks the protocol, our client makes the requests, and what arrives is checked before any
// of it becomes part of the repository.

import { orAbort } from "@/lib/abort.ts";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import { createGitHttp, type GitHttp, type GitHttpOptions } from "./http-client.ts";
import { type FetchedObject, importObjects } from "./import-objects.ts";
import { createObjectView, type ObjectView, VIEW_DIR } from "./object-view.ts";
import { type PushOutcome, RemoteError, type RemotePlace, type Transport } from "./remote.ts";
import { OPERATION_TIMEOUT_MS } from "./remote-limits.ts";
import type { Oid } from "./types.ts";

export type HttpTransportOptions = Omit<GitHttpOptions, "signal" | "origin">;

/** isomorphic-git looks for this name when it tells the remote what we have. */
const HAVE = "refs/heads/have";

export function createHttpTransport(place: RemotePlace & { kind: "http" }, options: HttpTransportOptions): Transport {
  const { url, origin } = place;
  const client = (signal?: AbortSignal) => createGitHttp({ ...options, origin, signal });
  const tipOf = async (http: GitHttp, branch: string, service: Parameters<GitHttp["listRefs"]>[1]) =>
    (await http.listRefs(url, service)).get(branch) ?? null;

  return {
    tip: (branch, { signal } = {}) => within(signal, () => tipOf(client(signal), branch, "git-upload-pack")),

    fetch: (objects, branch, { have = null, signal } = {}) =>
      within(signal, async () => {
        const http = client(signal);
        const tip = await tipOf(http, branch, "git-upload-pack");
        if (tip === null || objects.has(tip)) return tip;
        const git = await load();
        const view = createObjectView(objects, have !== null && objects.has(have) ? { [HAVE]: have } : {});
        const common = { fs: view.fs as never, http, gitdir: VIEW_DIR, url, remote: "remote" };
        await speak(url, () => git.fetch({ ...common, ref: HAVE, remoteRef: branch, singleBranch: true, tags: false }));
        signal?.throwIfAborted();
        await importObjects(objects, tip, await unpack(git, view));
        return tip;
      }),

    push: (objects, branch, { from, to }, { signal } = {}) =>
      within(signal, async (): Promise<PushOutcome> => {
        const http = client(signal);
        const tip = await tipOf(http, branch, "git-receive-pack");
        if (tip === to) return { status: "pushed" };
        if (tip !== from) return { status: "moved", tip };
        const git = await load();
        const view = createObjectView(objects, { [branch]: to });
        const common = { fs: view.fs as never, http, gitdir: VIEW_DIR, url, remote: "remote" };
        try {
          // The remote compares and swaps; that `to` descends from `from` is the caller's word.
          await speak(url, () => git.push({ ...common, ref: branch, remoteRef: branch, force: true }));
          return { status: "pushed" };
        } catch (error) {
          const reason = refusal(error, branch);
          if (reason === null) throw error;
          // Somebody else may have been faster: that is no refusal.
          const now = await tipOf(client(signal), branch, "git-receive-pack");
          return now === from ? { status: "refused", reason } : { status: "moved", tip: now };
        }
      }),
  };
}

type Git = Awaited<ReturnType<typeof load>>;

async function load() {
  return (await import("isomorphic-git")).default;
}

/** The pack the library has put into the view. */
async function unpack(git: Git, view: ObjectView): Promise<Parameters<typeof importObjects>[2]> {
  const packs = view.packs();
  const oids: Oid[] = [];
  for (const [name, content] of packs) {
    if (!name.endsWith(".pack")) continue;
    const index = packs.get(name.replace(/\.pack$/, ".idx"));
    // The library neither checks a pack's sum nor says when it could not resolve a part of it.
    const sum = content.subarray(content.length - 20);
    const body = content.subarray(0, content.length - 20);
    const found = index ? namesOf(index) : [];
    const whole =
      content.length > 32 &&
      sha1(body).equals(sum) &&
      new DataView(body.buffer, body.byteOffset).getUint32(8) === found.length;
    if (!whole) throw new RemoteError("stream_cut", "the remote did not send a whole pack.", { retryable: true });
    oids.push(...found);
  }
  const cache = {};
  return {
    oids,
    async read(oid) {
      const read = await git.readObject({ fs: view.fs as never, gitdir: VIEW_DIR, oid, format: "content", cache });
      return { type: read.type as FetchedObject["type"], content: read.object as Uint8Array };
    },
  };
}

/** Of a pack index of version 2. */
function namesOf(index: Uint8Array): Oid[] {
  const buffer = Buffer.from(index.buffer, index.byteOffset, index.byteLength);
  const start = 8 + 256 * 4;
  const count = buffer.readUInt32BE(start - 4);
  return Array.from({ length: count }, (_, at) => buffer.toString("hex", start + at * 20, start + (at + 1) * 20));
}

function sha1(bytes: Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha1").update(bytes).digest();
}

/** What the library throws becomes an error of ours, whatever the remote sent. */
async function speak<T>(url: string, talk: () => Promise<T>): Promise<T> {
  try {
    return await talk();
  } catch (error) {
    if (error instanceof LettaError || errorCode(error) === "GitPushError" || error instanceof DOMException)
      throw error;
    throw new RemoteError("stream_cut", `${new URL(url).host} did not answer as a git server does.`, {
      cause: error,
      hint: errorMessage(error).split("\n")[0]!.slice(0, 200),
    });
  }
}

/** The library may wait for ever for something a broken answer does not have. */
async function within<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  const limit = AbortSignal.timeout(OPERATION_TIMEOUT_MS);
  try {
    return await orAbort(work(), signal ? AbortSignal.any([signal, limit]) : limit);
  } catch (error) {
    if (error !== limit.reason) throw error;
    throw new RemoteError("network", "the remote was given up: it took too long.", { cause: error, retryable: true });
  }
}

/** The remote's words when it refused the branch; null when something else went wrong. */
function refusal(error: unknown, branch: string): string | null {
  const cause = error instanceof LettaError ? error.cause : error;
  if (errorCode(cause) !== "GitPushError") return null;
  const { result } = (cause as { data: { result: { error?: string; refs?: Record<string, { error?: string }> } } })
    .data;
  return result.refs?.[branch]?.error ?? result.error ?? "no reason given";
}

function errorCode(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined;
}
