// The personalities an agent can begin with: one table. Texts are files beside this one, as they will lie in the memory.

import { parseMarkdown } from "./frontmatter.ts";
import { findPersonalityInfo, PERSONALITIES, type PersonalityId, type PersonalityInfo } from "./personalities.ts";
import { HUMAN_PATH, PERSONA_PATH } from "./places.ts";
import blankPersona from "./presets/blank-persona.md" with { type: "text" };
import defaultHuman from "./presets/default-human.md" with { type: "text" };
import kawaiiHuman from "./presets/kawaii-human.md" with { type: "text" };
import kawaiiPersona from "./presets/kawaii-persona.md" with { type: "text" };
import linusHuman from "./presets/linus-human.md" with { type: "text" };
import linusPersona from "./presets/linus-persona.md" with { type: "text" };
import memoHuman from "./presets/memo-human.md" with { type: "text" };
import memoPersona from "./presets/memo-persona.md" with { type: "text" };
import tutorialHuman from "./presets/tutorial-human.md" with { type: "text" };
import tutorialOnboarding from "./presets/tutorial-onboarding.md" with { type: "text" };
import tutorialPersona from "./presets/tutorial-persona.md" with { type: "text" };

export interface Personality extends PersonalityInfo {
  /** Text of each file, by its path in memory. */
  files: Readonly<Record<string, string>>;
}

/** Undefined when there is none of this name. */
export function findPersonality(name: string): Personality | undefined {
  const info = findPersonalityInfo(name);
  return info && { ...info, files: FILES[info.id] };
}

/** The one a persona's text comes from; undefined when it is somebody's own. */
export function detectPersonality(persona: string): Personality | undefined {
  const body = comparableBody(persona);
  const info = PERSONALITIES.find(({ id }) => comparableBody(FILES[id][PERSONA_PATH] ?? "") === body);
  return info && { ...info, files: FILES[info.id] };
}

/** What counts as the same text. */
export function comparableBody(text: string): string {
  return parseMarkdown(text.replaceAll("\r\n", "\n")).body.trim();
}

const FILES: Record<PersonalityId, Readonly<Record<string, string>>> = {
  memo: { [PERSONA_PATH]: memoPersona, [HUMAN_PATH]: memoHuman },
  tutorial: {
    [PERSONA_PATH]: tutorialPersona,
    [HUMAN_PATH]: tutorialHuman,
    "system/onboarding.md": tutorialOnboarding,
  },
  blank: { [PERSONA_PATH]: blankPersona, [HUMAN_PATH]: defaultHuman },
  linus: { [PERSONA_PATH]: linusPersona, [HUMAN_PATH]: linusHuman },
  kawaii: { [PERSONA_PATH]: kawaiiPersona, [HUMAN_PATH]: kawaiiHuman },
};
