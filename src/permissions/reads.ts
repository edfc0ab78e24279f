// May a path be read without asking? One answer for the Read tool and for commands that read.

import { comparable, isInAny, isInside, isInWorkspace, type Place, type Places } from "./places.ts";
import { isSecret } from "./protected.ts";
import type { PermissionReason } from "./types.ts";

export interface ReadStep {
  behavior: "allow" | "deny" | "ask";
  reason: PermissionReason;
}

/** Other agents' state, and our database, are reached through the harness only. An agent's own memory is its own, but
 *  not what git keeps there: a setting or a hook would be a command that nobody asked about. */
export function guardStores(
  place: Place,
  path: string,
  places: Places,
  { writes = false }: { writes?: boolean } = {},
): ReadStep | null {
  const paths = place.lexical === place.real ? [place.real] : [place.lexical, place.real];
  const inStore = paths.some((candidate) =>
    places.stores.some(({ lexical, real }) =>
      [lexical, real].some((store) => isInside(candidate, store, places.caseInsensitive)),
    ),
  );
  if (!inStore) return null;
  if (isOwnMemory(place, places)) {
    const isGit = paths.some((candidate) => comparable(candidate).split("/").includes(".git"));
    if (!writes || !isGit) return null;
    const detail = `${path} is git's own and may only change through commits`;
    return { behavior: "deny", reason: { by: "own memory", detail } };
  }
  const detail = `${path} belongs to the state of agents, which file tools may not touch`;
  return { behavior: "deny", reason: { by: "agent store", detail } };
}

/** By name and in fact. */
export function isOwnMemory(place: Place, places: Places): boolean {
  return isInAny(place, places.memory(), places);
}

/** Searching the home directory would read our database along the way. */
export function protectStoresFromSearch(place: Place, path: string, places: Places): ReadStep | null {
  if (!places.stores.some(({ real }) => isInside(real, place.real, places.caseInsensitive))) return null;
  return {
    behavior: "ask",
    reason: { by: "agent store", detail: `a search of ${path} would read the state of agents` },
  };
}

export function readStep(place: Place, path: string, places: Places): ReadStep {
  if (isSecret(place, places))
    return { behavior: "ask", reason: { by: "secret", detail: `${path} may hold credentials` } };
  if (isInWorkspace(place, places))
    return { behavior: "allow", reason: { by: "workspace", detail: `${path} is in the workspace` } };
  if (isOwnMemory(place, places))
    return { behavior: "allow", reason: { by: "own memory", detail: `${path} is the agent's own memory` } };
  if (isInAny(place, places.readable, places))
    return { behavior: "allow", reason: { by: "workspace", detail: `${path} is output of a tool` } };
  return { behavior: "ask", reason: { by: "workspace", detail: `${path} is outside the workspace` } };
}
