// What this program is to its children: a place on their PATH, and switches their environment must not carry.

import { basename, join } from "node:path";

/** Directory that has the program under its own name, for a child's PATH; undefined in development. */
export function selfDirectory(): string | undefined {
  if (!isCompiled() || basename(process.execPath).replace(/\.exe$/i, "") !== "letta") return undefined;
  return join(process.execPath, "..");
}

/** Starts this program; arguments follow. */
export function selfCommand(): string[] {
  return isCompiled() ? [process.execPath] : [process.execPath, join(import.meta.dir, "../main.ts")];
}

/** A module that is started as a thread, by its path below `src`. Those of the executable are listed in scripts/build.ts;
 *  absolute, because a relative one would be looked for in the working directory. */
export function selfModule(path: string): string {
  return isCompiled() ? `/$bunfs/root/${path.replace(/ts$/, "js")}` : join(import.meta.dir, "..", path);
}

/** Without the switches Bun obeys before any code of ours runs: `BUN_OPTIONS` may preload a file, `BUN_BE_BUN` turns the
 *  binary into plain bun. */
export function withoutBunSwitches(vars: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(vars)) {
    if (value !== undefined && name !== "BUN_OPTIONS" && name !== "BUN_BE_BUN") result[name] = value;
  }
  return result;
}

/** True inside the executable, whose modules live in Bun's virtual file system. */
function isCompiled(): boolean {
  return import.meta.path.startsWith("/$bunfs/") || /^[A-Z]:[\\/]~BUN[\\/]/i.test(import.meta.path);
}
