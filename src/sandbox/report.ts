// Whether a command failed because of the sandbox, said in one line that tells the model what it may do instead.

import { basename } from "node:path";
import { accessOf, type SandboxPolicy, writableRoots } from "./policy.ts";

/** Start of what is printed when the sandbox itself could not be set up. */
export const SETUP_FAILED = "sandbox setup failed";

type Blocked = "write" | "read" | "network" | "outside servers";

// Words of messages, and the numbers that stand in them whatever the language.
const READ_ONLY = /read-only file system|EROFS|\[Errno 30\]|os error 30\b/i;
const DENIED =
  /permission denied|operation not permitted|read-only file system|EACCES|EPERM|EROFS|PermissionError|\[Errno (?:1|13|30)\]|os error (?:1|13|30)\b/i;
const NETWORK_DOWN =
  /could not resolve|couldn't connect|failed to connect|name resolution|name or service not known|network is unreachable|no route to host|unable to resolve|getaddrinfo|dial (?:tcp|udp|unix)|failed to open tcp|dns error|UnknownHost|ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTFOUND|\[Errno (?:101|113|-2|-3)\]|os error (?:101|113)\b/i;
/** Of these, what is said by nobody but who tried. */
const NETWORK_TRIED =
  /network is unreachable|failure in name resolution|curl: \((?:6|7)\)|ENETUNREACH|EAI_AGAIN|\[Errno (?:101|-3)\]|os error 101\b/i;
const REFUSED = /connection refused|ECONNREFUSED/i;
const SOCKET_DENIED = /\bsocket\b[\s\S]{0,400}(?:permission|not permitted)/i;
/** Programs that may be told to say nothing, and what they end with when they reach nobody. */
const SILENT: readonly [program: RegExp, exitCodes: readonly number[]][] = [
  [/\bcurl\b/, [6, 7]],
  [/\bwget\b/, [4]],
  [/\b(?:ssh|scp|sftp)\b/, [255]],
];
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
  /** What ran, as far as it is known. */
  command?: string;
}

/** Null when nothing looks like the sandbox's doing. */
export function explainFailure(end: CommandEnd, policy: SandboxPolicy): string | null {
  const what = findBlocked(end, policy);
  if (what === null) return null;
  const network = policy.network === "off" ? "; network: off" : "";
  const roots = writableRoots(policy).join(", ");
  const blocked =
    what === "outside servers"
      ? "may have blocked network (servers outside are out of reach, also those of this machine)"
      : `likely blocked ${what}`;
  return `[sandbox:${policy.profile}] ${blocked}; allowed roots: ${roots}${network}; outside_sandbox asks for more`;
}

/** What is there after a command and was not before. */
export interface Leftovers {
  /** Taken away again. */
  removed: string[];
  /** Repositories in which git would have started something, and does not any more. */
  disarmed: string[];
  /** Git directories, and files that lead to one. */
  repositories: string[];
}

export function explainLeftovers(
  { removed, disarmed, repositories }: Leftovers,
  { profile }: Pick<SandboxPolicy, "profile">,
) {
  const parts = [
    ...(removed.length > 0 ? [`removed ${removed.join(", ")}, which git would obey`] : []),
    ...(disarmed.length > 0
      ? [
          `new git repository with hooks or settings that start programs: ${disarmed.join(", ")}; git does not use it until a person, having looked at them, renames its HEAD (or the .git file) back from *.held`,
        ]
      : []),
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

function findBlocked({ exitCode, output, command = "" }: CommandEnd, policy: SandboxPolicy): Blocked | null {
  // A long output's reason stands at its end.
  const tail = output.slice(-REASON_CHARS);
  if (exitCode === 0) return findSurvived(tail, policy);
  if (exitCode === SIGSYS_EXIT) return "network";
  const isOff = policy.network === "off";
  if (isOff && NETWORK_DOWN.test(tail)) return "network";
  if (SOCKET_DENIED.test(tail)) return "network";
  if (isOff && SILENT.some(([program, codes]) => codes.includes(exitCode) && program.test(command))) return "network";
  const isDenied = DENIED.test(tail) || HELD.test(tail);
  const names = isDenied || MASKED.test(tail) ? (tail.match(NAME) ?? []) : [];
  // A hidden directory may look empty instead of closed.
  if (names.some((name) => isHidden(name, policy))) return "read";
  if (names.some((name) => policy.absent.some((path) => path === name || basename(path) === name))) return "write";
  if (isDenied) return "write";
  return isOff && REFUSED.test(tail) ? "outside servers" : null;
}

/** The command went on after something was refused (`… || true`), or printed such words for another reason: only what
 *  hardly anything else says counts, or a refusal in one line with a place that is hidden. */
function findSurvived(tail: string, policy: SandboxPolicy): Blocked | null {
  if (policy.network === "off" && NETWORK_TRIED.test(tail)) return "network";
  for (const line of tail.split("\n")) {
    if (!DENIED.test(line)) continue;
    const names = (line.match(NAME) ?? []).filter((name) => name.startsWith("/"));
    if (names.some((name) => isHidden(name, policy))) return "read";
    if (READ_ONLY.test(line) && names.some((name) => accessOf(name, policy.rules) !== "write")) return "write";
  }
  return null;
}

function isHidden(name: string, policy: SandboxPolicy): boolean {
  return name.startsWith("/") && accessOf(name, policy.rules) === "hidden";
}
