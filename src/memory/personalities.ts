// Names of the personalities, for flags, help and pickers; their texts are in presets.ts, which is loaded when used.

export interface PersonalityInfo {
  id: PersonalityId;
  label: string;
  /** For people, one line. */
  summary: string;
}

export type PersonalityId = "memo" | "tutorial" | "blank" | "linus" | "kawaii";

/** In the order offered. */
export const PERSONALITIES: readonly PersonalityInfo[] = [
  { id: "memo", label: "Letta Code", summary: "Warm and to the point; keeps what helps next time" },
  { id: "tutorial", label: "Tutor", summary: "Shows a newcomer around, one step at a time" },
  { id: "blank", label: "Blank", summary: "You say who it is" },
  { id: "linus", label: "Linus", summary: "A blunt reviewer: verdict first" },
  { id: "kawaii", label: "Letta-Chan", summary: "Playful voice, exact underneath" },
];

/** Spellings of other clients. */
export const PERSONALITY_ALIASES: Readonly<Record<string, PersonalityId>> = { "letta-code": "memo", lettacode: "memo" };

export function findPersonalityInfo(name: string): PersonalityInfo | undefined {
  const wanted = name.trim().toLowerCase();
  return PERSONALITIES.find(({ id }) => id === (PERSONALITY_ALIASES[wanted] ?? wanted));
}
