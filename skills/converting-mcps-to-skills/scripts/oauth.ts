// Logins at MCP servers: OAuth 2.1 with PKCE, the server's own description of where to sign in, and a client that
// registers itself. A login is one file that only its owner can read. Tokens are never printed.

import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Failure, record, textOf } from "./session.ts";

export interface LoginOptions {
  scope?: string;
  clientId?: string;
  clientSecret?: string;
  /** 0: any. */
  port: number;
  timeoutMs: number;
}

interface Client {
  tokenEndpoint: string;
  clientId: string;
  clientSecret?: string;
  /** What the tokens are for, as the server calls itself. */
  resource: string;
}

interface Tokens {
  access: string;
  refresh?: string;
  /** Milliseconds since 1970. */
  expiresAt?: number;
}

/** A login that a person has not finished yet. */
interface Pending {
  client: Client;
  state: string;
  verifier: string;
  redirectUri: string;
}

interface LoginFile {
  server: string;
  client?: Client;
  tokens?: Tokens;
  pending?: Pending;
}

/** Seconds before its end that a token is renewed. */
const EARLY_MS = 30_000;
const HTTP_TIMEOUT_MS = 30_000;

/** Only this machine may be asked without encryption. */
export function isSafe(url: URL): boolean {
  return (
    url.protocol === "https:" ||
    (url.protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname))
  );
}

/** Undefined without a login. Renewed when it is about to end. */
export async function accessToken(server: URL): Promise<string | undefined> {
  const { tokens } = load(server);
  if (!tokens) return undefined;
  if (tokens.expiresAt === undefined || tokens.expiresAt - EARLY_MS > Date.now()) return tokens.access;
  return (await refreshed(server)) ?? tokens.access;
}

/** A new token for one that is not accepted any more; undefined when only a new login helps. */
export async function refreshed(server: URL): Promise<string | undefined> {
  const { client, tokens } = load(server);
  if (!client || !tokens?.refresh) return undefined;
  try {
    const fresh = await askForTokens(client, { grant_type: "refresh_token", refresh_token: tokens.refresh });
    save(server, { client, tokens: { ...fresh, refresh: fresh.refresh ?? tokens.refresh } });
    return fresh.access;
  } catch {
    // Another process may have been faster, and the old token was good once.
    const now = load(server).tokens;
    return now && now.access !== tokens.access ? now.access : undefined;
  }
}

/** True when there was one. */
export function logOut(server: URL): boolean {
  const had = load(server).tokens !== undefined;
  rmSync(fileOf(server), { force: true });
  return had;
}

/** Prints the address to open and resolves when the person came back from it. */
export async function logIn(server: URL, options: LoginOptions): Promise<void> {
  const place = await discover(server);
  const came = Promise.withResolvers<string>();
  using listener = Bun.serve({
    hostname: "127.0.0.1",
    port: options.port,
    fetch: (request) => {
      if (new URL(request.url).pathname !== "/callback") return new Response("Not here.", { status: 404 });
      came.resolve(request.url);
      return new Response("You can close this page and go back to the terminal.");
    },
  });
  const redirectUri = `http://127.0.0.1:${listener.port}/callback`;
  const client = await clientFor(place, redirectUri, options);
  const pending = { client, redirectUri, state: secret(), verifier: secret() };
  save(server, { ...load(server), pending });
  console.log(`Open this address to sign in:\n\n  ${authorizeUrl(place, pending, options.scope).href}\n`);
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () =>
    reject(new Failure("nobody signed in in time; login --callback ADDRESS still finishes this login", 3));
  const timer = setTimeout(late, options.timeoutMs);
  try {
    await finishLogin(server, await Promise.race([came.promise, promise]));
    // The browser gets its page before the listener goes.
    await listener.stop();
  } finally {
    clearTimeout(timer);
  }
}

/** With the address the browser was sent back to, wherever that browser is. */
export async function finishLogin(server: URL, callback: string): Promise<void> {
  const { pending } = load(server);
  if (!pending) throw new Failure("no login has been begun for this server", 3);
  const answer = URL.parse(callback)?.searchParams;
  if (!answer || answer.get("state") !== pending.state)
    throw new Failure("this is not the answer to the login that was begun", 3);
  const refusal = answer.get("error");
  if (refusal)
    throw new Failure(`the login was refused: ${refusal} ${answer.get("error_description") ?? ""}`.trim(), 3);
  const code = answer.get("code");
  if (!code) throw new Failure("the answer carries no code", 3);
  const { client, redirectUri, verifier } = pending;
  const grant = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  save(server, { client, tokens: await askForTokens(client, grant) });
}

interface Place {
  authorize: string;
  token: string;
  register?: string;
  resource: string;
  scope?: string;
}

/** Where to sign in: the server says who gives out its tokens, and that one says at which addresses. */
async function discover(server: URL): Promise<Place> {
  const resource = await describeResource(server);
  const issuer = new URL(textOf((resource.authorization_servers as unknown[] | undefined)?.[0]) ?? server.origin);
  const path = issuer.pathname.replace(/\/$/, "");
  const candidates = [
    `${issuer.origin}/.well-known/oauth-authorization-server${path}`,
    `${issuer.origin}/.well-known/openid-configuration${path}`,
    `${issuer.origin}${path}/.well-known/openid-configuration`,
  ];
  let found: Record<string, unknown> = {};
  for (const candidate of candidates) {
    found = await getJson(candidate);
    if (textOf(found.token_endpoint)) break;
  }
  const methods = found.code_challenge_methods_supported;
  if (Array.isArray(methods) && !methods.includes("S256"))
    throw new Failure("the server's login does not support PKCE (S256)");
  const scopes = resource.scopes_supported;
  return {
    authorize: checked(textOf(found.authorization_endpoint) ?? `${issuer.origin}/authorize`),
    token: checked(textOf(found.token_endpoint) ?? `${issuer.origin}/token`),
    register: checked(
      textOf(found.registration_endpoint) ?? (textOf(found.token_endpoint) ? undefined : `${issuer.origin}/register`),
    ),
    resource: textOf(resource.resource) ?? server.href,
    ...(Array.isArray(scopes) && scopes.length > 0 && { scope: scopes.join(" ") }),
  };
}

async function describeResource(server: URL): Promise<Record<string, unknown>> {
  const asked = await fetch(server, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
    redirect: "manual",
    signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
  });
  await asked.body?.cancel();
  const named = /resource_metadata="([^"]+)"/.exec(asked.headers.get("www-authenticate") ?? "")?.[1];
  const path = server.pathname.replace(/\/$/, "");
  const candidates = [
    ...(named && URL.canParse(named) ? [named] : []),
    `${server.origin}/.well-known/oauth-protected-resource${path}`,
    `${server.origin}/.well-known/oauth-protected-resource`,
  ];
  for (const candidate of candidates) {
    const found = await getJson(candidate);
    if (!Array.isArray(found.authorization_servers)) continue;
    const { resource } = found;
    // Tokens for another server are not ours to fetch.
    if (typeof resource === "string" && URL.parse(resource)?.origin !== server.origin)
      throw new Failure(`the server's description is of another server: ${resource}`);
    return found;
  }
  return {};
}

async function clientFor(place: Place, redirectUri: string, options: LoginOptions): Promise<Client> {
  const shared = { tokenEndpoint: place.token, resource: place.resource };
  if (options.clientId !== undefined)
    return {
      ...shared,
      clientId: options.clientId,
      ...(options.clientSecret && { clientSecret: options.clientSecret }),
    };
  if (place.register === undefined)
    throw new Failure(
      "the server registers no clients by itself: register one with its maker, then give --client-id",
      3,
    );
  const response = await fetch(place.register, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Letta",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    }),
    redirect: "manual",
    signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
  });
  const answer = record(await response.json().catch(() => ({})));
  const clientId = textOf(answer.client_id);
  if (!response.ok || clientId === undefined)
    throw new Failure(`the server did not register a client (HTTP ${response.status}); give --client-id`, 3);
  const clientSecret = textOf(answer.client_secret);
  return { ...shared, clientId, ...(clientSecret && { clientSecret }) };
}

function authorizeUrl(place: Place, { client, redirectUri, state, verifier }: Pending, scope = place.scope): URL {
  const url = new URL(place.authorize);
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const parameters = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    code_challenge_method: "S256",
    resource: client.resource,
    ...(scope && { scope }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

async function askForTokens(client: Client, grant: Record<string, string>): Promise<Tokens> {
  const body = new URLSearchParams({ ...grant, client_id: client.clientId, resource: client.resource });
  if (client.clientSecret) body.set("client_secret", client.clientSecret);
  const response = await fetch(client.tokenEndpoint, {
    method: "POST",
    headers: { accept: "application/json" },
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
  });
  const answer = record(await response.json().catch(() => ({})));
  const access = textOf(answer.access_token);
  if (!response.ok || access === undefined)
    throw new Failure(
      `no token (HTTP ${response.status}): ${textOf(answer.error) ?? "the answer is not understood"}`,
      3,
    );
  const refresh = textOf(answer.refresh_token);
  const seconds = Number(answer.expires_in);
  return { access, ...(refresh && { refresh }), ...(seconds > 0 && { expiresAt: Date.now() + seconds * 1000 }) };
}

/** `{}` when there is nothing to read. */
async function getJson(address: string): Promise<Record<string, unknown>> {
  checked(address);
  const signal = AbortSignal.timeout(HTTP_TIMEOUT_MS);
  const response = await fetch(address, { headers: { accept: "application/json" }, redirect: "manual", signal });
  return response.ok ? record(await response.json().catch(() => ({}))) : {};
}

function checked<Address extends string | undefined>(address: Address): Address {
  const url = address === undefined ? undefined : URL.parse(address);
  if (url === null || (url && !isSafe(url)))
    throw new Failure(`the server names an address that is not https: ${address}`);
  return address;
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

function folder(): string {
  return join(process.env.LETTA_HOME || join(homedir(), ".letta"), "mcp-oauth");
}

function fileOf(server: URL): string {
  return join(folder(), `${createHash("sha256").update(server.href).digest("hex").slice(0, 32)}.json`);
}

function load(server: URL): LoginFile {
  try {
    const file = record(JSON.parse(readFileSync(fileOf(server), "utf8")));
    if (file.server === server.href) return file as unknown as LoginFile;
  } catch {
    /* none, or none that can be used */
  }
  return { server: server.href };
}

function save(server: URL, login: Omit<LoginFile, "server">): void {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  const file = fileOf(server);
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify({ ...login, server: server.href }, null, 2), { mode: 0o600 });
  renameSync(temporary, file);
}
