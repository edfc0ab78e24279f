// What an agent begins with when nobody chose.

import { HUMAN_PATH, PERSONA_PATH } from "./places.ts";
import human from "./presets/default-human.md" with { type: "text" };
import persona from "./presets/default-persona.md" with { type: "text" };

export const DEFAULT_FILES: Readonly<Record<string, string>> = { [PERSONA_PATH]: persona, [HUMAN_PATH]: human };
