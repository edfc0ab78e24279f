// Fixed limits of skills.

/** Folders below a root: how deep, and how many in all. */
export const MAX_DEPTH = 6;
export const MAX_FOLDERS = 2_000;
/** A larger SKILL.md is not loaded. */
export const MAX_SKILL_BYTES = 1024 * 1024;
/** The head of a SKILL.md must end within this many bytes. */
export const MAX_HEAD_BYTES = 64 * 1024;
/** Read at first: most heads end in here. */
export const FIRST_READ_BYTES = 4 * 1024;
/** Of companion files whose content is trusted together with a skill that brings rules along. */
export const MAX_COMPANION_FILES = 2_000;
export const MAX_COMPANION_BYTES = 20 * 1024 * 1024;

/** The list of skills in a request may take this part of the model's window; so many characters when it is unknown. */
export const CATALOGUE_SHARE = 0.02;
export const CATALOGUE_CHARS = 8_000;
/** Descriptions are not shortened below this. */
export const MIN_DESCRIPTION_CHARS = 40;

/** Of the open format. */
export const MAX_NAME_CHARS = 64;
export const MAX_DESCRIPTION_CHARS = 1024;
export const MAX_COMPATIBILITY_CHARS = 500;
