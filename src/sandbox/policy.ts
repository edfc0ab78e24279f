// What a confined command may touch, as data: which paths are writable, readable or hidden, and whether there is a
// network. The most specific path wins. Renderers (bwrap.ts, seatbelt.ts, landlock.ts) turn it into what a kernel
// understands; they read nothing and decide nothing.

export type SandboxProfile = "workspace" | "strict" | "memory-subagent";

/** From least to most. */
export type Access = "hidden" | "read" | "write";

export interface PathRule {
  /** Absolute, links followed, no slash at the end. */
  path: string;
  access: Access;
  kind: "file" | "directory";
}

export interface SandboxPolicy {
  profile: SandboxProfile;
  network: "on" | "off";
  /** Parents before children. The first is `/`, readable. */
  rules: PathRule[];
  /** Names that must not come into being. They do not exist when the policy is made. */
  absent: string[];
  /** Of these, the ones that programs read and would stumble over if a directory held them. */
  absentFiles: string[];
  /** Names that must not come into being but cannot be held by something in their place: removed afterwards. */
  unholdable: string[];
  /** Directories that must not turn into git repositories themselves, which their contents could make them. */
  neverBare: string[];
  /** Git directories there are below the writable roots, and files that lead to one, as far as was looked. */
  repositories: string[];
  /** Named pipes outside. A read-only mount does not keep writers from them. */
  pipes: string[];
  /** Private directory for temporary files, writable; it is also `/tmp` where paths can be redirected. */
  tmp: string;
}

/** Parents first, one rule per path: the last one given. */
export function sortRules(rules: PathRule[]): PathRule[] {
  const byPath = new Map(rules.map((rule) => [rule.path, rule]));
  return [...byPath.values()].sort((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1));
}

/** What the most specific rule says about a path. */
export function accessOf(path: string, rules: PathRule[]): Access {
  return rules.findLast((rule) => isBeneath(path, rule.path))?.access ?? "hidden";
}

/** Same or below. */
export function isBeneath(path: string, directory: string): boolean {
  return path === directory || directory === "/" || path.startsWith(`${directory}/`);
}

/** The writable roots as people know them: without the directories that are named only to pin them, temporary files
 *  last. */
export function writableRoots({ rules, tmp }: Pick<SandboxPolicy, "rules" | "tmp">): string[] {
  const writable = rules.filter(({ access, path }) => access === "write" && path !== tmp).map(({ path }) => path);
  const roots = writable.filter((path) => !writable.some((other) => other !== path && isBeneath(path, other)));
  return [...roots, tmp];
}

function depth(path: string): number {
  return path === "/" ? 0 : path.split("/").length - 1;
}

/** Directories between `from` and `to`, both excluded, outermost first. */
export function directoriesBetween(from: string, to: string): string[] {
  const names = to.slice(from === "/" ? 1 : from.length + 1).split("/");
  return names.slice(1).map((_, index) => `${from === "/" ? "" : from}/${names.slice(0, index + 1).join("/")}`);
}
