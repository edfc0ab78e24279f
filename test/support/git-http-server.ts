// A smart HTTP server on loopback: real `git http-backend`, with Basic auth, and with faults on request.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Socket } from "bun";
import { git } from "./git-repos.ts";

export interface GitHttpServer extends Disposable {
  /** `http://127.0.0.1:port` */
  origin: string;
  /** `origin/name.git`; its files are at `dir`. */
  url: string;
  /** Of the bare repository. */
  dir: string;
  requests: { method: string; path: string; authorization: string | null; headers: Headers }[];
  /** Asked before git is; undefined lets the request through. */
  intercept: ((request: Request) => Response | undefined | Promise<Response | undefined>) | null;
  /** Of what `git http-backend` answers. */
  alter: ((request: Request, response: Response) => Response | Promise<Response>) | null;
}

export function serveGit(root: string, { token = null as string | null, name = "state.git" } = {}): GitHttpServer {
  const dir = join(root, name);
  mkdirSync(dir, { recursive: true });
  git(dir, ["init", "-q", "--bare", "-b", "main"]);
  const requests: GitHttpServer["requests"] = [];
  const expected = token === null ? null : `Basic ${Buffer.from(`letta:${token}`).toString("base64")}`;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const authorization = request.headers.get("authorization");
      requests.push({ method: request.method, path: pathname + search, authorization, headers: request.headers });
      const fault = await served.intercept?.(request);
      if (fault) return fault;
      if (expected !== null && authorization !== expected) {
        return new Response("no", { status: 401, headers: { "www-authenticate": 'Basic realm="git"' } });
      }
      const response = await backend(root, request);
      return served.alter ? await served.alter(request, response) : response;
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const served: GitHttpServer = {
    origin,
    url: `${origin}/${name}`,
    dir,
    requests,
    intercept: null,
    alter: null,
    [Symbol.dispose]: () => void server.stop(true),
  };
  return served;
}

/** Another address of the server whose connections end after so many bytes of an answer; null lets everything through. */
export function cutConnections(origin: string): Disposable & { origin: string; after: number | null; cuts: number } {
  const target = new URL(origin);
  type Peer = { upstream: Promise<Socket<undefined>>; passed: number };
  const proxy = { origin: "", after: null as number | null, cuts: 0, [Symbol.dispose]: () => listener.stop(true) };
  const listener = Bun.listen<Peer>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        const upstream = Bun.connect({
          hostname: target.hostname,
          port: Number(target.port),
          socket: {
            data(_, bytes) {
              const left = proxy.after === null ? bytes.length : proxy.after - socket.data.passed;
              socket.write(bytes.subarray(0, left));
              socket.data.passed += bytes.length;
              if (left >= bytes.length) return;
              proxy.cuts++;
              socket.flush();
              socket.end();
            },
            close: () => void socket.end(),
          },
        });
        socket.data = { upstream, passed: 0 };
      },
      data: async (socket, bytes) => void (await socket.data.upstream).write(bytes),
      close: async (socket) => void (await socket.data.upstream).end(),
    },
  });
  proxy.origin = `http://127.0.0.1:${listener.port}`;
  return proxy;
}

/** CGI: the request in the environment and on stdin, header lines and body on stdout. */
async function backend(root: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const child = Bun.spawn(["git", "http-backend"], {
    env: {
      PATH: process.env.PATH!,
      HOME: root,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REMOTE_USER: "letta",
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers.get("content-type") ?? "",
      GIT_PROTOCOL: request.headers.get("git-protocol") ?? "",
    },
    stdin: await request.arrayBuffer().then((body) => new Uint8Array(body)),
    stdout: "pipe",
    stderr: "ignore",
  });
  const answer = Buffer.from(await new Response(child.stdout).arrayBuffer());
  const end = answer.indexOf("\r\n\r\n");
  const headers = new Headers();
  let status = 200;
  for (const line of answer.subarray(0, end).toString().split("\r\n")) {
    const [name, value] = [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()];
    if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
    else headers.set(name, value);
  }
  return new Response(answer.subarray(end + 4), { status, headers });
}
