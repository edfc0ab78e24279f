// Downloads: over HTTPS, from the host that was named and no other, so large and so slow as the limits allow. Nothing
// secret is ever sent.

import { formatSeconds } from "@/lib/duration.ts";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { isLoopback } from "./hosts.ts";
import { DOWNLOAD_MS, MAX_REDIRECTS, STALL_MS } from "./limits.ts";

export interface DownloadOptions {
  maxBytes: number;
  signal?: AbortSignal;
  /** Without a byte arriving. */
  stallMs?: number;
  /** All of it. */
  totalMs?: number;
}

/** The whole answer in memory. `type`: its media type. */
export async function download(url: string, options: DownloadOptions): Promise<{ bytes: Uint8Array; type: string }> {
  return withDownload(url, options, async ({ chunks, type }) => ({
    bytes: Buffer.concat(await Array.fromAsync(chunks)),
    type,
  }));
}

export interface OpenDownload {
  type: string;
  chunks: AsyncIterable<Uint8Array>;
}

/** Hands the answer over as it arrives; when `use` is done, or fails, the connection is closed. */
export async function withDownload<T>(
  start: string,
  options: DownloadOptions,
  use: (download: OpenDownload) => Promise<T>,
): Promise<T> {
  const transfer = new Transfer(options);
  try {
    const { response, url } = await follow(parseUrl(start), transfer);
    if (response.status !== 200) throw statusError(url, response.status);
    const expected = contentLength(response);
    if (expected !== null && expected > options.maxBytes) throw tooLarge(url, options.maxBytes);
    const type = (response.headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
    return await use({ type, chunks: readChunks(response, { url, expected, transfer, maxBytes: options.maxBytes }) });
  } finally {
    transfer.close();
  }
}

/** Throws `usage` for what is not downloaded at all. */
export function parseUrl(text: string): URL {
  const url = URL.parse(text);
  const shown = escapeDeceptive(text);
  if (!url) throw new LettaError("usage", `${shown} is no address`);
  if (url.username !== "" || url.password !== "") {
    throw new LettaError("usage", "An address with a user name or password in it is not used");
  }
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))) return url;
  throw new LettaError("usage", `${shown} is not encrypted`, { hint: "Use https://" });
}

async function follow(start: URL, transfer: Transfer): Promise<{ response: Response; url: URL }> {
  let url = start;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const response = await request(url, transfer);
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return { response, url };
    await response.body?.cancel();
    url = redirected(url, location);
  }
  throw new LettaError("network", `${start.host} redirects in circles`);
}

async function request(url: URL, transfer: Transfer): Promise<Response> {
  const init: BunFetchRequestInit = {
    redirect: "manual",
    signal: transfer.signal,
    // Lengths are then those of what is sent.
    headers: { "user-agent": "letta", "accept-encoding": "identity" },
  };
  try {
    return await transfer.withinTime(fetch(url.href, init));
  } catch (error) {
    throw transfer.explain(url, error);
  }
}

/** What was named is what is installed from: who sends us elsewhere is told on, not followed. */
function redirected(from: URL, location: string): URL {
  const to = URL.parse(location, from.href);
  const shown = escapeDeceptive(to?.href ?? location).slice(0, 300);
  const isSafe =
    to !== null &&
    to.username === "" &&
    to.password === "" &&
    (to.protocol === from.protocol || (to.protocol === "https:" && from.protocol === "http:"));
  if (!isSafe) throw new LettaError("network", `${from.host} redirects to a place that is not followed: ${shown}`);
  if (to.host !== from.host) {
    throw new LettaError("network", `${from.host} redirects to another host: ${shown}`, {
      hint: "If you trust that one, install from there.",
    });
  }
  return to;
}

async function* readChunks(
  response: Response,
  about: { url: URL; expected: number | null; transfer: Transfer; maxBytes: number },
): AsyncGenerator<Uint8Array> {
  const { url, expected, transfer, maxBytes } = about;
  const reader = response.body?.getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await transfer
      .withinTime(reader?.read() ?? Promise.resolve({ done: true, value: undefined }))
      .catch((error: unknown) => {
        throw transfer.explain(url, error);
      });
    if (done || value === undefined) break;
    size += value.byteLength;
    if (size > maxBytes) throw tooLarge(url, maxBytes);
    yield value;
  }
  if (expected !== null && size !== expected) throw cut(url);
}

/** The clocks of one download, and the switch that ends it. */
class Transfer {
  readonly #abort = new AbortController();
  readonly #total: ReturnType<typeof setTimeout>;
  readonly #stallMs: number;
  readonly #caller: AbortSignal | undefined;
  #reason: "stall" | "total" | null = null;
  readonly signal: AbortSignal;

  constructor({ signal, stallMs = STALL_MS, totalMs = DOWNLOAD_MS }: DownloadOptions) {
    this.#stallMs = stallMs;
    this.#caller = signal;
    this.signal = signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal;
    this.#total = setTimeout(() => this.#stop("total"), totalMs);
  }

  async withinTime<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#stop("stall"), this.#stallMs);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }

  explain(url: URL, error: unknown): unknown {
    if (this.#caller?.aborted) return this.#caller.reason;
    if (error instanceof LettaError) return error;
    if (this.#reason === "stall") {
      return new LettaError("network", `${url.host} sent nothing for ${formatSeconds(this.#stallMs)}`);
    }
    if (this.#reason === "total") return new LettaError("network", `${url.host} takes too long`);
    return new LettaError("network", `${url.href} could not be downloaded: ${errorMessage(error)}`, { cause: error });
  }

  close(): void {
    clearTimeout(this.#total);
    this.#abort.abort();
  }

  #stop(reason: "stall" | "total"): void {
    this.#reason ??= reason;
    this.#abort.abort();
  }
}

function contentLength(response: Response): number | null {
  const text = response.headers.get("content-length");
  return text !== null && /^\d+$/.test(text) && !response.headers.has("content-encoding") ? Number(text) : null;
}

function statusError(url: URL, status: number): LettaError {
  if (status === 404 || status === 410) return new LettaError("not_found", `There is nothing at ${url.href}`);
  if (status === 401 || status === 403) {
    return new LettaError("auth", `${url.host} does not give ${url.pathname} to everybody (HTTP status ${status})`, {
      hint: "Download it yourself and install the folder.",
    });
  }
  if (status === 429) return new LettaError("rate_limit", `${url.host} asks to slow down`);
  return new LettaError("network", `${url.host} answered with HTTP status ${status}`);
}

function tooLarge(url: URL, maxBytes: number): LettaError {
  return new LettaError("limit", `${url.href} is larger than ${Math.round(maxBytes / 1024 / 1024)} MiB`);
}

function cut(url: URL): LettaError {
  return new LettaError("network", `${url.host} did not send all of it`);
}
