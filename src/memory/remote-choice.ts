// Which remote an agent's memory has, and what may be sent to it. Our server's credentials go to our server only:
// an address somebody wrote into the repository's settings cannot collect them.

import { HARNESS_SECRET } from "@/store/agent-secrets.ts";
import type { RemotePlace } from "@/store/git/remote.ts";
import { assertPrivate, parseRemoteUrl } from "@/store/git/remote.ts";

export interface MemoryServer {
  /** `https://api.letta.com`, or what the user set; without a slash at the end. */
  base: string;
  token: string | null;
  /** LETTA_MEMFS_BACKEND=hosted. */
  hosted: boolean;
}

export interface RemoteChoice {
  /** `letta`: the server the agent lives on. `own`: a repository of the user's. */
  kind: "letta" | "own";
  place: RemotePlace;
  /** For the place's origin only. */
  headers: Record<string, string>;
}

/** The address of an agent's memory on a server. */
export function memoryUrl(base: string, agentId: string): string {
  return `${base}/v1/git/${encodeURIComponent(agentId)}/state.git`;
}

/** Of the token for a user's own remote, among the agent's secrets: one per origin, so that it cannot go elsewhere. */
export function remoteTokenName(origin: string): string {
  const digest = new Bun.CryptoHasher("sha256").update(origin).digest("hex");
  const readable = new URL(origin).hostname.replace(/[^A-Za-z0-9]+/g, "_");
  return `${HARNESS_SECRET}${readable}_${digest.slice(0, 8)}`.toUpperCase();
}

/** `origin`: what the repository names (`remote.origin.url`). `server`: null for an agent of this machine. Null: the memory
 *  is on this machine only. Throws `usage` for an address we do not talk to. */
export async function chooseRemote(options: {
  agentId: string;
  origin: string | null;
  server: MemoryServer | null;
  /** The user's, kept under `remoteTokenName`; asked only for a remote of theirs. */
  tokenFor(origin: string): Promise<string | null> | string | null;
}): Promise<RemoteChoice | null> {
  const { agentId, server, tokenFor } = options;
  const url = currentUrl(options);
  if (url === null) return null;
  const place = parseRemoteUrl(url);
  assertPrivate(place, server && new URL(server.base).origin);
  if (place.kind === "ssh") return { kind: "own", place, headers: {} };
  if (server && place.url === memoryUrl(server.base, agentId)) {
    return {
      kind: "letta",
      place,
      headers: {
        ...(server.token !== null && { authorization: basic("letta", server.token) }),
        ...(server.hosted && { "x-letta-memfs-backend": "hosted" }),
      },
    };
  }
  const token = await tokenFor(place.origin);
  return {
    kind: "own",
    place,
    // Hosts that know tokens take any name with them; a person may have put the right one into the address.
    headers: token === null ? {} : { authorization: basic(place.username ?? "x-access-token", token) },
  };
}

/** What `remote.origin.url` should be: an agent of a server has a remote from birth, and former addresses of it are put
 *  right; anybody else's is left alone. */
export function currentUrl({
  agentId,
  origin,
  server,
}: {
  agentId: string;
  origin: string | null;
  server: MemoryServer | null;
}): string | null {
  const text = origin?.trim() || null;
  if (!server) return text;
  if (text === null) return memoryUrl(server.base, agentId);
  const path = URL.parse(text)?.pathname.replace(/\/+$/, "");
  const own = `/v1/git/${encodeURIComponent(agentId)}`;
  const isFormer = path === "/v1/git" || path?.endsWith(own) || path?.endsWith(`${own}/state.git`);
  return isFormer ? memoryUrl(server.base, agentId) : text;
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
