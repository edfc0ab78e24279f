// A WebSocket as something that can be watched, stopped and waited for like a shell command.

import { ToolError } from "@/lib/errors.ts";
import type { RunningShell } from "./shell.ts";

const MAX_FRAME_CHARS = 1024 * 1024;
/** RFC 6455 takes the tokens of HTTP. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Throws ToolError for what is no address of a WebSocket. */
export function parseSocketUrl({ url, protocols }: { url: string; protocols: string[] }): URL {
  if (!/^[\x21-\x7e]+$/.test(url) || !URL.canParse(url)) throw new ToolError(`Not a WebSocket address: ${url}`);
  const parsed = new URL(url);
  if (parsed.protocol !== "ws:" && parsed.protocol !== "wss:")
    throw new ToolError(`Not a WebSocket address (ws: or wss:): ${url}`);
  if (parsed.username !== "" || parsed.password !== "")
    throw new ToolError("A WebSocket address with a user name is refused.");
  if (new Set(protocols).size < protocols.length || protocols.some((protocol) => !TOKEN.test(protocol)))
    throw new ToolError("WebSocket protocols must be different tokens.");
  return parsed;
}

/** Each text frame is passed on as a line; frames of bytes are only mentioned. */
export function watchSocket(url: URL, protocols: string[], onLine: (line: string) => void): RunningShell {
  const socket = new WebSocket(url.href, protocols);
  const exited = Promise.withResolvers<number>();
  socket.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") return onLine("[a frame of bytes]");
    if (data.length > MAX_FRAME_CHARS) return socket.close(1009, "too large");
    onLine(data.replaceAll("\n", " "));
  });
  socket.addEventListener("close", ({ code }) => exited.resolve(code === 1000 || code === 1005 ? 0 : code));
  socket.addEventListener("error", () => exited.resolve(1));
  return {
    confined: false,
    pid: 0,
    exited: exited.promise,
    closed: exited.promise.then(() => {}),
    explain: () => null,
    kill: async () => {
      socket.close();
      // A far side that never answers the closing must not keep us.
      exited.resolve(0);
    },
  };
}
