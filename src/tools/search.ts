// What Glob and Grep share: which files there are below a directory, with ripgrep or, where there is none, without.

import { type Dirent, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { ToolError } from "@/lib/errors.ts";
import type { ToolContext } from "./define-tool.ts";
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

/** Says what is wrong with a search root. */
export function checkDirectory(path: string): void {
  const info = statSync(path, { throwIfNoEntry: false });
  if (!info) throw new ToolError(`Directory does not exist: ${path}`);
  if (!info.isDirectory()) throw new ToolError(`Not a directory: ${path}`);
}

/** All files that are not ignored; hidden ones too, `.git` not. Symbolic links are not followed. */
export async function listFiles(
  root: string,
  context: ToolContext,
  { ignored = false, ignoreFile }: ListOptions = {},
): Promise<FileList> {
  const program = context.services.findRipgrep();
  if (program === null) return { paths: walkFiles(root, context.signal), cut: false, plain: true };
  // Filtering by pattern is the caller's: a `--glob` of ripgrep would bring ignored files back in.
  const options = ["--files", "--hidden", "--no-messages", "--null", "--glob=!.git"];
  if (ignored) options.push("--no-ignore");
  if (ignoreFile !== undefined) options.push(`--ignore-file=${ignoreFile}`);
  const run = await runRipgrep(program, options, {
    cwd: root,
    maxBytes: GLOB_BUFFER_BYTES,
    signal: context.signal,
    shells: context.services.shells,
  });
  const paths = run.stdout.split("\0");
  // The piece behind the last NUL is empty, or a path that was cut.
  paths.pop();
  return { paths, cut: run.cut, plain: false };
}

/** Files below `root` without the help of ripgrep; dependency directories are left out. */
export function walkFiles(root: string, signal: AbortSignal): string[] {
  const files: string[] = [];
  const open = [root];
  for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
    signal.throwIfAborted();
    for (const entry of entriesOf(directory)) {
      if (entry.isDirectory() && entry.name !== ".git" && entry.name !== "node_modules") {
        open.push(join(directory, entry.name));
      } else if (entry.isFile()) {
        files.push(relative(root, join(directory, entry.name)));
      }
    }
    if (files.length > MAX_WALKED_FILES) break;
  }
  return files;
}

export const PLAIN_NOTE = "[ripgrep is not available: searched without .gitignore rules.]";

const MAX_WALKED_FILES = 200_000;

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return []; // Not readable, or gone.
  }
}
