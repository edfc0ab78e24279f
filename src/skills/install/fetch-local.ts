// A skill that lies on this machine: a folder, an archive, or a SKILL.md (which means its folder).

import { constants, type Dirent } from "node:fs";
import { lstat, open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LettaError, systemReason } from "@/lib/errors.ts";
import { readArchive } from "./archive.ts";
import { MAX_ARCHIVE_BYTES } from "./limits.ts";
import { pickSkill, type SkillPick } from "./pick.ts";
import { collectFiles, type SourceEntry, tooMuch, unsafe } from "./skill-files.ts";
import { isArchiveName } from "./spec.ts";

/** How deep, and in how many folders, skills are looked for that could have been meant. */
const SUGGESTED_DEPTH = 3;
const SUGGESTED_FOLDERS = 500;

export async function fetchLocal(path: string): Promise<SkillPick> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return await fetchFolder(path);
    if (found.isFile() && /^skill\.md$/i.test(basename(path))) return await fetchFolder(dirname(path));
    if (found.isFile() && isArchiveName(path)) return await fetchArchive(path, found.size);
  } catch (cause) {
    if (cause instanceof LettaError) throw cause;
    throw new LettaError("not_found", `cannot read ${path}: ${systemReason(cause)}`, { cause });
  }
  throw new LettaError("usage", `${path} is no skill`, {
    hint: "A skill is a folder with a SKILL.md, or such a folder as .zip, .skill or .tar.gz.",
  });
}

export async function readLocalFile(path: string, maxBytes: number): Promise<Uint8Array> {
  // Neither a link nor a pipe that took the file's place meanwhile.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const info = await file.stat();
    if (!info.isFile()) throw unsafe(`${path} is no file`);
    if (info.size > maxBytes) throw tooMuch(`${path} grew while it was read`);
    const bytes = Buffer.alloc(info.size);
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return bytes.subarray(0, filled);
  } finally {
    await file.close();
  }
}

/** What lies in the folder, links and all, without what git keeps there. */
export async function* walkFolder(root: string, prefix = ""): AsyncGenerator<SourceEntry> {
  const entries = await readdir(join(root, prefix), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === ".git") continue;
    const path = `${prefix}${entry.name}`;
    const file = join(root, path);
    const { size, mode } = await lstat(file);
    yield { path, kind: kindOf(entry), size, executable: (mode & 0o111) !== 0, read: () => readLocalFile(file, size) };
    if (entry.isDirectory()) yield* walkFolder(root, `${path}/`);
  }
}

async function fetchFolder(path: string): Promise<SkillPick> {
  // The folder itself may be a link; nothing in it may.
  const root = await realpath(path);
  const names = await readdir(root);
  const hasText = names.some((name) => /^skill\.md$/i.test(name));
  if (!hasText && !names.includes("package.json")) {
    const skills = await findSkills(root);
    return pickSkill({ files: [], skills, problem: null }, { place: path, name: basename(root), mayGuess: false });
  }
  const collected = await collectFiles(hasText ? walkFolder(root) : onlyManifest(root));
  if (!hasText) collected.skills = await findSkills(root);
  return pickSkill(collected, { place: path, name: basename(root), mayGuess: false });
}

/** A package without a skill in it may be a mod. */
async function* onlyManifest(root: string): AsyncGenerator<SourceEntry> {
  const path = "package.json";
  const file = join(root, path);
  const info = await lstat(file);
  if (info.isFile())
    yield { path, kind: "file", size: info.size, executable: false, read: () => readLocalFile(file, info.size) };
}

async function fetchArchive(path: string, size: number): Promise<SkillPick> {
  if (size > MAX_ARCHIVE_BYTES) throw tooMuch(`${path} is larger than ${MAX_ARCHIVE_BYTES / 1024 / 1024} MiB`);
  if (size === 0) throw unsafe("the archive is empty");
  const bytes = await readLocalFile(await realpath(path), MAX_ARCHIVE_BYTES);
  return pickSkill(await collectFiles(readArchive(bytes)), { place: path, name: archiveStem(path), mayGuess: true });
}

/** The name without what says that it is an archive. */
export function archiveStem(path: string): string {
  return basename(path).replace(/\.(?:zip|skill|tgz|tar\.gz)$/i, "");
}

async function findSkills(root: string): Promise<string[]> {
  const found: string[] = [];
  const queue = [{ path: ".", depth: 0 }];
  for (let looked = 0; looked < SUGGESTED_FOLDERS; looked++) {
    const next = queue.shift();
    if (!next) break;
    const entries = await readdir(join(root, next.path), { withFileTypes: true }).catch(() => []);
    if (next.depth > 0 && entries.some((entry) => entry.isFile() && /^skill\.md$/i.test(entry.name))) {
      found.push(next.path);
      continue;
    }
    if (next.depth === SUGGESTED_DEPTH) continue;
    const folders = entries.filter((entry) => entry.isDirectory() && !/^(?:\.git|node_modules)$/.test(entry.name));
    queue.push(...folders.map(({ name }) => ({ path: join(next.path, name), depth: next.depth + 1 })));
  }
  return found;
}

function kindOf(entry: Dirent): SourceEntry["kind"] {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "special";
}
