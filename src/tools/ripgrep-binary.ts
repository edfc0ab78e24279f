// Where this build's ripgrep is. scripts/build.ts replaces this module by one that embeds the target's file: then
// `path` lies inside the executable, can be read but not run, and `sha256` is what an unpacked copy must have. What is
// here serves development and tests.

import { existsSync } from "node:fs";
import { join } from "node:path";

export interface RipgrepBinary {
  path: string;
  /** Hex; null for the npm package's own file, which is run where it lies. */
  sha256: string | null;
  embedded: boolean;
}

/** Null when the platform's package is not installed. */
export const ripgrepBinary: RipgrepBinary | null = findInstalled();

function findInstalled(): RipgrepBinary | null {
  const folder = `../../node_modules/@vscode/ripgrep-${process.platform}-${process.arch}/bin`;
  const path = join(import.meta.dir, folder, process.platform === "win32" ? "rg.exe" : "rg");
  return existsSync(path) ? { path, sha256: null, embedded: false } : null;
}
