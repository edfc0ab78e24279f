// `--pre-load-skills`: texts that come with the first message, for agents that live for one task and have no time to
// look around.

import type { TextPart } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import type { SkillPlace, Skills } from "./service.ts";

export interface PreLoaded {
  /** Null once it was sent. */
  part: TextPart | null;
  /** Permission rules they bring along. */
  allow: string[];
}

/** Throws `invalid_data` that names the skill which cannot be loaded. */
export async function preLoadSkills(skills: Skills, place: SkillPlace, ids: readonly string[]): Promise<PreLoaded> {
  const texts: string[] = [];
  const allow: string[] = [];
  for (const id of new Set(ids)) {
    try {
      const loaded = await skills.load(place, { id, args: "", by: "harness" });
      texts.push(loaded.text);
      allow.push(...loaded.allow);
    } catch (error) {
      if (!(error instanceof LettaError)) throw error;
      const { message, hint } = error;
      throw new LettaError("invalid_data", `--pre-load-skills: ${message}`, { cause: error, ...(hint && { hint }) });
    }
  }
  return {
    part: { type: "text", text: `<loaded_skills>\n${texts.join("\n")}\n</loaded_skills>\n\n`, keep: true },
    allow,
  };
}
