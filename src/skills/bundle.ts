// The skills that come with the program: the repository's folder `skills/`, all of it text. scripts/build.ts embeds what
// this reads; in development it is read when first asked for.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "@/lib/hash.ts";
import { parseMarkdown } from "@/memory/frontmatter.ts";

/** What is known of every bundled skill without loading its texts. */
export interface BundleIndex {
  /** Of all names and texts: the folder they are unpacked to. */
  digest: string;
  skills: BundledHead[];
}

export interface BundledHead {
  /** The folder's name. */
  id: string;
  /** SKILL.md up to its body. */
  head: string;
}

/** Texts by path relative to `skills/`, for example `creating-skills/scripts/init-skill.ts`. */
export type BundleTexts = Record<string, string>;

/** Throws for what is no text: it could not be embedded as one. */
export function readBundle(folder: string): BundleTexts {
  const texts: BundleTexts = {};
  for (const path of existsSync(folder) ? listFiles(folder) : []) {
    texts[path] = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(join(folder, path)));
  }
  return texts;
}

export function indexBundle(texts: BundleTexts): BundleIndex {
  const skills = Object.entries(texts).flatMap(([path, text]) => {
    const id = /^([^/]+)\/SKILL\.md$/.exec(path)?.[1];
    return id === undefined ? [] : [{ id, head: text.slice(0, parseMarkdown(text).bodyStart) }];
  });
  return { digest: sha256(JSON.stringify(Object.entries(texts))).slice(0, 16), skills };
}

/** Sorted, so that equal folders give equal bundles. */
function listFiles(folder: string, prefix = ""): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${prefix}${entry.name}`;
      if (entry.isDirectory()) return listFiles(folder, `${path}/`);
      return entry.isFile() && !entry.name.startsWith(".") ? [path] : [];
    });
}
