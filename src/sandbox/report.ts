// Whether a command failed because of the sandbox, said in one line that tells the model what it may do instead.

import { basename } from "node:path";
import { accessOf, type SandboxPolicy, writableRoots } from "./policy.ts";

/** Start of what is printed when the sandbox itself could not be set up. */
export const SETUP_FAILED = "sandbox setup failed";

type Blocked = "write" | "read" | "network";

const DENIED = /permission denied|operation not permitted|read-only file system|EACCES|EPERM|EROFS|PermissionError/i;
const NETWORK_DOWN =
  /could not resolve|couldn't connect|failed to connect|name resolution|name or service not known|network is unreachable|unable to resolve|getaddrinfo|dial (?:tcp|udp|unix)|ENETUNREACH|EAI_AGAIN|ENOTFOUND/i;
const SOCKET_DENIED = /\bsocket\b[\s\S]{0,400}(?:permission|not permitted)/i;
/** What moving a held directory, or linking out of one, says. */
const HELD = /device or resource busy|invalid cross-device link/i;
/** What lies in place of something hidden or held says. */
const MASKED = /no such file|is a directory|file exists|ENOENT|EISDIR|EEXIST/i;
/** Names in messages, quoted in the ways of different programs. */
const NAME = /(?:\.{0,2}\/)?[\w.+@-]+(?:\/[\w.+@-]+)*/g;

const REASON_CHARS = 8_000;
const SIGSYS_EXIT = 128 + 31;

export interface CommandEnd {
  exitCode: number;
  output: string;
}

/** Null when nothing looks like the sandbox's doing. */
export function explainFailure(end: CommandEnd, policy: SandboxPolicy): string | null {
  const what = findBlocked(end, policy);
  if (what === null) return null;
  const network = policy.network === "off" ? "; network: off" : "";
  const roots = writableRoots(policy).join(", ");
  return `[sandbox:${policy.profile}] likely blocked ${what}; allowed roots: ${roots}${network}; outside_sandbox asks for more`;
}

/** What is there after a command and was not before. */
export interface Leftovers {
  /** Taken away again. */
  removed: string[];
  /** Git directories. */
  repositories: string[];
}

export function explainLeftovers({ removed, repositories }: Leftovers, { profile }: Pick<SandboxPolicy, "profile">) {
  const parts = [
    ...(removed.length > 0 ? [`removed ${removed.join(", ")}, which git would obey`] : []),
    ...(repositories.length > 0
      ? [
          `new git repository: ${repositories.join(", ")}; its hooks and settings are not protected before the next command`,
        ]
      : []),
  ];
  return parts.length === 0 ? null : `[sandbox:${profile}] ${parts.join("; ")}`;
}

/** The reason, when it was the sandbox itself that could not start. */
export function findSetupFailure({ exitCode, output }: CommandEnd): string | null {
  if (exitCode === 0) return null;
  const line = output.trimStart().split("\n", 1)[0] ?? "";
  if (line.startsWith("bwrap: ") && exitCode === 1) return line.slice("bwrap: ".length);
  return line.startsWith(`${SETUP_FAILED}: `) && exitCode === 125 ? line.slice(SETUP_FAILED.length + 2) : null;
}

function findBlocked({ exitCode, output }: CommandEnd, policy: SandboxPolicy): Blocked | null {
  if (exitCode === 0) return null;
  if (exitCode === SIGSYS_EXIT) return "network";
  // A long output's reason stands at its end.
  const tail = output.slice(-REASON_CHARS);
  if (policy.network === "off" && NETWORK_DOWN.test(tail)) return "network";
  if (SOCKET_DENIED.test(tail)) return "network";
  const isDenied = DENIED.test(tail) || HELD.test(tail);
  if (!isDenied && !MASKED.test(tail)) return null;
  const names = tail.match(NAME) ?? [];
  // A hidden directory may look empty instead of closed.
  if (names.some((name) => name.startsWith("/") && accessOf(name, policy.rules) === "hidden")) return "read";
  if (names.some((name) => policy.absent.some((path) => path === name || basename(path) === name))) return "write";
  return isDenied ? "write" : null;
}
