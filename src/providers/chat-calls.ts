// Tells the calls of one Chat Completions stream apart. Its protocol says that `index` names a call and only the first
// piece carries an id; some servers give several calls one id, others give all of them index 0. The client library goes
// by id first, then by index, and would glue such calls together.

import { isRecord } from "@/lib/json.ts";

interface KnownCall {
  id: string;
  /** What the library sees. */
  index: number;
}

/** One per stream. Changes the event in place; true when it did. */
export function createCallSeparator(): (event: unknown) => boolean {
  /** By the server's index; the call that its next nameless piece belongs to. */
  const open = new Map<number, KnownCall>();
  const indexes = new Set<number>();
  const ids = new Set<string>();

  function isNewCall(piece: Record<string, unknown>, known: KnownCall | undefined, id: string): boolean {
    if (known === undefined) return true;
    const { function: called } = piece;
    // A piece that names a function again under another id is a call of its own; some servers send a fresh id with
    // every piece, but no name.
    return id !== "" && id !== known.id && isRecord(called) && typeof called.name === "string" && called.name !== "";
  }

  function separate(piece: unknown): boolean {
    if (!isRecord(piece) || typeof piece.index !== "number") return false;
    const id = typeof piece.id === "string" ? piece.id : "";
    const known = open.get(piece.index);
    if (!isNewCall(piece, known, id)) {
      const changed = known!.index !== piece.index;
      piece.index = known!.index;
      return changed;
    }
    const index = indexes.has(piece.index) ? Math.max(...indexes) + 1 : piece.index;
    open.set(piece.index, { id, index });
    indexes.add(index);
    let changed = index !== piece.index;
    piece.index = index;
    if (id !== "" && ids.has(id)) {
      // Without an id the call gets one of its own later.
      delete piece.id;
      changed = true;
    }
    ids.add(id);
    return changed;
  }

  return (event) => {
    if (!isRecord(event) || !Array.isArray(event.choices)) return false;
    let changed = false;
    for (const choice of event.choices) {
      const delta = isRecord(choice) ? choice.delta : undefined;
      const pieces = isRecord(delta) && Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
      for (const piece of pieces) changed = separate(piece) || changed;
    }
    return changed;
  };
}
