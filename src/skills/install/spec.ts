// What somebody typed after `letta install`, understood by its form alone: nothing is looked up, so that the same words
// always mean the same place.

import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { LettaError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { parseUrl } from "./download.ts";

export type InstallSpec =
  /** A folder, an archive or a SKILL.md on this machine; absolute. */
  | { kind: "local"; path: string }
  /** An archive to download. */
  | { kind: "archive"; url: string }
  /** One SKILL.md to download. */
  | { kind: "text"; url: string }
  /** `ref` null: the default branch. `branchAndPath`: where a branch ends and a path begins is for the repository to say. */
  | { kind: "github"; owner: string; repo: string; ref: string | null; path: string }
  | { kind: "github_tree"; owner: string; repo: string; branchAndPath: string[] }
  | { kind: "clawhub"; slug: string; version: string | null };

export interface SpecContext {
  /** Absolute; relative paths begin here. */
  cwd: string;
  /** What `~` means. */
  home: string;
}

/** Throws `usage` with what could have been meant. */
export function parseInstallSpec(text: string, { cwd, home }: SpecContext): InstallSpec {
  const spec = text.trim();
  if (spec === "" || spec.includes("\0")) throw notUnderstood(spec);
  return (
    parseLocal(spec, cwd, home) ??
    refuseMods(spec) ??
    parseClawhub(spec) ??
    parseOfficial(spec) ??
    (/^[a-z][a-z0-9+.-]*:/i.test(spec) ? parseAddress(spec) : parseShorthand(spec)) ??
    fail(spec)
  );
}

/** So that it can be parsed again, from wherever. */
export function formatSpec(spec: InstallSpec): string {
  switch (spec.kind) {
    case "local":
      return spec.path;
    case "archive":
    case "text":
      return spec.url;
    case "github":
      return `${[spec.owner, spec.repo, spec.path].filter(Boolean).join("/")}${spec.ref === null ? "" : `@${spec.ref}`}`;
    case "github_tree":
      return `https://github.com/${spec.owner}/${spec.repo}/tree/${spec.branchAndPath.map(encodeURIComponent).join("/")}`;
    case "clawhub":
      return `clawhub:${spec.slug}${spec.version === null ? "" : `@${spec.version}`}`;
  }
}

export function isArchiveName(name: string): boolean {
  return /\.(?:zip|skill|tgz|tar\.gz)$/i.test(name);
}

export function modsComeLater(what: string): LettaError {
  return new LettaError("usage", `${what} is a mod, not a skill: mods come later`, {
    hint: "Skills are installed from a folder (./DIR), an archive, OWNER/REPO/PATH, a SKILL.md address or clawhub:SLUG.",
  });
}

const OWNER = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$/;
const REPO = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/;
const REF = /^[A-Za-z0-9][A-Za-z0-9._/+-]{0,200}$/;
const SLUG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$/;
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,60}$/;
/** What `official/…` stands for. */
const OFFICIAL = { owner: "NousResearch", repo: "hermes-agent", folder: "optional-skills" };

/** Before everything else: `./a/b` is no repository. */
function parseLocal(spec: string, cwd: string, home: string): InstallSpec | null {
  if (/^file:/i.test(spec)) {
    try {
      return { kind: "local", path: fileURLToPath(new URL(spec)) };
    } catch (cause) {
      throw new LettaError("usage", `${escapeDeceptive(spec)} names no file on this machine`, { cause });
    }
  }
  if (spec === "~" || spec.startsWith("~/")) return { kind: "local", path: join(home, spec.slice(1)) };
  if (/^(?:\.{1,2}(?:[/\\]|$)|\/|[A-Za-z]:[/\\])/.test(spec)) return { kind: "local", path: resolve(cwd, spec) };
  return null;
}

function refuseMods(spec: string): null {
  if (/^(?:npm|git|git\+[a-z]+|ssh):|^git@/i.test(spec)) throw modsComeLater(escapeDeceptive(spec));
  return null;
}

function parseClawhub(spec: string): InstallSpec | null {
  const named = /^clawhub[:/](.*)$/.exec(spec);
  if (named) {
    const [slug = "", version = null, ...more] = named[1]!.split("@");
    return more.length === 0 ? clawhub(slug, version, spec) : fail(spec);
  }
  if (!/^https:\/\/(?:www\.)?clawhub\.ai\//i.test(spec)) return null;
  const url = parseUrl(spec);
  const segments = url.pathname.split("/").filter(Boolean);
  if (segments[0] === "skills" && segments.length > 1) segments.shift();
  return segments.length === 1 ? clawhub(segments[0]!, url.searchParams.get("version"), spec) : fail(spec);
}

function clawhub(slug: string, version: string | null, spec: string): InstallSpec {
  if (!SLUG.test(slug) || (version !== null && !VERSION.test(version))) return fail(spec);
  return { kind: "clawhub", slug, version };
}

function parseOfficial(spec: string): InstallSpec | null {
  const path = /^official\/(.+)$/.exec(spec)?.[1];
  if (path === undefined) return null;
  const { owner, repo, folder } = OFFICIAL;
  return { kind: "github", owner, repo, ref: null, path: `${folder}/${checkPath(path.split("/"), spec)}` };
}

function parseAddress(spec: string): InstallSpec | null {
  const url = parseUrl(spec);
  if (/^(?:www\.)?github\.com$/i.test(url.hostname)) return parseGithub(url, spec);
  url.hash = "";
  if (/\/skill\.md$/i.test(url.pathname)) return { kind: "text", url: url.href };
  if (isArchiveName(url.pathname)) return { kind: "archive", url: url.href };
  return null;
}

function parseGithub(url: URL, spec: string): InstallSpec {
  const [owner = "", repoAndRef = "", form, ...rest] = decodeSegments(url.pathname, spec);
  if (form === undefined) {
    const [repo = "", ref = null] = split(repoAndRef, "@");
    return github({ owner, repo, ref, path: "" }, spec);
  }
  const name = { owner, repo: withoutGit(repoAndRef) };
  if (!OWNER.test(name.owner) || !REPO.test(name.repo)) return fail(spec);
  if (form === "blob" && !/^skill\.md$/i.test(rest.pop() ?? "")) return fail(spec);
  if ((form !== "tree" && form !== "blob") || rest.length === 0) return fail(spec);
  checkPath(rest, spec);
  return { kind: "github_tree", ...name, branchAndPath: rest };
}

/** `owner/repo`, `owner/repo/path`, each with `@ref`. */
function parseShorthand(spec: string): InstallSpec | null {
  const [place = "", ref = null] = split(spec, "@");
  const [owner = "", repo = "", ...path] = place.replace(/\/+$/, "").split("/");
  if (repo === "" || isArchiveName(spec)) return null;
  return github({ owner, repo, ref, path: path.length === 0 ? "" : checkPath(path, spec) }, spec);
}

function github(
  { owner, repo, ref, path }: { owner: string; repo: string; ref: string | null; path: string },
  spec: string,
): InstallSpec {
  const name = withoutGit(repo);
  if (!OWNER.test(owner) || !REPO.test(name)) return fail(spec);
  if (ref !== null && (!REF.test(ref) || ref.includes(".."))) return fail(spec);
  return { kind: "github", owner, repo: name, ref, path };
}

function checkPath(segments: string[], spec: string): string {
  if (segments.at(-1)?.toLowerCase() === "skill.md") segments.pop();
  const isPlain = segments.every((part) => !["", ".", ".."].includes(part) && !/[/\\\x00-\x1f\x7f]/.test(part));
  return isPlain ? segments.join("/") : fail(spec);
}

function decodeSegments(pathname: string, spec: string): string[] {
  try {
    return pathname.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return fail(spec); // A `%` that begins nothing.
  }
}

/** At the last mark, when there is one. */
function split(text: string, mark: string): [string] | [string, string] {
  const at = text.lastIndexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function withoutGit(repo: string): string {
  return repo.replace(/\.git$/, "");
}

function fail(spec: string): never {
  throw notUnderstood(spec);
}

function notUnderstood(spec: string): LettaError {
  const shown = escapeDeceptive(spec).slice(0, 200);
  const isBare = /^[\w.-]+(?:[/\\][\w.-]+)*$/.test(spec);
  return new LettaError("usage", `"${shown}" does not say where a skill is`, {
    hint: `${isBare ? `A folder or file on this machine is written ./${shown}. ` : ""}Else: OWNER/REPO/PATH, a GitHub tree address, https://…/SKILL.md, an archive, or clawhub:SLUG.`,
  });
}
