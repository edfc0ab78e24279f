// Git's HTTP requests, as isomorphic-git wants them made: whole answers in memory up to a limit, retries where asking
// again is harmless, and credentials that never leave the origin they belong to, wherever an answer redirects.

import type { GitHttpRequest, GitHttpResponse, HttpClient } from "isomorphic-git";
import { wait } from "@/lib/abort.ts";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import { assertWholeAnswer, parseRefList } from "./packet-lines.ts";
import { RemoteError } from "./remote.ts";
import { MAX_REMOTE_BYTES, REMOTE_ATTEMPTS, REMOTE_PAUSE_MS, REMOTE_TIMEOUT_MS } from "./remote-limits.ts";
import type { Oid } from "./types.ts";

export interface GitHttpOptions {
  /** Credentials and the like; sent to this origin only. */
  headers: Readonly<Record<string, string>>;
  origin: string;
  signal?: AbortSignal | undefined;
  /** Of one request with its answer. */
  timeoutMs?: number;
  maxBytes?: number;
  /** Between attempts. */
  pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** For isomorphic-git, and what it is better not asked for. */
export interface GitHttp extends HttpClient {
  /** Ref → object, as the server lists them for this service. */
  listRefs(url: string, service: "git-upload-pack" | "git-receive-pack"): Promise<Map<string, Oid>>;
}

/** For one operation: a list of refs is asked for once and remembered. Throws `RemoteError`, or the signal's reason. */
export function createGitHttp(options: GitHttpOptions): GitHttp {
  const lists = new Map<string, Answer>();
  /** Where the list of refs was redirected to, its other requests go as well. */
  let moved: { from: string; to: string } | null = null;

  async function list(url: string, headers: Record<string, string>): Promise<Answer> {
    const known = lists.get(url);
    if (known) return known;
    const sent = { method: "GET", headers, body: undefined };
    const answer = await withRetries(REMOTE_ATTEMPTS, options, () => exchange(url, sent, options));
    const suffix = /\/info\/refs\?service=[\w-]+$/.exec(url)?.[0];
    if (suffix && answer.url !== url && answer.url.endsWith(suffix)) {
      moved = { from: url.slice(0, -suffix.length), to: answer.url.slice(0, -suffix.length) };
    }
    lists.set(url, answer);
    return answer;
  }

  return {
    listRefs: async (url, service) => parseRefList((await list(`${url}/info/refs?service=${service}`, {})).bytes),

    async request({ url, method = "GET", headers = {}, body }: GitHttpRequest): Promise<GitHttpResponse> {
      if (method === "GET") return replay(await list(url, headers));
      const target = moved && url.startsWith(moved.from) ? moved.to + url.slice(moved.from.length) : url;
      const sent = { method, headers, body: body && (await collect(body)) };
      // A push whose answer got lost may have arrived.
      const attempts = url.endsWith("/git-receive-pack") ? 1 : REMOTE_ATTEMPTS;
      return replay(await withRetries(attempts, options, () => exchange(target, sent, options)));
    },
  };
}

/** Some hosts show their web pages to whatever does not begin like git. */
const USER_AGENT = "git/letta";

type Answer = GitHttpResponse & { bytes: Uint8Array };

interface Sent {
  method: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
}

async function exchange(url: string, sent: Sent, options: GitHttpOptions): Promise<Answer> {
  const { timeoutMs = REMOTE_TIMEOUT_MS, maxBytes = MAX_REMOTE_BYTES, signal } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  const both = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const host = new URL(url).host;
  try {
    const response = await follow(url, sent, options, both);
    if (response.status !== 200) throw await statusError(response, { host, credentials: hasCredentials(options) });
    const bytes = await readLimited(response, maxBytes);
    assertWholeAnswer(host, bytes);
    return {
      url: response.url,
      method: sent.method,
      statusCode: response.status,
      statusMessage: response.statusText,
      headers: Object.fromEntries(response.headers.entries()),
      bytes,
    };
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof LettaError) throw error;
    const seconds = Math.round(timeoutMs / 1000);
    const what = timeout.aborted ? `did not answer within ${seconds} s` : `cannot be reached: ${errorMessage(error)}`;
    throw new RemoteError("network", `${host} ${what}.`, { cause: error, retryable: true });
  }
}

async function follow(url: string, sent: Sent, options: GitHttpOptions, signal: AbortSignal): Promise<Response> {
  let target = new URL(url);
  for (let hops = 0; hops <= 5; hops++) {
    const own = target.origin === options.origin ? options.headers : {};
    const headers = { "user-agent": USER_AGENT, ...sent.headers, ...own };
    const init = { method: sent.method, headers, redirect: "manual", signal } as const;
    const response = await fetch(target.href, sent.body === undefined ? init : { ...init, body: sent.body });
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    const next = URL.parse(location, target.href);
    if (!next || !/^https?:$/.test(next.protocol) || (target.protocol === "https:" && next.protocol === "http:")) {
      throw new RemoteError("network", `${target.host} redirects to a place that is not safe to follow.`);
    }
    if (sent.method !== "GET") throw new RemoteError("network", `${target.host} redirects what was sent to it.`);
    next.username = "";
    next.password = "";
    target = next;
  }
  throw new RemoteError("network", `${target.host} redirects in circles.`);
}

async function statusError(response: Response, about: { host: string; credentials: boolean }): Promise<RemoteError> {
  await response.body?.cancel();
  const { status } = response;
  const { host, credentials } = about;
  switch (status) {
    case 401:
      return new RemoteError("auth", credentials ? `${host} does not accept the token.` : `${host} asks for a token.`, {
        status,
        hint: credentials ? "It may have expired, or belong to somebody else. Save a new one." : "Save one for it.",
      });
    case 403:
      return new RemoteError("auth", `${host} does not allow this.`, {
        status,
        hint: "The token lacks the right to read or write this repository.",
      });
    case 404:
    case 405:
      return new RemoteError("not_found", `${host} has no git repository at this address.`, {
        status,
        hint: "Check the address; some hosts also say this when a token lacks the right to see it.",
      });
    case 429:
      return new RemoteError("rate_limit", `${host} asks to slow down.`, { status, retryable: true });
    default:
      return new RemoteError("network", `${host} answered with HTTP status ${status}.`, {
        status,
        retryable: [502, 503, 504].includes(status) || (status >= 520 && status <= 524),
      });
  }
}

async function readLimited(response: Response, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    if (size > maxBytes) {
      throw new RemoteError("limit", `the answer of ${new URL(response.url).host} is larger than ${maxBytes} bytes.`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function withRetries<T>(attempts: number, options: GitHttpOptions, attempt: () => Promise<T>): Promise<T> {
  const { pause = wait, signal } = options;
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof RemoteError && error.retryable) || count >= attempts) throw error;
      await pause(REMOTE_PAUSE_MS * 2 ** (count - 1), signal);
      signal?.throwIfAborted();
    }
  }
}

function hasCredentials({ headers }: GitHttpOptions): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

async function collect(body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

function replay({ bytes, ...response }: Answer): GitHttpResponse {
  async function* body(): AsyncIterableIterator<Uint8Array> {
    yield bytes;
  }
  return { ...response, body: body() };
}
