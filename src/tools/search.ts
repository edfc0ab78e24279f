// What Glob and Grep share: which files there are below a directory, with ripgrep or, where there is none, without.

import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemErrorCode, ToolError } from "@/lib/errors.ts";
import { findChild, type HeldDirectory, holdDirectory } from "@/lib/held-directory.ts";
import type { Place } from "@/permissions/places.ts";
import type { ToolContext } from "./define-tool.ts";
import { fileError } from "./file-store.ts";
import { GLOB_BUFFER_BYTES } from "./limits.ts";
import { runRipgrep } from "./ripgrep.ts";

export interface FileList {
  /** Relative to the root, sorted by no order in particular. */
  paths: string[];
  /** There were more than could be held. */
  cut: boolean;
  /** `.gitignore` was not applied, for lack of ripgrep. */
  plain: boolean;
}

export interface ListOptions {
  /** Files that `.gitignore` leaves out, too. */
  ignored?: boolean;
  /** A further file like `.gitignore`; absolute. */
  ignoreFile?: string | undefined;
}

/** Holds the directory a search starts in, or says what is wrong with it. */
export function holdSearchRoot({ lexical, real }: Place): HeldDirectory {
  try {
    return holdDirectory(real);
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") throw new ToolError(`Directory does not exist: ${lexical}`);
    if (code === "ENOTDIR") throw new ToolError(`Not a directory: ${lexical}`);
    throw fileError(error, lexical);
  }
}

/** All files that are not ignored; hidden ones too, `.git` not. Symbolic links are not followed. A walk goes by names,
 *  and a name may lead elsewhere while it walks: `keepReal` is for what is shown of it. */
export async function listFiles(
  root: HeldDirectory,
  context: ToolContext,
  { ignored = false, ignoreFile }: ListOptions = {},
): Promise<FileList> {
  const program = context.services.findRipgrep();
  if (program === null) {
    const paths = [...walkFiles(root, context.signal)].map(({ path }) => path);
    return { paths, cut: false, plain: true };
  }
  // Filtering by pattern is the caller's: a `--glob` of ripgrep would bring ignored files back in.
  const options = ["--files", "--hidden", "--no-messages", "--null", "--glob=!.git"];
  if (ignored) options.push("--no-ignore");
  if (ignoreFile !== undefined) options.push(`--ignore-file=${ignoreFile}`);
  const run = await runRipgrep(program, options, {
    cwd: root.at(),
    maxBytes: GLOB_BUFFER_BYTES,
    signal: context.signal,
    shells: context.services.shells,
  });
  const paths = run.stdout.split("\0");
  // The piece behind the last NUL is empty, or a path that was cut.
  paths.pop();
  return { paths, cut: run.cut, plain: false };
}

/** Those of the paths below `root` that are regular files there, with no link on the way. */
export function keepReal(root: HeldDirectory, paths: readonly string[]): string[] {
  const real = new Set<string>();
  for (const [directory, inside] of Map.groupBy(paths, dirname)) {
    using folder = findDirectory(join(root.path, directory));
    if (folder === null) continue;
    for (const path of inside) {
      if (lstatSync(folder.at(basename(path)), { throwIfNoEntry: false })?.isFile()) real.add(path);
    }
  }
  return paths.filter((path) => real.has(path));
}

export interface WalkedFile {
  /** Relative to the root. */
  path: string;
  /** Where it is; only until the next file is asked for. */
  folder: HeldDirectory;
  name: string;
}

/** Files below `root` without the help of ripgrep; dependency directories are left out. */
export function* walkFiles(root: HeldDirectory, signal: AbortSignal): Generator<WalkedFile> {
  let left = MAX_WALKED_FILES;
  function* walk(folder: HeldDirectory, prefix: string): Generator<WalkedFile> {
    signal.throwIfAborted();
    const entries = entriesIn(folder).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (left <= 0) return;
      const path = prefix + entry.name;
      if (entry.isDirectory() && entry.name !== ".git" && entry.name !== "node_modules") {
        using child = findChild(folder, entry.name);
        if (child) yield* walk(child, `${path}/`);
      } else if (entry.isFile()) {
        left -= 1;
        yield { path, folder, name: entry.name };
      }
    }
  }
  yield* walk(root, "");
}

export const PLAIN_NOTE = "[ripgrep is not available: searched without .gitignore rules.]";

const MAX_WALKED_FILES = 200_000;

function entriesIn(folder: HeldDirectory): Dirent[] {
  try {
    return readdirSync(folder.at(), { withFileTypes: true });
  } catch {
    return []; // Not readable, or gone.
  }
}

function findDirectory(path: string): HeldDirectory | null {
  try {
    return holdDirectory(path);
  } catch {
    return null; // Gone, or a link by now.
  }
}
