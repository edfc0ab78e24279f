// What is written beside an installed skill: where it came from, and what it was then.

import * as v from "valibot";
import { PROVENANCE_NAME } from "./skill-files.ts";

const ProvenanceSchema = v.looseObject({
  /** What `letta install` understands. */
  source: v.string(),
  /** A commit or a version; null where there is nothing of the kind. */
  resolved_ref: v.nullable(v.string()),
  /** Of names and contents of all its files. */
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  /** ISO time. */
  installed_at: v.string(),
});
export type Provenance = v.InferOutput<typeof ProvenanceSchema>;

export function formatProvenance(provenance: Provenance): Uint8Array {
  return Buffer.from(`${JSON.stringify(provenance, null, 2)}\n`);
}

/** Null: the file is missing, or says nothing that could be used. */
export function parseProvenance(content: Uint8Array | null): Provenance | null {
  if (content === null) return null;
  try {
    return v.parse(ProvenanceSchema, JSON.parse(new TextDecoder().decode(content)));
  } catch {
    return null;
  }
}

export function provenancePath(folder: string): string {
  return `${folder}/${PROVENANCE_NAME}`;
}
