// The files of a skill on their way into a memory: held here, judged by name and size, before anything touches the disk.
// A name that is fine on one system and means something else on another is refused everywhere.

import { LettaError } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { formatCount } from "@/lib/text.ts";
import {
  MAX_ENTRIES,
  MAX_PATH_CHARS,
  MAX_PATH_DEPTH,
  MAX_SKILL_BYTES,
  MAX_SKILL_FILES,
  MAX_TEXT_BYTES,
} from "./limits.ts";

export interface SkillFile {
  /** Relative to the skill's folder, `/` between segments. */
  path: string;
  content: Uint8Array;
  executable: boolean;
}

/** One thing in an archive or a folder, as it says of itself. */
export interface SourceEntry {
  path: string;
  kind: "file" | "folder" | "link" | "special";
  /** Bytes, as claimed. */
  size: number;
  executable: boolean;
  /** Throws when it is not as claimed. Called at most once, and before the next entry is asked for. */
  read(): Promise<Uint8Array> | Uint8Array;
}

/** Everything at or below a folder of a source. */
export interface Collected {
  /** Paths relative to that folder. */
  files: SkillFile[];
  /** Folders with a SKILL.md, `.` for the folder itself. */
  skills: string[];
  /** The first thing that forbids installing what was collected. What is wrong elsewhere does not matter. */
  problem: LettaError | null;
}

/** Written by us beside a skill; what comes with one is not believed. */
export const PROVENANCE_NAME = ".letta-skill.json";

/** `toPath`: the entry's path below the wanted folder; null when it is not in there. */
export async function collectFiles(
  entries: AsyncIterable<SourceEntry> | Iterable<SourceEntry>,
  toPath: (path: string) => string | null = (path) => path,
): Promise<Collected> {
  const collected: Collected = { files: [], skills: [], problem: null };
  const guard = new FileGuard();
  let count = 0;
  try {
    for await (const entry of entries) {
      if (++count > MAX_ENTRIES) throw tooMuch(`it holds more than ${formatCount(MAX_ENTRIES)} files and folders`);
      const path = toPath(entry.path.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, ""));
      if (path !== null && path !== "" && path !== "." && !isJunk(path)) await collect(collected, guard, entry, path);
    }
  } catch (error) {
    // What was said first is why.
    if (!(error instanceof UnsafeSkill && collected.problem)) throw error;
  }
  return collected;
}

async function collect(collected: Collected, guard: FileGuard, entry: SourceEntry, path: string): Promise<void> {
  const skill = entry.kind === "file" ? /^(?:(.*)\/)?skill\.md$/i.exec(path) : null;
  if (skill && isPlainPath(path)) collected.skills.push(skill[1] ?? ".");
  // What is too much or dangerous is not kept, but the rest is still looked at: maybe a folder in it is meant.
  if (collected.problem) return;
  try {
    guard.admit({ ...entry, path });
    if (entry.kind === "file") {
      collected.files.push({ path, content: await entry.read(), executable: entry.executable });
    }
  } catch (error) {
    if (!(error instanceof UnsafeSkill)) throw error;
    collected.problem = error;
    collected.files = [];
  }
}

/** Of one folder in what was collected; its own names are the shorter ones. */
export function filesBelow(files: readonly SkillFile[], folder: string): SkillFile[] {
  if (folder === ".") return [...files];
  return files.flatMap((file) =>
    file.path.startsWith(`${folder}/`) ? [{ ...file, path: file.path.slice(folder.length + 1) }] : [],
  );
}

/** Hex; of names and contents, in whatever order they come. */
export function digestFiles(files: readonly Pick<SkillFile, "path" | "content">[]): string {
  const lines = files
    .filter(({ path }) => path !== PROVENANCE_NAME)
    .map(({ path, content }) => `${sha256(content)}  ${path}\n`);
  return sha256(lines.sort().join(""));
}

/** It must not be installed, whoever asks. */
export class UnsafeSkill extends LettaError {
  override name = "UnsafeSkill";
}

/** Judges the entries of one skill, one after the other. */
class FileGuard {
  #files = 0;
  #bytes = 0;
  /** Folded as disks fold names → the name, and whether files lie below it. */
  readonly #names = new Map<string, { path: string; isFolder: boolean }>();

  admit({ path, kind, size }: SourceEntry): void {
    const shown = escapeDeceptive(path.slice(0, MAX_PATH_CHARS));
    const why = whyUnsafe(path);
    if (why) throw unsafe(`${shown}: ${why}`);
    if (kind === "link") throw unsafe(`${shown} is a link, and could lead anywhere`);
    if (kind === "special") throw unsafe(`${shown} is neither a file nor a folder`);
    this.#claimName(path, kind === "folder");
    if (kind === "folder") return;
    this.#files += 1;
    this.#bytes += size;
    if (this.#files > MAX_SKILL_FILES) throw tooMuch(`it has more than ${formatCount(MAX_SKILL_FILES)} files`);
    if (!(this.#bytes <= MAX_SKILL_BYTES)) {
      throw tooMuch(`it is larger than ${MAX_SKILL_BYTES / 1024 / 1024} MiB (at ${shown})`);
    }
    if (size > MAX_TEXT_BYTES && /(?:^|\/)skill\.md$/i.test(path)) {
      throw tooMuch(`${shown} is larger than ${MAX_TEXT_BYTES / 1024 / 1024} MiB`);
    }
  }

  /** Two names that are one on some disk, and a file where another needs a folder. */
  #claimName(path: string, isFolder: boolean): void {
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      this.#claim(path.slice(0, end), true);
    }
    this.#claim(path, isFolder);
  }

  #claim(path: string, isFolder: boolean): void {
    const folded = path.normalize("NFKC").toLowerCase();
    const known = this.#names.get(folded);
    if (known === undefined) {
      this.#names.set(folded, { path, isFolder });
      return;
    }
    const [a, b] = [known.path, path].map(escapeDeceptive);
    if (known.path !== path) throw unsafe(`${a} and ${b} are the same name on some disks`);
    if (!known.isFolder || !isFolder) throw unsafe(`${b} is in it twice`);
  }
}

/** A path as it may be written below a skill's folder, on every system. Null: nothing is wrong with it. */
export function whyUnsafe(path: string): string | null {
  if (path.includes("\0")) return "the name holds a NUL character";
  if (path.startsWith("/") || path.startsWith("~")) return "the name leads out of the skill's folder";
  if (/^[a-z]:/i.test(path)) return "the name has a drive letter";
  if (path.includes("\\")) return "the name holds a backslash";
  if (escapeDeceptive(path) !== path || /[\x00-\x1f\x7f]/.test(path)) {
    return "the name holds control or invisible characters";
  }
  if (/[\ud800-\udfff]/u.test(path) || path.includes("\ufffd")) return "the name is no valid text";
  if (path.length > MAX_PATH_CHARS) return `the name is longer than ${MAX_PATH_CHARS} characters`;
  const segments = path.split("/");
  if (segments.length > MAX_PATH_DEPTH) return `it lies more than ${MAX_PATH_DEPTH} folders deep`;
  for (const segment of segments) {
    if (segment === "" || segment === "." || segment === "..") return "the name leads out of the skill's folder";
    // Compatibility forms and characters that some disks ignore make `.git` of other names.
    const plain = segment.normalize("NFKC").toLowerCase();
    if (/^\.git[ .]*$/.test(plain) || /^git~\d+$/.test(plain)) return "git's own files are no part of a skill";
    if (/[<>:"|?*]/.test(plain) || /[/\\]/.test(plain) || /[ .]$/.test(segment)) {
      return "the name is not possible on every system";
    }
    if (/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/.test(plain)) return "the name is a device on some systems";
  }
  return null;
}

export function isPlainPath(path: string): boolean {
  return whyUnsafe(path) === null;
}

/** What file managers leave behind, a repository's own files, and what only we write. */
function isJunk(path: string): boolean {
  return (
    path === PROVENANCE_NAME || /^(?:__MACOSX|\.git)(?:\/|$)|(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/.test(path)
  );
}

export function unsafe(why: string): UnsafeSkill {
  return new UnsafeSkill("invalid_data", `This skill cannot be installed: ${why}`);
}

export function tooMuch(why: string): UnsafeSkill {
  return new UnsafeSkill("limit", `This skill cannot be installed: ${why}`);
}
