// The one place where a path argument becomes an absolute path. Permission checks and tools both use it: a path that
// was judged is the path that is used, however it was spelled.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { ToolError } from "@/lib/errors.ts";
import { shortPath } from "@/lib/path-inside.ts";
import { createLinkFollower, type Place, toPlace, toRealPath } from "@/permissions/places.ts";
import type { ToolContext } from "./define-tool.ts";

/** `~`, `~/…`, `$VAR`, `${VAR}` (unknown names stay as they are), relative to `cwd`, normalised. Symlinks are not
 *  followed. */
export function resolveToolPath(
  path: string,
  { cwd, home, env }: { cwd: string; home: string; env: Readonly<Record<string, string | undefined>> },
): string {
  if (path.includes("\0")) throw new ToolError("A path cannot contain a NUL character.");
  const expanded = path
    .replace(/^~(?=$|[/\\])/, () => home)
    .replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced, plain) => env[braced ?? plain] ?? whole);
  return resolve(cwd, expanded);
}

/** As above, with what a tool is handed. */
export function contextPath(path: string, { cwd, services }: Pick<ToolContext, "cwd" | "services">): string {
  return resolveToolPath(path, { cwd, home: services.env.home, env: services.env.all });
}

type PlaceContext = Pick<ToolContext, "cwd" | "services" | "realPaths">;

/** A path argument and where it really is: the place that was decided about, not where links lead by now. */
export function contextPlace(path: string, context: PlaceContext): Place {
  return placeOf(contextPath(path, context), context);
}

/** The same for an absolute path that is a target of the call. */
export function placeOf(lexical: string, { realPaths }: Pick<ToolContext, "realPaths">): Place {
  const decided = realPaths?.get(lexical);
  if (decided !== undefined) return { lexical, real: decided };
  if (realPaths) throw new Error(`${lexical} is no target of this call`);
  // Nobody decided: it is where links lead now.
  const { real } = toPlace(lexical, lexical, { realpath: createLinkFollower() });
  return { lexical, real: toRealPath(lexical, real) };
}

/** What is below a place, when no link leads there. */
export function below({ lexical, real }: Place, path: string): Place {
  return { lexical: join(lexical, path), real: join(real, path) };
}

/** For people: as `relativePath`, or `~/…` inside the home directory. */
export function displayPath(path: string, cwd: string, home: string = homedir()): string {
  const shown = relativePath(path, cwd);
  const prefix = escapeControls(`${home}/`);
  return shown.startsWith(prefix) ? `~/${shown.slice(prefix.length)}` : shown;
}

/** Relative inside `cwd`, else absolute; always one line. */
export function relativePath(path: string, cwd: string): string {
  return escapeControls(shortPath(cwd, resolve(cwd, path)));
}

/** Newlines and other control characters as `\n`, `\x1b`, …. */
export function escapeControls(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, (char) =>
    char === "\n" ? "\\n" : char === "\t" ? "\\t" : `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
