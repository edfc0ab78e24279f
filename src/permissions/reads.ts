// May a path be read without asking? One answer for the Read tool and for commands that read.

import { isInAny, isInside, isInWorkspace, type Place, type Places } from "./places.ts";
import { isSecret } from "./protected.ts";
import type { PermissionReason } from "./types.ts";

export interface ReadStep {
  behavior: "allow" | "deny" | "ask";
  reason: PermissionReason;
}

/** Other agents' state, and our database, are reached through the harness only. */
export function guardStores(place: Place, path: string, places: Places): ReadStep | null {
  const paths = place.lexical === place.real ? [place.real] : [place.lexical, place.real];
  const inStore = paths.some((candidate) =>
    places.stores.some(({ lexical, real }) =>
      [lexical, real].some((store) => isInside(candidate, store, places.caseInsensitive)),
    ),
  );
  if (!inStore) return null;
  const detail = `${path} belongs to the state of agents, which file tools may not touch`;
  return { behavior: "deny", reason: { by: "agent store", detail } };
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
  if (isInAny(place, places.readable, places))
    return { behavior: "allow", reason: { by: "workspace", detail: `${path} is output of a tool` } };
  return { behavior: "ask", reason: { by: "workspace", detail: `${path} is outside the workspace` } };
}
