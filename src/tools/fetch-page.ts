// Fetches a public web page without letting anybody use us to reach what only this machine can reach: names are resolved
// here, every address must be a public one, and the connection goes to exactly the address that was judged.

import { isIP } from "node:net";
import { errorMessage, isAbortError, ToolError } from "@/lib/errors.ts";
import { isPublicAddress } from "@/lib/ip-address.ts";
import { formatCount } from "@/lib/text.ts";
import { FETCH_BYTES, FETCH_REDIRECTS, FETCH_TIMEOUT_MS } from "./limits.ts";

export interface FetchedPage {
  url: string;
  status: number;
  /** Media type without parameters, lower case. */
  type: string;
  text: string;
}

/** The page, or another host's address it sends us to: going there is for the caller to ask. */
export type FetchResult = { kind: "page"; page: FetchedPage } | { kind: "elsewhere"; url: string };

export interface FetchOptions {
  signal: AbortSignal;
  userAgent: string;
  /** All addresses of a name. Throws when there are none. */
  resolve?: (host: string) => Promise<string[]>;
  isAllowed?: (address: string) => boolean;
  timeoutMs?: number;
}

/** What can be fetched at all, in its normal form. Throws ToolError. */
export function parseFetchUrl(text: string): URL {
  if (!URL.canParse(text)) throw new ToolError(`Not a URL: ${text}`);
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new ToolError(`Only http and https can be fetched, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "") throw new ToolError("A URL with a user name cannot be fetched.");
  url.hash = "";
  return url;
}

/** Throws ToolError for what the model should read, and the signal's reason when aborted. */
export async function fetchPage(start: URL, options: FetchOptions): Promise<FetchResult> {
  const { signal, timeoutMs = FETCH_TIMEOUT_MS } = options;
  const limit = AbortSignal.timeout(timeoutMs);
  const either = AbortSignal.any([signal, limit]);
  let url = start;
  try {
    for (let hops = 0; hops <= FETCH_REDIRECTS; hops++) {
      const response = await request(url, { ...options, signal: either });
      const next = redirectOf(response, url);
      if (next === null) return { kind: "page", page: await toPage(response, url) };
      await response.body?.cancel();
      if (!isSameSite(url, next)) return { kind: "elsewhere", url: next.href };
      url = next;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) throw new ToolError(`${url.host} did not answer completely within ${timeoutMs / 1000} s.`);
    if (error instanceof ToolError || isAbortError(error)) throw error;
    throw new ToolError(`${url.href} could not be fetched: ${errorMessage(error)}`, { cause: error });
  }
  throw new ToolError(`${start.href} redirects more than ${FETCH_REDIRECTS} times.`);
}

async function request(url: URL, options: FetchOptions): Promise<Response> {
  const address = await findAddress(url, options);
  const pinned = new URL(url);
  pinned.hostname = isIP(address) === 6 ? `[${address}]` : address;
  const init: BunFetchRequestInit = {
    redirect: "manual",
    // A connection of another page must not be used for this one's name.
    keepalive: false,
    signal: options.signal,
    headers: {
      host: url.host,
      "user-agent": options.userAgent,
      accept: "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1",
    },
    tls: { serverName: hostOf(url) },
  };
  return fetch(pinned.href, init);
}

/** One address of the host, when all of them are allowed. */
async function findAddress(url: URL, { resolve = lookUp, isAllowed = isPublicAddress }: FetchOptions): Promise<string> {
  const host = hostOf(url);
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  const refused = addresses.find((address) => !isAllowed(address));
  if (refused !== undefined || addresses.length === 0) {
    const where = refused === undefined || refused === host ? host : `${host} (${refused})`;
    throw new ToolError(
      `${where} is not on the public internet. WebFetch does not reach this machine, local networks or cloud metadata.`,
    );
  }
  return addresses[0]!;
}

/** Without the brackets of IPv6. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

async function lookUp(host: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises");
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    throw new ToolError(`${host} has no address: ${errorMessage(error)}`, { cause: error });
  }
}

function redirectOf(response: Response, url: URL): URL | null {
  const location = response.headers.get("location");
  if (response.status < 300 || response.status > 399 || location === null) return null;
  if (!URL.canParse(location, url.href)) throw new ToolError(`${url.href} redirects to something that is no URL.`);
  return parseFetchUrl(new URL(location, url.href).href);
}

/** The permission was for this host. Going from http to https is no change. */
function isSameSite(from: URL, to: URL): boolean {
  if (from.hostname !== to.hostname) return false;
  if (from.protocol === to.protocol) return from.port === to.port;
  return to.protocol === "https:" && from.port === "" && to.port === "";
}

async function toPage(response: Response, url: URL): Promise<FetchedPage> {
  const [type = "", ...parameters] = (response.headers.get("content-type") ?? "text/plain").toLowerCase().split(";");
  const media = type.trim();
  if (!isText(media)) {
    await response.body?.cancel();
    throw new ToolError(`${url.href} is ${media}, not text. Download it with the shell if you need it.`);
  }
  const charset = parameters.join(";").match(/charset="?([\w-]+)/)?.[1];
  const text = decoderFor(charset).decode(await readBounded(response, url));
  return { url: url.href, status: response.status, type: media, text };
}

function isText(type: string): boolean {
  return /^text\/|^application\/(?:.*\+)?(?:json|xml|javascript|yaml|x-yaml|x-ndjson|toml)$/.test(type);
}

function decoderFor(charset: string | undefined): TextDecoder {
  try {
    return new TextDecoder(charset as ConstructorParameters<typeof TextDecoder>[0]);
  } catch {
    return new TextDecoder(); // A name nobody knows: nearly everything is UTF-8.
  }
}

/** Counts what comes out of decompression: a small reply can be a very large page. */
async function readBounded(response: Response, url: URL): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > FETCH_BYTES) throw new ToolError(`${url.href} is larger than ${formatCount(FETCH_BYTES)} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
