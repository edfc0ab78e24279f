// Puts a bundled skill on disk, where its scripts can run and its references can be read: below a folder that names the
// whole bundle's digest, so that another version never changes files a running agent was told of. Appears whole or not
// at all; what is there already is compared with the bundle and replaced when it differs.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { LettaError, systemReason } from "@/lib/errors.ts";
import type { BundleTexts } from "./bundle.ts";

/** Bundles of other versions are dropped when nobody has used them for so long. */
const KEEP_MS = 30 * 24 * 3_600_000;

/** Where a bundled skill is, once it is unpacked. `cache` is `~/.letta/cache/skills`. */
export function bundledFolder(cache: string, digest: string, id: string): string {
  return join(cache, digest, id);
}

/** Returns the skill's folder. Two processes may do this at once: each renames a complete copy. Throws `storage`. */
export function unpackBundled(cache: string, bundle: { digest: string; texts: BundleTexts }, id: string): string {
  const folder = bundledFolder(cache, bundle.digest, id);
  const files = Object.entries(bundle.texts).flatMap(([path, text]): [string, string][] =>
    path.startsWith(`${id}/`) ? [[path.slice(id.length + 1), text]] : [],
  );
  try {
    if (!holdsExactly(folder, files)) {
      mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
      replaceFolder(folder, files);
    }
    dropOld(cache, bundle.digest);
    return folder;
  } catch (cause) {
    throw new LettaError("storage", `cannot unpack the skill ${id} to ${folder}: ${systemReason(cause)}`, { cause });
  }
}

function holdsExactly(folder: string, files: [path: string, text: string][]): boolean {
  try {
    const present = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
      (entry) => !entry.isDirectory(),
    );
    return (
      present.length === files.length &&
      present.every((entry) => entry.isFile()) &&
      files.every(([path, text]) => readFileSync(join(folder, path), "utf8") === text)
    );
  } catch {
    return false; // Not there yet, or not whole.
  }
}

function replaceFolder(folder: string, files: [path: string, text: string][]): void {
  const scratch = mkdtempSync(join(dirname(folder), ".unpack-"));
  try {
    const fresh = join(scratch, "new");
    for (const [path, text] of files) {
      const target = join(fresh, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
      chmodSync(target, path.startsWith("scripts/") ? 0o755 : 0o644);
    }
    // A folder is only renamed to a free name; somebody else may have just taken it with the same content.
    if (existsSync(folder)) renameSync(folder, join(scratch, "old"));
    try {
      renameSync(fresh, folder);
    } catch (error) {
      if (!holdsExactly(folder, files)) throw error;
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function dropOld(cache: string, current: string): void {
  try {
    const now = new Date();
    utimesSync(join(cache, current), now, now);
    for (const name of readdirSync(cache)) {
      const path = join(cache, name);
      if (name !== current && now.getTime() - statSync(path).mtimeMs > KEEP_MS)
        rmSync(path, { recursive: true, force: true });
    }
  } catch {
    /* Old copies only take room. */
  }
}
