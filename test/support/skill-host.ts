// The machines that skills come from, on one loopback port: GitHub's list of refs and archives, ClawHub, and addresses
// that misbehave. What it is asked for is remembered.

import { createServer, type Socket } from "node:net";
import { makeTarball, type TarEntry } from "./archives.ts";

export interface SkillHost extends AsyncDisposable {
  /** For LETTA_SKILL_MIRROR. */
  url: string;
  port: number;
  /** Paths, with their queries. */
  requests: string[];
  /** Resolves once the path was asked for. */
  asked(path: string): Promise<void>;
  /** Answers by path: changed while it runs as a test likes. */
  routes: Map<string, Route>;
  /** A repository whose branches and tags are commits with these files. */
  addRepository(name: string, refs: Record<string, { commit: string; files: readonly TarEntry[] }>): void;
}

export type Route =
  | { status?: number; body?: string | Uint8Array; type?: string; location?: string }
  /** Claims this length, sends the beginning and hangs up. */
  | { cutAfter: string; claimed: number }
  /** Sends a beginning and then nothing. */
  | { stallAfter: string }
  /** Sends the same again and again, without an end. */
  | { endless: string };

export async function startSkillHost(): Promise<SkillHost> {
  const routes = new Map<string, Route>();
  const requests: string[] = [];
  const waiting = new Set<() => void>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.once("data", (head) => {
      const path = /^GET (\S+)/.exec(head.toString("latin1"))?.[1] ?? "";
      requests.push(path);
      for (const look of waiting) look();
      answer(socket, routes.get(path) ?? { status: 404, body: "no" });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    requests,
    routes,
    asked: (path) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!requests.includes(path)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    addRepository(name, refs) {
      routes.set(`/github.com/${name}.git/info/refs?service=git-upload-pack`, { body: refList(refs) });
      for (const { commit, files } of Object.values(refs)) {
        const top = `${name.replace("/", "-")}-${commit.slice(0, 7)}`;
        const entries = files.map((file) => ({ ...file, name: `${top}/${file.name}` }));
        const body = makeTarball([
          { name: "pax_global_header", type: "g", data: `52 comment=${commit}\n` },
          { name: `${top}/`, mode: 0o040755 },
          ...entries,
        ]);
        routes.set(`/codeload.github.com/${name}/tar.gz/${commit}`, { body, type: "application/x-gzip" });
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(socket: Socket, route: Route): void {
  if ("cutAfter" in route) {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${route.claimed}\r\n\r\n${route.cutAfter}`, () =>
      socket.destroy(),
    );
  } else if ("stallAfter" in route) {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${route.stallAfter}`);
  } else if ("endless" in route) {
    socket.write("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
    const chunk = route.endless.repeat(Math.ceil(65_536 / route.endless.length));
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", more);
    more();
  } else {
    const { body = "", type = "text/plain", location, status = location === undefined ? 200 : 302 } = route;
    const bytes = Buffer.from(body as Uint8Array);
    const lines = [
      `HTTP/1.1 ${status} X`,
      `content-type: ${type}`,
      `content-length: ${bytes.length}`,
      "connection: close",
      ...(location === undefined ? [] : [`location: ${location}`]),
    ];
    socket.end(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), bytes]));
  }
}

/** As git's protocol lists them; HEAD is the first. */
function refList(refs: Record<string, { commit: string }>): string {
  const frame = (line: string): string => (line.length + 4).toString(16).padStart(4, "0") + line;
  const [first] = Object.values(refs);
  const lines = Object.entries(refs).map(([ref, { commit }]) => frame(`${commit} refs/${ref}\n`));
  const head = first ? [frame(`${first.commit} HEAD\0multi_ack symref=HEAD:refs/heads/main agent=git/2\n`)] : [];
  return [frame("# service=git-upload-pack\n"), "0000", ...head, ...lines, "0000"].join("");
}
