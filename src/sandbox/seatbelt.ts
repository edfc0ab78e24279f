// A policy as a profile for macOS's sandbox-exec. The last rule that matches wins, so rules go parents first here too.
// Paths are parameters: nothing in them can become part of the language.

import type { SandboxPolicy } from "./policy.ts";

/** Never looked up on PATH. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** Everything before the command. */
export function renderSeatbelt(policy: SandboxPolicy): string[] {
  const parameters = new Map<string, string>();
  const name = (path: string): string => {
    const known = parameters.get(path) ?? `PATH_${parameters.size}`;
    parameters.set(path, known);
    return `(param "${known}")`;
  };
  const text = [
    "(version 1)",
    "(allow default)",
    '(deny file-write* (subpath "/"))',
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath "/dev/fd"))',
    ...policy.rules.filter(({ path }) => path !== "/").flatMap((rule) => pathRule(rule, name(rule.path))),
    ...[...policy.absent, ...policy.unholdable, ...policy.neverBare.map((path) => `${path}/HEAD`)].map(
      (path) => `(deny file-write* (subpath ${name(path)}))`,
    ),
    // Replacing a directory on the way would put an unprotected one in its place.
    ...pinned(policy).map((path) => `(deny file-write-unlink (literal ${name(path)}))`),
    // Other programs obey whoever reaches their sockets; another process could be told to act for this one.
    ...(policy.network === "off" ? ["(deny network*)"] : ["(deny network* (remote unix-socket))"]),
    "(deny process-info* (target others))",
    // Other programs start things outside on request.
    "(deny appleevent-send)",
    "(deny lsopen)",
    "(deny job-creation)",
  ].join("\n");
  const definitions = [...parameters].map(([path, parameter]) => `-D${parameter}=${path}`);
  return [SANDBOX_EXEC, "-p", text, ...definitions, "--"];
}

function pathRule({ access, kind }: SandboxPolicy["rules"][number], parameter: string): string[] {
  const target = `(${kind === "file" ? "literal" : "subpath"} ${parameter})`;
  if (access === "write") return [`(allow file-read* file-write* ${target})`];
  if (access === "read") return [`(allow file-read* ${target})`, `(deny file-write* ${target})`];
  return [`(deny file-read* file-write* ${target})`, `(allow file-read-metadata (literal ${parameter}))`];
}

function pinned({ rules }: SandboxPolicy): string[] {
  return rules.filter(({ access, path }) => access === "write" && path !== "/").map(({ path }) => path);
}
