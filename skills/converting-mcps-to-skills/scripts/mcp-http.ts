// Uses the tools of an MCP server that has an address (Streamable HTTP), and signs in where it asks for that.

import { expand, readAction, readCommandLine, readTimeout, runProgram } from "./command-line.ts";
import { accessToken, finishLogin, isSafe, logIn, logOut, refreshed } from "./oauth.ts";
import { answerServer, Failure, type Message, PROTOCOL_VERSION, perform, record, type Transport } from "./session.ts";

const HELP = `
Use the tools of an MCP server that has an address (Streamable HTTP).

  mcp-http.ts tools URL                          names and what they do
  mcp-http.ts tool URL NAME                      one tool with its parameters
  mcp-http.ts call URL NAME [JSON|@FILE|-]       run one; arguments default to {}
  mcp-http.ts login URL                          print an address for a person to open, and wait for them
  mcp-http.ts login URL --callback ADDRESS       the same login, with the address their browser ended at
  mcp-http.ts logout URL                         forget the login

Options:
  --header 'NAME: VALUE'  May be repeated. $NAME in the value is read from the environment
  --timeout TIME          For each answer, like 90s or 2m (default 60s); for login, until the person is done (default 5m)
  --json                  The server's whole answer
  --out DIR               Write images and sounds there
  --scope TEXT            login: ask for this (default: what the server names)
  --client-id ID          login: where the server registers no clients by itself
  --client-secret $NAME   login: its secret, by the name of a variable
  --port N                login: port of the address the browser comes back to (default: any)

Logins are kept in ~/.letta/mcp-oauth (0600).
Exit codes: 0 done, 1 the server or the tool failed, 2 wrong usage, 3 a login is needed
`;

const OPTIONS = {
  header: "list",
  timeout: "string",
  json: "flag",
  out: "string",
  scope: "string",
  callback: "string",
  "client-id": "string",
  "client-secret": "string",
  port: "string",
} as const;
const MAX_ERROR_CHARS = 500;

await runProgram(HELP, async (argv) => {
  const line = readCommandLine(argv, OPTIONS);
  const [kind, address, ...rest] = line.words;
  if (address === undefined) throw new Failure("the server's URL is missing; --help explains", 2);
  const url = readUrl(address);
  if ((kind === "login" || kind === "logout") && rest.length > 0) throw new Failure(`unexpected: ${rest.join(" ")}`, 2);
  if (kind === "logout") {
    console.log(logOut(url) ? "Forgotten." : "There was no login.");
    return 0;
  }
  if (kind === "login") {
    const callback = line.text("callback");
    const secret = line.text("client-secret");
    if (callback !== undefined) await finishLogin(url, callback);
    else
      await logIn(url, {
        scope: line.text("scope"),
        clientId: line.text("client-id"),
        ...(secret !== undefined && { clientSecret: expand(secret) }),
        port: readPort(line.text("port")),
        timeoutMs: readTimeout(line.text("timeout") ?? "5m"),
      });
    console.log("Logged in.");
    return 0;
  }
  const action = readAction([kind ?? "", ...rest]);
  const headers = readHeaders(line.list("header"));
  const transport = new HttpTransport(url, headers, readTimeout(line.text("timeout")));
  return perform(transport, action, { json: line.flag("json"), out: line.text("out") });
});

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw new Failure(`"${text}" is no http(s) address`, 2);
  if (!isSafe(url)) throw new Failure("http is only for this machine; use https", 2);
  if (url.username || url.password) throw new Failure("no password in the address; use --header", 2);
  return url;
}

function readPort(text = "0"): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Failure(`--port must be a port, not "${text}"`, 2);
  return port;
}

function readHeaders(given: string[]): Headers {
  const headers = new Headers();
  for (const text of given) {
    const [, name, value] = /^([\w-]+):\s*(.+)$/.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new Failure("--header must be like 'Authorization: Bearer $TOKEN'", 2);
    headers.set(name, expand(value));
  }
  return headers;
}

class HttpTransport implements Transport {
  #sessionId: string | null = null;
  #version: string | null = null;

  constructor(
    private readonly url: URL,
    private readonly headers: Headers,
    private readonly timeoutMs: number,
  ) {}

  agreed(version: string): void {
    this.#version = version;
  }

  async send(message: Message): Promise<Message | undefined> {
    let response = await this.#post(message, await accessToken(this.url));
    if (response.status === 401 && !this.headers.has("authorization")) {
      const token = await refreshed(this.url);
      if (token !== undefined) response = await this.#post(message, token);
    }
    this.#sessionId ??= response.headers.get("mcp-session-id");
    if (!response.ok) throw await this.#failure(response);
    if (message.id === undefined || response.status === 202) {
      await response.body?.cancel();
      return undefined;
    }
    const type = response.headers.get("content-type") ?? "";
    if (type.includes("application/json")) {
      const body: unknown = await response.json();
      const all = (Array.isArray(body) ? body : [body]).map((value) => record(value) as Message);
      return all.find(({ id }) => id === message.id);
    }
    if (!type.includes("text/event-stream") || !response.body)
      throw new Failure(`the server answered with ${type || "nothing"}; is ${this.url.href} its MCP address?`);
    return this.#answerIn(response.body, message.id);
  }

  async close(): Promise<void> {
    if (this.#sessionId === null) return;
    // A server may not know how to end a session; then it ends by itself.
    const token = await accessToken(this.url);
    await fetch(this.url, {
      method: "DELETE",
      headers: this.#head(token),
      signal: AbortSignal.timeout(5000),
      redirect: "manual",
    }).catch(() => {});
  }

  async #answerIn(body: ReadableStream<Uint8Array>, id: Message["id"]): Promise<Message | undefined> {
    for await (const data of serverEvents(body)) {
      let message: Message;
      try {
        message = record(JSON.parse(data)) as Message;
      } catch {
        continue; // Not for us.
      }
      if (message.id === id && message.method === undefined) return message;
      const reply = answerServer(message);
      if (reply) await this.#post(reply, await accessToken(this.url));
    }
    return undefined;
  }

  #post(message: Message, token: string | undefined): Promise<Response> {
    // Redirects are not followed: headers with keys go where the user said, and nowhere else.
    return fetch(this.url, {
      method: "POST",
      headers: this.#head(token),
      body: JSON.stringify(message),
      redirect: "manual",
      signal: AbortSignal.timeout(this.timeoutMs),
    });
  }

  #head(token: string | undefined): Headers {
    const headers = new Headers(this.headers);
    headers.set("content-type", "application/json");
    headers.set("accept", "application/json, text/event-stream");
    if (this.#sessionId !== null) headers.set("mcp-session-id", this.#sessionId);
    if (this.#version !== null) headers.set("mcp-protocol-version", this.#version);
    if (token !== undefined && !headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
    return headers;
  }

  async #failure(response: Response): Promise<Failure> {
    const { status } = response;
    const said = (await response.text()).slice(0, MAX_ERROR_CHARS).trim();
    if (status === 401)
      return this.headers.has("authorization")
        ? new Failure("the server does not accept the Authorization header (401)", 3)
        : new Failure(`a login is needed (401): run login ${this.url.href}, or give --header`, 3);
    if (status >= 300 && status < 400)
      return new Failure(
        `the server redirects to ${response.headers.get("location")}; use that address if it is right`,
      );
    const hint =
      status === 404 || status === 405
        ? ` Is ${this.url.href} the MCP address, protocol ${PROTOCOL_VERSION} (not plain SSE)?`
        : "";
    return new Failure(`HTTP ${status}${said ? `: ${said}` : ""}.${hint}`);
  }
}

/** The data of each event of a text/event-stream. */
async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    // A CR at the end may be half a line end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      else if (line === "" && data.length > 0) {
        yield data.join("\n");
        data = [];
      }
    }
  }
  if (data.length > 0) yield data.join("\n");
}
