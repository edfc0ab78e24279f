// Paths as permission checks see them: lexically normalised, and as they really are after following links. Pure except
// for the two that follow links at the end.

import { lstatSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { dirname, isAbsolute, parse, resolve, sep } from "node:path";
import { systemErrorCode } from "@/lib/errors.ts";

/** What a caller knows about where this process works. All absolute. */
export interface PlacesInput {
  home: string;
  cwd: string;
  projectRoot: string | null;
  /** What the user works on besides cwd and project root. */
  additionalDirectories: string[];
  /** Directories outside the workspace that may be read: overflow and background files. */
  readable: string[];
  /** Files that run later without being asked about, such as the scripts of hooks. Default: none. */
  guarded?: string[];
  /** `~/.letta`. */
  lettaRoot: string;
  /** State of agents: nobody's business but the harness's. */
  stores: string[];
  caseInsensitive: boolean;
  /** Follows links of an absolute path, `..` included, also where its last parts do not exist yet. May throw: then the path counts as outside everything. */
  realpath(path: string): string;
}

/** The same with links of the roots already followed. */
export interface Places extends Omit<PlacesInput, "readable" | "stores" | "additionalDirectories" | "guarded"> {
  workspace: Place[];
  readable: Place[];
  stores: Place[];
  /** The deciding agent's own memory, inside the stores. */
  memory(): Place[];
  /** In both shapes, comparable. */
  guarded: ReadonlySet<string>;
  /** `home` and `lettaRoot`, in both shapes, comparable. */
  homes: string[];
  lettaRoots: string[];
  /** Where relative rules start: cwd and project root, in both shapes. */
  bases: string[];
  /** Memo of `match.ts`: absolute patterns of a payload, as segments. */
  patterns: Map<string, string[][]>;
}

export function createPlaces(input: PlacesInput): Places {
  const place = (path: string) => toPlace(path, input.cwd, input);
  const roots = [input.cwd, ...(input.projectRoot === null ? [] : [input.projectRoot])];
  return {
    ...input,
    workspace: [...roots, ...input.additionalDirectories].map(place),
    readable: input.readable.map(place),
    stores: input.stores.map(place),
    memory: () => [],
    guarded: new Set((input.guarded ?? []).map(place).flatMap(bothShapes).map(comparable)),
    homes: bothShapes(place(input.home)).map(comparable),
    lettaRoots: bothShapes(place(input.lettaRoot)).map(comparable),
    bases: [...new Set(roots.map(place).flatMap(bothShapes))],
    patterns: new Map(),
  };
}

function bothShapes({ lexical, real }: Place): string[] {
  return [lexical, real];
}

/** One path in its two shapes; slash-separated. */
export interface Place {
  lexical: string;
  real: string;
}

/** A leading `~` is a name like any other: a shell takes a quoted one so, and tools have expanded theirs already. */
export function toPlace(path: string, base: string, places: Pick<Places, "realpath">): Place {
  // Not normalised for `real`: `link/../x` is beside the link's target, not beside the link.
  const whole = isAbsolute(path) ? path : `${base}/${path}`;
  let real: string;
  try {
    real = places.realpath(whole);
  } catch {
    real = UNRESOLVABLE;
  }
  return { lexical: toSlashes(isNormal(whole) ? whole : resolve(whole)), real: toSlashes(real) };
}

/** Nothing in it for `resolve` to take away. */
function isNormal(path: string): boolean {
  return sep === "/" && path.startsWith("/") && !/\/(?:\.{0,2}\/|\.{0,2}$)/.test(path);
}

/** Inside nothing, matched by no rule: it asks. */
const UNRESOLVABLE = "/\u0000unresolvable";

/** What tools open. Where links could not be followed the name itself is opened, without following any: the system says
 *  what is wrong with it. */
export function toRealPath(lexical: string, real: string): string {
  return real === UNRESOLVABLE ? lexical : real;
}

/** `~`, and as a shell would expand them `$HOME` and `${HOME}`, at the start. */
export function expandHome(path: string, home: string): string {
  return path.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
}

/** Same or below. */
export function isInside(path: string, directory: string, caseInsensitive = false): boolean {
  const [inner, outer] = [fold(path, caseInsensitive), fold(directory, caseInsensitive).replace(/\/$/, "")];
  return inner === outer || inner.startsWith(`${outer}/`);
}

/** In a workspace root by name and in fact. The root directory of the disk is no workspace. */
export function isInWorkspace(place: Place, places: Places): boolean {
  return isInAny(place, places.workspace, places);
}

export function isInAny(place: Place, roots: Place[], { caseInsensitive }: Places): boolean {
  return roots.some(
    ({ lexical, real }) =>
      real !== "/" &&
      (isInside(place.lexical, lexical, caseInsensitive) || isInside(place.lexical, real, caseInsensitive)) &&
      isInside(place.real, real, caseInsensitive),
  );
}

/** Whether volumes usually take names that differ in case for the same. */
export const IGNORES_CASE = process.platform === "darwin" || process.platform === "win32";

/** The same for all spellings of one file, given its real path. */
export function fileKey(real: string): string {
  return fold(real, IGNORES_CASE);
}

/** Equal for names a volume may treat as equal. */
export function fold(path: string, caseInsensitive: boolean): string {
  const composed = path.normalize("NFC");
  return caseInsensitive ? composed.toLowerCase() : composed;
}

/** For names that must be recognised on any volume: case and composition folded, and what Windows ignores at the end of
 *  a name removed. */
export function comparable(path: string): string {
  const folded = path.normalize("NFC").toLowerCase();
  return process.platform === "win32" ? folded.replace(/(?:::[$]data|[. ]+)(?=[/]|$)/g, "") : folded;
}

/** Follows links part by part, as the kernel does. A link whose target does not exist yet still leads there: a write
 *  would create the target. Remembers what it saw, so it must not live longer than one check. `start` is a directory
 *  whose real path is known already; asked for when the first path is followed. */
export function createLinkFollower(findStart?: () => KnownDirectory): (path: string) => string {
  let start: KnownDirectory | undefined;
  const known = new Map<string, string>();
  const follow = (path: string, depth: number): string => {
    if (depth > MAX_LINKS) throw new Error(`too many links: ${path}`);
    const shortcut = start && path.startsWith(`${start.lexical}/`) ? start : null;
    let current = shortcut ? shortcut.real : parse(path).root;
    const links = shortcut?.links;
    for (const part of path.slice(shortcut ? shortcut.lexical.length : current.length).split(SEPARATOR)) {
      if (part === "" || part === ".") continue;
      if (part === "..") current = dirname(current);
      else {
        const candidate = current.endsWith(sep) ? current + part : current + sep + part;
        // Which entries of the start are links is known without looking at each.
        current = links && current === shortcut.real && !links.has(part) ? candidate : step(candidate, depth);
      }
    }
    return current;
  };
  const step = (candidate: string, depth: number): string => {
    let real = known.get(candidate);
    if (real !== undefined) return real;
    if (!lstatOrNull(candidate)?.isSymbolicLink()) real = candidate;
    else {
      const target = readlinkSync(candidate);
      real = follow(isAbsolute(target) ? target : `${dirname(candidate)}/${target}`, depth + 1);
    }
    known.set(candidate, real);
    return real;
  };
  const followed = new Map<string, string>();
  return (path) => {
    start ??= findStart?.();
    if (path === start?.lexical) return start.real;
    const known = followed.get(path);
    if (known !== undefined) return known;
    const real = follow(path, 0);
    followed.set(path, real);
    return real;
  };
}

export interface KnownDirectory extends Place {
  /** Its entries that are links; null when nobody counted them. */
  links: ReadonlySet<string> | null;
}

/** Larger directories are not listed: looking at single entries is cheaper. */
const MAX_LISTED = 1_000;

/** Real path and links of one directory, looked up again only when another directory is found under its name, or an
 *  entry has come or gone. */
export function createDirectoryMemo(directory: string): () => KnownDirectory {
  let memo: { id: string; known: KnownDirectory; until: number } | undefined;
  return () => {
    const stat = statSync(directory, { throwIfNoEntry: false });
    // ctime cannot be set back, unlike mtime.
    const id = stat ? `${stat.dev} ${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs}` : "";
    if (memo === undefined || memo.id !== id || Date.now() > memo.until) {
      // What changed just now may change again without showing it in its time.
      const settledAt = (stat?.ctimeMs ?? 0) + 50;
      const settled = Date.now() > settledAt;
      const real = createLinkFollower()(directory);
      memo = {
        id,
        known: { lexical: directory, real, links: settled ? findLinks(directory) : null },
        until: settled ? Number.POSITIVE_INFINITY : settledAt,
      };
    }
    return memo.known;
  };
}

/** Null where names are not compared byte by byte. */
function findLinks(directory: string): Set<string> | null {
  if (process.platform !== "linux") return null;
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    if (entries.length > MAX_LISTED) return null;
    const links = entries.filter((entry) => !entry.isFile() && !entry.isDirectory());
    return new Set(links.map(({ name }) => name));
  } catch {
    return null; // Not ours to read.
  }
}

const SEPARATOR = process.platform === "win32" ? /[/\\]/ : "/";

/** What kernels follow before they give up. */
const MAX_LINKS = 40;

function lstatOrNull(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (systemErrorCode(error) === "ENOTDIR") return null;
    throw error;
  }
}

function toSlashes(path: string): string {
  return process.platform === "win32" ? path.replace(/^\\\\\?\\/, "").replaceAll("\\", "/") : path;
}
