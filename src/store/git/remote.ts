// Where a repository is kept besides this machine: which places we talk to, how, and what can go wrong. A transport moves
// commits and their objects; which commits, and what then becomes of branches, is the caller's business.

import { type ErrorCode, LettaError, type LettaErrorOptions } from "@/lib/errors.ts";
import type { Oid, StoredObjects } from "./types.ts";

export interface TransportOptions {
  signal?: AbortSignal;
}

/** Throws `RemoteError`, and the signal's reason. */
export interface Transport {
  /** Where the branch is at the remote; null when it has none of that name. */
  tip(branch: string, options?: TransportOptions): Promise<Oid | null>;
  /** Brings the branch's commits and everything in them, whole and checked; null as above. `have`: a commit that both
   *  sides probably know, so that only news travels. */
  fetch(
    objects: StoredObjects,
    branch: string,
    options?: TransportOptions & { have?: Oid | null },
  ): Promise<Oid | null>;
  /** Moves the branch there from `from` (null: it must not exist) to `to`, a descendant. */
  push(
    objects: StoredObjects,
    branch: string,
    change: { from: Oid | null; to: Oid },
    options?: TransportOptions,
  ): Promise<PushOutcome>;
}

export type PushOutcome =
  | { status: "pushed" }
  /** The branch is somewhere else by now. */
  | { status: "moved"; tip: Oid | null }
  /** The remote does not want it, in its own words. */
  | { status: "refused"; reason: string };

export interface RemoteErrorOptions extends LettaErrorOptions {
  /** Of the HTTP answer. */
  status?: number;
  /** Trying again in a moment may help. */
  retryable?: boolean;
}

export class RemoteError extends LettaError {
  override name = "RemoteError";
  readonly status: number | null;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, { status, retryable = false, ...options }: RemoteErrorOptions = {}) {
    super(code, message, options);
    this.status = status ?? null;
    this.retryable = retryable;
  }
}

export type RemotePlace =
  /** `url` without credentials and without a slash at the end; `origin` as browsers mean it. */
  { kind: "http"; url: string; origin: string; username: string | null } | { kind: "ssh"; url: string };

/** Throws `usage` for what we do not talk to, and for a password in the address: it would end up in configuration files. */
export function parseRemoteUrl(text: string): RemotePlace {
  const trimmed = text.trim().replace(/(?<=[^/:])\/+$/, "");
  // git's short form of ssh: user@host:path.
  if (/^[\w.-]+@[\w.-]+:(?!\/\/)[^\s-]\S*$/.test(trimmed)) return { kind: "ssh", url: trimmed };
  const url = URL.parse(trimmed);
  if (!url || /[\s\0]/.test(trimmed)) throw refuse(trimmed, "is no address of a repository");
  if (url.protocol === "ssh:" && /^[\w[]/.test(url.hostname) && !/^-/.test(url.username)) {
    if (url.password) throw refuse(redactUrl(trimmed), "has a password in it", "Use an SSH key.");
    return { kind: "ssh", url: trimmed };
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw refuse(redactUrl(trimmed), "is neither HTTPS nor SSH", "Use https://… or ssh://…, or user@host:path.");
  }
  if (url.password) {
    throw refuse(
      redactUrl(trimmed),
      "has a password in it",
      "Leave it out; the token is kept with your other secrets.",
    );
  }
  if (url.search || url.hash) throw refuse(redactUrl(trimmed), "has more than a path after the host");
  const username = url.username ? decodeURIComponent(url.username) : null;
  url.username = "";
  return { kind: "http", url: url.href.replace(/\/+$/, ""), origin: url.origin, username };
}

/** Plain HTTP shows tokens and memory to everybody on the way: only this machine, or what the user configured as base. */
export function assertPrivate(place: RemotePlace, trustedOrigin: string | null): void {
  if (place.kind !== "http") return;
  const { protocol, hostname, origin } = new URL(place.url);
  if (protocol === "https:" || origin === trustedOrigin || isLoopbackHost(hostname)) return;
  throw refuse(place.url, "is not encrypted", "Use https://.");
}

/** For messages: no password and no token that was put in the place of a name. */
export function redactUrl(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@\s]*@/i, (whole, scheme: string) =>
    /^ssh:/i.test(scheme) && !whole.includes(":", scheme.length) ? whole : `${scheme}***@`,
  );
}

function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function refuse(what: string, why: string, hint?: string): LettaError {
  return new LettaError("usage", `${what} ${why}.`, hint === undefined ? {} : { hint });
}
