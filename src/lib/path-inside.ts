// Where a path stands from a folder. By name only: links are not followed.

import { isAbsolute, relative, sep } from "node:path";

/** From `folder` to `path` when it is in there, `.` for the folder itself; else null. */
export function pathInside(folder: string, path: string): string | null {
  const inside = relative(folder, path);
  // A name may begin with two dots.
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return null;
  return inside || ".";
}

/** As short as it goes for somebody who is in `folder`. */
export function shortPath(folder: string, path: string): string {
  return pathInside(folder, path) ?? path;
}
