// Reads the files that paths and globs name, one after the other, as far as they fit.

import { statSync } from "node:fs";
import { dirname, relative } from "node:path";
import * as v from "valibot";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import { type HeldDirectory, holdDirectory } from "@/lib/held-directory.ts";
import { plural } from "@/lib/text.ts";
import type { Place } from "@/permissions/places.ts";
import { isSecretPath } from "@/permissions/protected.ts";
import type { PermissionTarget } from "@/permissions/types.ts";
import { defineTool, type ToolContext } from "./define-tool.ts";
import { FilteringOptions, findGeminiIgnore } from "./gemini-files.ts";
import { searchOf } from "./glob.ts";
import { READ_CHARS } from "./limits.ts";
import { below, contextPath, escapeControls, placeOf } from "./paths.ts";
import { readSeen } from "./read.ts";
import description from "./read-many-files.md" with { type: "text" };
import { listFiles } from "./search.ts";
import { decodeTextFile } from "./text-file.ts";

const Args = v.strictObject({
  include: v.pipe(v.array(v.pipe(v.string(), v.nonEmpty())), v.minLength(1)),
  exclude: v.optional(v.array(v.string()), []),
  recursive: v.optional(v.boolean(), true),
  useDefaultExcludes: v.optional(v.boolean(), true),
  file_filtering_options: FilteringOptions,
});
type Args = v.InferOutput<typeof Args>;

const DEFAULT_EXCLUDES = "**/{node_modules,.git,dist,build,.next,coverage}/**,**/*.min.js,**/*.bundle.js".split(
  /,(?=\*)/,
);
const MAX_NAMED = 20;

export const readManyFilesTool = defineTool({
  name: "ReadManyFiles",
  toolsets: { gemini: "ReadManyFiles", gemini_snake: "read_many_files" },
  description,
  args: Args,
  // A path is read; a glob searches its directory, and what reading would ask for is left out of the result.
  targets: ({ include }, context) => include.map((pattern) => targetOf(pattern, context)),
  resource: () => ({ kind: "read" }),
  title: ({ include }) => include.join(", "),
  run: async (args, context) => {
    const { places, left } = await expand(args, context);
    if (places.length === 0 && left.length === 0) throw new ToolError(`No files match ${args.include.join(", ")}.`);
    const sections: string[] = [];
    let chars = 0;
    for (const place of places) {
      context.signal.throwIfAborted();
      const name = escapeControls(place.lexical);
      try {
        const { text } = decodeTextFile((await readSeen(place, context)).bytes, place.lexical);
        const section = `--- ${name} ---\n\n${text.replace(/\n?$/, "\n")}\n`;
        if (chars + section.length > READ_CHARS) left.push(`${name} (no room)`);
        else sections.push(section);
        chars += chars + section.length > READ_CHARS ? 0 : section.length;
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
        left.push(`${name} (${errorMessage(error).split(": ", 1)[0]})`);
      }
    }
    const summary = plural(sections.length, "file");
    return { status: "success", output: `${sections.join("")}--- End of content ---${leftOut(left)}`, summary };
  },
});

function isGlob(pattern: string): boolean {
  return /[*?[{]/.test(pattern);
}

function targetOf(pattern: string, context: Parameters<typeof contextPath>[1]): PermissionTarget {
  if (isGlob(pattern)) return { kind: "file", family: "Grep", path: searchPlace(pattern, context).root };
  const path = contextPath(pattern, context);
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return { kind: "file", family: isDirectory ? "Grep" : "Read", path };
}

/** Where a glob searches, with its fixed directories taken into the root: `../x/*.ts` must not match below `.`. */
function searchPlace(pattern: string, context: Parameters<typeof contextPath>[1]): { root: string; pattern: string } {
  const fixed = dirname(`${pattern.split(/[*?[{]/, 1)[0]}x`);
  if (fixed === "." || pattern.startsWith("/") || pattern.startsWith("~")) return searchOf({ pattern }, context);
  return { root: contextPath(fixed, context), pattern: pattern.slice(fixed.length + 1) };
}

async function expand(args: Args, context: ToolContext): Promise<{ places: Place[]; left: string[] }> {
  const excludes = [...args.exclude, ...(args.useDefaultExcludes ? DEFAULT_EXCLUDES : [])].map(
    (pattern) => new Bun.Glob(pattern),
  );
  const places = new Map<string, Place>();
  const left: string[] = [];
  for (const pattern of args.include) {
    const search = isGlob(pattern)
      ? searchPlace(pattern, context)
      : { root: contextPath(pattern, context), pattern: "**" };
    const root = placeOf(search.root, context);
    using folder = findFolder(root);
    if (folder === null) {
      if (!isGlob(pattern)) places.set(root.lexical, root);
      continue;
    }
    for (const path of await filesOf(folder, { pattern: search.pattern, args }, context)) {
      const found = below(root, path);
      const { lexical } = found;
      if (excludes.some((glob) => glob.match(relative(context.cwd, lexical)))) continue;
      if (context.services.isHidden(lexical)) continue;
      if (isSecretPath(lexical)) left.push(`${escapeControls(lexical)} (looks like a secret; read it by its own path)`);
      else places.set(lexical, found);
    }
  }
  return { places: [...places.values()], left };
}

/** Null for what is no directory. */
function findFolder({ real }: Place): HeldDirectory | null {
  try {
    return holdDirectory(real);
  } catch {
    return null;
  }
}

async function filesOf(
  folder: HeldDirectory,
  { pattern, args }: { pattern: string; args: Args },
  context: ToolContext,
): Promise<string[]> {
  const { recursive, file_filtering_options: filtering } = args;
  const files = await listFiles(folder, context, {
    ignored: filtering?.respect_git_ignore === false,
    ignoreFile: filtering?.respect_gemini_ignore === false ? undefined : findGeminiIgnore(context.cwd),
  });
  const glob = new Bun.Glob(pattern);
  return files.paths.filter((path) => glob.match(path) && (recursive || !path.includes("/"))).sort();
}

function leftOut(names: string[]): string {
  if (names.length === 0) return "";
  const more = names.length > MAX_NAMED ? [`and ${names.length - MAX_NAMED} more`] : [];
  return `\n[Left out: ${[...names.slice(0, MAX_NAMED), ...more].join("; ")}]`;
}
