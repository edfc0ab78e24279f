// The scripts of converting-mcps-to-skills, run by the binary: with nothing else on PATH, against a server that is a
// program and one that has an address.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isPidAlive } from "@/lib/process-stat.ts";
import { runLetta, spawnLetta, type TempHome, tempHome } from "../support/binary.ts";

const SCRIPTS = join(import.meta.dir, "../../skills/converting-mcps-to-skills/scripts");

let home: TempHome;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => home[Symbol.dispose]());

describe("a server that is a program", () => {
  const SERVER = [process.execPath, join(import.meta.dir, "../support/mcp-stdio-server.ts")];
  const stdio = (args: string[], env: Record<string, string> = {}, server = SERVER, stdin?: string) =>
    runLetta(["script", join(SCRIPTS, "mcp-stdio.ts"), ...args, "--", ...server], {
      home,
      env: { PATH: "/nowhere", ...env },
      ...(stdin !== undefined && { stdin }),
    });

  test("its tools, of all pages", async () => {
    expect(await stdio(["tools"])).toMatchObject({
      stdout: "tool_1  Number 1.\ntool_2  Number 2.\n",
      stderr: "",
      exitCode: 0,
    });
    expect((await stdio(["tool", "tool_2"])).stdout).toBe('tool_2\n\nNumber 2.\nMore.\n\n{\n  "type": "object"\n}\n');
  });

  test("a call: arguments, environment and folder; our secrets stay here, pings are answered", async () => {
    const args = ["call", "state", '{"a":1}', "--env", "GIVEN=x-$MY_TOKEN", "--cwd", home.path];
    const { stdout, exitCode } = await stdio(args, { MY_TOKEN: "t0", OTHER_KEY: "k" });
    const state = { pid: expect.any(Number), pinged: true, secrets: [], token: "x-t0", cwd: home.path, args: { a: 1 } };
    expect([JSON.parse(stdout), exitCode]).toEqual([state, 0]);
    const piped = await stdio(["call", "state", "-"], {}, SERVER, '{"b":2}');
    expect(JSON.parse(piped.stdout).args).toEqual({ b: 2 });
  });

  test("what a tool gives back beside text", async () => {
    expect((await stdio(["call", "image"])).stdout).toBe("[image/png, 3 bytes; --out DIR writes it to a file]\n");
    const out = join(home.path, "out");
    expect((await stdio(["call", "image", "--out", out])).stdout).toBe(`[image/png: ${join(out, "1.png")}]\n`);
    expect(readFileSync(join(out, "1.png"), "utf8")).toBe("PNG");
  });

  test.each([
    [["call", "fails"], {}, "no such page", 1],
    [["call", "missing"], {}, "unknown tool missing (code -32602)", 1],
    [["tool", "missing"], {}, "no tool missing; there are: tool_1, tool_2", 1],
    [["call", "silent", "--timeout", "1s"], {}, "no answer to tools/call in time", 1],
    [["tools"], { MCP_BEHAVIOUR: "crash" }, "(exit code 9)\n  cannot open the database", 1],
    [["call", "state", "[1]"], {}, "must be a JSON object", 2],
    [["call", "state", "--env", "A=$NOT_SET"], {}, "the variable NOT_SET is not set", 2],
    [["list"], {}, "expected tools, tool NAME or call NAME", 2],
    [["tools", "--nope"], {}, "Unknown option '--nope'", 2],
    [["tools", "--timeout", "soon"], {}, "--timeout must be like", 2],
  ] as const)("%j %j: %s", async (args, env, message, exitCode) => {
    const passed = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
    const run = await stdio([...args, ...passed]);
    expect(run.stdout + run.stderr).toContain(message);
    expect(run.exitCode).toBe(exitCode);
  });

  test("a program that is not there, or not named", async () => {
    expect(await stdio(["tools"], {}, ["/nowhere/server"])).toMatchObject({ exitCode: 1 });
    expect(await stdio(["tools"], {}, [])).toMatchObject({ exitCode: 2 });
  });

  test("a server that does not want to end is ended", async () => {
    const { stdout, exitCode } = await stdio(["call", "state", "--env", "MCP_BEHAVIOUR=stays"]);
    expect(exitCode).toBe(0);
    expect(isPidAlive(JSON.parse(stdout).pid)).toBe(false);
  });
});

describe("a server that has an address", () => {
  interface Seen {
    method: string;
    rpc?: string;
    headers: Headers;
  }
  interface Rpc {
    id?: number;
    method?: string;
    params?: { arguments?: { query: string } };
  }
  interface Server extends Disposable {
    url: string;
    seen: Seen[];
    /** The token that is accepted now. Null: no login is wanted. */
    token: string | null;
    /** Parameters of token requests. */
    grants: Record<string, string>[];
    register: boolean;
  }

  /** Answers calls as an event stream and the rest as JSON, as a server may. */
  function startServer(): Server {
    const seen: Seen[] = [];
    const grants: Record<string, string>[] = [];
    const codes = new Map<string, string>();
    const http = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const { pathname, origin, searchParams } = new URL(request.url);
        if (pathname === "/.well-known/oauth-protected-resource/mcp")
          return Response.json({
            resource: `${origin}/mcp`,
            authorization_servers: [`${origin}/login`],
            scopes_supported: ["read"],
          });
        if (pathname === "/.well-known/oauth-authorization-server/login")
          return Response.json({
            authorization_endpoint: `${origin}/authorize`,
            token_endpoint: `${origin}/token`,
            ...(server.register && { registration_endpoint: `${origin}/register` }),
            code_challenge_methods_supported: ["S256"],
          });
        if (pathname === "/register") return Response.json({ client_id: "client-7" }, { status: 201 });
        if (pathname === "/authorize") {
          const code = `code-${codes.size}`;
          codes.set(code, searchParams.get("code_challenge") ?? "");
          const back = new URL(searchParams.get("redirect_uri") ?? "");
          back.searchParams.set("code", code);
          back.searchParams.set("state", searchParams.get("state") ?? "");
          return Response.redirect(back.href, 302);
        }
        if (pathname === "/token") {
          const grant = Object.fromEntries(new URLSearchParams(await request.text()));
          grants.push(grant);
          const challenge = createHash("sha256")
            .update(grant.code_verifier ?? "")
            .digest("base64url");
          const good =
            grant.grant_type === "refresh_token"
              ? grant.refresh_token === "refresh-1"
              : codes.get(grant.code ?? "") === challenge;
          if (!good) return Response.json({ error: "invalid_grant" }, { status: 400 });
          server.token = `token-${grants.length}`;
          return Response.json({ access_token: server.token, refresh_token: "refresh-1", expires_in: 3600 });
        }
        if (pathname === "/moved") return Response.redirect(`${origin}/mcp`, 307);
        if (pathname !== "/mcp") return new Response("not here", { status: 404 });
        const { id, method, params } = request.method === "POST" ? await (request.json() as Promise<Rpc>) : {};
        seen.push({ method: request.method, ...(method && { rpc: method }), headers: request.headers });
        const authorization = request.headers.get("authorization");
        if (server.token !== null && authorization !== `Bearer ${server.token}`)
          return new Response("who?", { status: 401 });
        if (request.method === "DELETE") return new Response(null, { status: 204 });
        if (id === undefined) return new Response(null, { status: 202 });
        const answer = (result: object) => ({ jsonrpc: "2.0", id, result });
        if (method === "initialize")
          return Response.json(answer({ protocolVersion: "2025-03-26", capabilities: {} }), {
            headers: { "mcp-session-id": "s1" },
          });
        if (method === "tools/list")
          return Response.json(answer({ tools: [{ name: "search", description: "Finds pages." }] }));
        const text = `${params?.arguments?.query}: ü`;
        const bytes = Buffer.from(
          `: hello\r\nevent: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\r\n\r\n` +
            `data: ${JSON.stringify(answer({ content: [{ type: "text", text }] })).replace(',"result"', ',\r\ndata: "result"')}\r\n\r\n`,
        );
        // In single bytes: split letters, split line ends.
        const body = new ReadableStream({
          start(stream) {
            for (const byte of bytes) stream.enqueue(new Uint8Array([byte]));
            stream.close();
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const server: Server = {
      url: `http://127.0.0.1:${http.port}/mcp`,
      seen,
      grants,
      token: null,
      register: true,
      [Symbol.dispose]: () => void http.stop(true),
    };
    return server;
  }

  const script = join(SCRIPTS, "mcp-http.ts");
  const http = (args: string[], env: Record<string, string> = {}) =>
    runLetta(["script", script, ...args], { home, env: { PATH: "/nowhere", ...env } });

  let server: Server;
  beforeEach(() => {
    server = startServer();
  });
  afterEach(() => server[Symbol.dispose]());

  /** Signs in as a browser would; resolves when the script has ended. */
  async function logIn() {
    await using login = await spawnLetta(["script", script, "login", server.url], { home });
    const [address] = await login.waitFor("stdout", /http:\S+\/authorize\S+/);
    expect((await fetch(address)).status).toBe(200);
    return await login.exited;
  }

  test("tools and calls: session, version and headers go along, and the session is ended", async () => {
    expect(await http(["tools", server.url])).toMatchObject({
      stdout: "search  Finds pages.\n",
      stderr: "",
      exitCode: 0,
    });
    const args = ["call", server.url, "search", '{"query":"bun"}', "--header", "X-Key: k-$MY_KEY"];
    expect(await http(args, { MY_KEY: "1" })).toMatchObject({ stdout: "bun: ü\n", stderr: "", exitCode: 0 });
    const rows = server.seen
      .slice(-4)
      .map(({ method, rpc, headers }) => [
        method,
        rpc,
        headers.get("mcp-session-id"),
        headers.get("mcp-protocol-version"),
        headers.get("x-key"),
      ]);
    expect(rows).toEqual([
      ["POST", "initialize", null, null, "k-1"],
      ["POST", "notifications/initialized", "s1", "2025-03-26", "k-1"],
      ["POST", "tools/call", "s1", "2025-03-26", "k-1"],
      ["DELETE", undefined, "s1", "2025-03-26", "k-1"],
    ]);
  });

  test("a login: found, registered, proven, kept for its owner only, forgotten", async () => {
    server.token = "first";
    expect(await http(["tools", server.url])).toMatchObject({
      stdout: "",
      stderr: `error: a login is needed (401): run login ${server.url}, or give --header\n`,
      exitCode: 3,
    });
    const done = await logIn();
    expect(done).toMatchObject({ exitCode: 0, stderr: "" });
    expect(done.stdout).toEndWith("Logged in.\n");
    expect(server.grants).toEqual([
      {
        grant_type: "authorization_code",
        code: "code-0",
        redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
        code_verifier: expect.stringMatching(/^[\w-]{43}$/),
        client_id: "client-7",
        resource: server.url,
      },
    ]);
    const folder = join(home.path, ".letta/mcp-oauth");
    const [file] = readdirSync(folder);
    expect([statSync(folder).mode & 0o777, statSync(join(folder, file!)).mode & 0o777]).toEqual([0o700, 0o600]);
    const used = await http(["tools", server.url]);
    expect(used).toMatchObject({ stdout: "search  Finds pages.\n", exitCode: 0 });
    expect(done.stdout + used.stdout).not.toContain("token-1");

    expect((await http(["logout", server.url])).stdout).toBe("Forgotten.\n");
    expect(existsSync(join(folder, file!))).toBe(false);
    expect(await http(["tools", server.url])).toMatchObject({ exitCode: 3 });
  });

  test("a token that is not accepted any more is renewed once", async () => {
    server.token = "first";
    await logIn();
    server.token = "rotated";
    expect(await http(["tools", server.url])).toMatchObject({ stdout: "search  Finds pages.\n", exitCode: 0 });
    expect(server.grants.at(-1)).toEqual({
      grant_type: "refresh_token",
      refresh_token: "refresh-1",
      client_id: "client-7",
      resource: server.url,
    });
  });

  test("a browser on another machine: the address it ended at finishes the login", async () => {
    server.token = "first";
    await using login = await spawnLetta(["script", script, "login", server.url, "--timeout", "1s"], { home });
    const [address] = await login.waitFor("stdout", /http:\S+\/authorize\S+/);
    const back = (await fetch(address, { redirect: "manual" })).headers.get("location") ?? "";
    expect(await login.exited).toMatchObject({ exitCode: 3 });
    const wrong = back.replace(/state=[^&]+/, "state=other");
    expect(await http(["login", server.url, "--callback", wrong])).toMatchObject({ exitCode: 3 });
    expect(await http(["login", server.url, "--callback", back])).toMatchObject({
      stdout: "Logged in.\n",
      exitCode: 0,
    });
    expect(await http(["tools", server.url])).toMatchObject({ exitCode: 0 });
  });

  test("a client that cannot register itself is named", async () => {
    server.token = "first";
    server.register = false;
    const refused = await http(["login", server.url]);
    expect(refused.stderr).toContain("give --client-id");
    expect(refused.exitCode).toBe(3);
    await using login = await spawnLetta(
      ["script", script, "login", server.url, "--client-id", "mine", "--client-secret", "$MINE", "--scope", "write"],
      { home, env: { MINE: "s3" } },
    );
    const [address] = await login.waitFor("stdout", /http:\S+\/authorize\S+/);
    expect(Object.fromEntries(new URL(address).searchParams)).toMatchObject({ client_id: "mine", scope: "write" });
    await fetch(address);
    await login.exited;
    expect(server.grants[0]).toMatchObject({ client_id: "mine", client_secret: "s3" });
  });

  test("no key goes where nobody sent it", async () => {
    const moved = server.url.replace("/mcp", "/moved");
    const run = await http(["tools", moved, "--header", "Authorization: Bearer k"]);
    expect(run.stderr).toContain(`redirects to ${server.url}`);
    expect(server.seen).toEqual([]);
    expect(await http(["tools", "http://example.com/mcp"])).toMatchObject({
      stderr: "error: http is only for this machine; use https\n",
      exitCode: 2,
    });
  });

  test.each([
    [["tools"], "the server's URL is missing", 2],
    [["tools", "nonsense"], '"nonsense" is no http(s) address', 2],
    [["tools", "https://u:p@x.test/mcp"], "no password in the address", 2],
    [["tools", "URL", "--header", "nothing"], "--header must be like", 2],
    [["tools", "OTHER"], "HTTP 404: not here. Is ", 1],
    [["login", "URL", "more"], "unexpected: more", 2],
    [["login", "URL", "--callback", "http://127.0.0.1/callback?code=1"], "no login has been begun", 3],
  ] as const)("%j: %s", async (args, message, exitCode) => {
    const words = args.map((word) => word.replace(/^URL$/, server.url).replace(/^OTHER$/, `${server.url}/none`));
    const run = await http(words);
    expect(run.stderr).toContain(message);
    expect(run.exitCode).toBe(exitCode);
  });
});

test.each(["mcp-http.ts", "mcp-stdio.ts"])("%s explains itself", async (name) => {
  const help = await runLetta(["script", join(SCRIPTS, name), "--help"], { home });
  expect(help.stdout).toContain("Exit codes:");
  expect([help.exitCode, (await runLetta(["script", join(SCRIPTS, name)], { home })).exitCode]).toEqual([0, 2]);
});
