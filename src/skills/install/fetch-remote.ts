// Skills of other machines: of a GitHub repository (one folder of its archive, at a commit that is written down), of
// ClawHub, or what an address holds.

import { basename } from "node:path";
import * as v from "valibot";
import { LettaError } from "@/lib/errors.ts";
import { createGitHttp } from "@/store/git/http-client.ts";
import { readArchive, readTarball } from "./archive.ts";
import { download, withDownload } from "./download.ts";
import { archiveStem } from "./fetch-local.ts";
import type { SkillHosts } from "./hosts.ts";
import { MAX_ARCHIVE_BYTES, MAX_REPOSITORY_BYTES, MAX_TEXT_BYTES } from "./limits.ts";
import { pickSkill, type SkillPick } from "./pick.ts";
import { collectFiles, unsafe } from "./skill-files.ts";
import type { InstallSpec } from "./spec.ts";

export interface FetchContext {
  hosts: SkillHosts;
  signal?: AbortSignal;
  /** Without a byte arriving, and all in all. Defaults: limits.ts. */
  stallMs?: number;
  totalMs?: number;
}

export interface RemotePick extends SkillPick {
  /** What exactly was taken: a commit, a version. */
  resolvedRef: string | null;
}

/** Null: what `known` names is still what one would get. */
export async function fetchGithub(
  spec: Extract<InstallSpec, { kind: "github" | "github_tree" }>,
  context: FetchContext,
  known: string | null,
): Promise<RemotePick | null> {
  const { owner, repo } = spec;
  const { commit, path, ref } = await resolveGithub(spec, context);
  if (commit === known) return null;
  const place = [owner, repo, path].filter(Boolean).join("/");
  const url = `${context.hosts.archives}/${owner}/${repo}/tar.gz/${commit}`;
  const collected = await withDownload(url, { ...context, maxBytes: MAX_REPOSITORY_BYTES }, ({ chunks }) =>
    // GitHub puts everything into a folder named after repository and commit.
    collectFiles(readTarball(chunks), (entry) => below(entry.slice(entry.indexOf("/") + 1), entry, path)),
  );
  const picked = pickSkill(collected, {
    place: ref === null ? place : `https://github.com/${owner}/${repo}/tree/${ref}${path && `/${path}`}`,
    name: basename(path || repo),
    mayGuess: false,
  });
  return { ...picked, resolvedRef: commit };
}

export async function fetchClawhub(
  { slug, version }: Extract<InstallSpec, { kind: "clawhub" }>,
  context: FetchContext,
  known: string | null,
): Promise<RemotePick | null> {
  const wanted = version ?? (await latestVersion(slug, context));
  if (wanted === known) return null;
  const query = new URLSearchParams({ slug, version: wanted });
  const url = `${context.hosts.clawhub}/api/v1/download?${query}`;
  const { bytes } = await download(url, { ...context, maxBytes: MAX_ARCHIVE_BYTES });
  const collected = await collectFiles(readArchive(bytes));
  return { ...pickSkill(collected, { place: `clawhub:${slug}`, name: slug, mayGuess: true }), resolvedRef: wanted };
}

export async function fetchArchiveUrl(url: string, context: FetchContext): Promise<RemotePick> {
  const { bytes } = await download(url, { ...context, maxBytes: MAX_ARCHIVE_BYTES });
  const collected = await collectFiles(readArchive(bytes));
  const name = archiveStem(new URL(url).pathname);
  return { ...pickSkill(collected, { place: url, name, mayGuess: true }), resolvedRef: null };
}

export async function fetchText(url: string, context: FetchContext): Promise<RemotePick> {
  const { bytes, type } = await download(url, { ...context, maxBytes: MAX_TEXT_BYTES });
  if (type === "text/html") throw unsafe(`${url} is a web page`);
  return { files: [{ path: "SKILL.md", content: bytes, executable: false }], folder: null, resolvedRef: null };
}

interface GithubPlace {
  commit: string;
  path: string;
  /** Null: whatever the default branch is. */
  ref: string | null;
}

async function resolveGithub(
  spec: Extract<InstallSpec, { kind: "github" | "github_tree" }>,
  { hosts, signal, totalMs }: FetchContext,
): Promise<GithubPlace> {
  const url = `${hosts.github}/${spec.owner}/${spec.repo}.git`;
  const http = createGitHttp({
    headers: {},
    origin: new URL(url).origin,
    signal,
    maxBytes: MAX_ARCHIVE_BYTES,
    ...(totalMs !== undefined && { timeoutMs: totalMs }),
  });
  const refs = await http.listRefs(url, "git-upload-pack").catch((error: unknown) => {
    throw withoutTokens(error, `${spec.owner}/${spec.repo}`);
  });
  if (spec.kind === "github") {
    const commit = spec.ref === null ? refs.get("HEAD") : findRef(refs, spec.ref);
    if (commit) return { commit, path: spec.path, ref: spec.ref };
    throw noRef(spec.ref ?? "HEAD", spec);
  }
  // The longest one that exists: branches may have slashes in their names.
  const words = spec.branchAndPath;
  for (let count = words.length; count > 0; count--) {
    const ref = words.slice(0, count).join("/");
    const commit = findRef(refs, ref);
    if (commit) return { commit, path: words.slice(count).join("/"), ref };
  }
  throw noRef(words[0]!, spec);
}

/** A branch, a tag (what it points to), or a commit by its whole name. */
function findRef(refs: ReadonlyMap<string, string>, name: string): string | undefined {
  const found = refs.get(`refs/heads/${name}`) ?? refs.get(`refs/tags/${name}^{}`) ?? refs.get(`refs/tags/${name}`);
  return found ?? (/^[0-9a-f]{40}$/.test(name) ? name : undefined);
}

function noRef(ref: string, { owner, repo }: { owner: string; repo: string }): LettaError {
  return new LettaError("not_found", `${owner}/${repo} has no branch or tag ${ref}`);
}

/** The words for it speak of memory's own remotes. */
function withoutTokens(error: unknown, repository: string): unknown {
  if (!(error instanceof LettaError) || (error.code !== "auth" && error.code !== "not_found")) return error;
  return new LettaError("not_found", `There is no public repository ${repository}`, {
    cause: error,
    hint: "A private one has to be cloned; then install the folder: letta install ./DIR",
  });
}

/** The entry's path from the wanted folder. `inside`: without GitHub's own folder. */
function below(inside: string, entry: string, path: string): string | null {
  if (!entry.includes("/")) return null;
  if (path === "") return inside;
  return inside.startsWith(`${path}/`) ? inside.slice(path.length + 1) : null;
}

const VersionSchema = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,60}$/));
/** Three forms have been seen. */
const ClawhubSchema = v.union([
  v.pipe(
    v.object({ latestVersion: v.object({ version: VersionSchema }) }),
    v.transform(({ latestVersion }) => latestVersion.version),
  ),
  v.pipe(
    v.object({ skill: v.object({ latestVersion: VersionSchema }) }),
    v.transform(({ skill }) => skill.latestVersion),
  ),
  v.pipe(
    v.object({ tags: v.object({ latest: VersionSchema }) }),
    v.transform(({ tags }) => tags.latest),
  ),
]);

async function latestVersion(slug: string, context: FetchContext): Promise<string> {
  const url = `${context.hosts.clawhub}/api/v1/skills/${slug}`;
  const { bytes } = await download(url, { ...context, maxBytes: MAX_TEXT_BYTES });
  try {
    return v.parse(ClawhubSchema, JSON.parse(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new LettaError("invalid_data", `ClawHub does not say which version of ${slug} is the latest`, { cause });
  }
}
