// Numbers of reflection, in one place.

/** A dream that has not ended by then is stopped. */
export const DREAM_TIMEOUT_MS = 1_500_000;
/** What a dreamer may say on stdout; beyond it the dream is stopped. */
export const DREAM_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Model calls of one dream, repair included. */
export const DREAM_MAX_TURNS = 60;

export const DEFAULT_STEP_COUNT = 25;
/** Turns that pass after a failure before the next attempt; the last one repeats. */
export const BACK_OFF_TURNS = [1, 2, 4, 8] as const;

/** Characters of all transcripts of one dream; the first slice is always kept. */
export const PAYLOAD_CHARS = 150_000;
export const ARGS_CHARS = 300;
export const RESULT_CHARS = 2_500;
/** What one person or agent said at once. */
export const TEXT_CHARS = 20_000;
/** User turns of a conversation that is looked at again. */
export const REPLAY_TURNS = 50;
/** Conversations of one dream. */
export const MAX_CONVERSATIONS = 5;

/** The copy of the memory inside the prompt. */
export const SNAPSHOT_CHARS = 40_000;
/** Below it a file is left out instead of being cut. */
export const SNAPSHOT_MIN_CHARS = 1_000;
/** Persona and prompt together. */
export const STARTUP_TOKENS = 16_000;
export const CHARS_PER_TOKEN = 4;

/** A file of a dream that is larger is scratch. */
export const MAX_DREAM_FILE_BYTES = 1024 * 1024;
/** Files of a dream. */
export const MAX_DREAM_FILES = 500;
/** Share of the files, and of the lines in bytes, that may be gone after a dream; more needs a person. */
export const MAX_LOST_SHARE = 1 / 3;
/** Less than this is never "half the memory". */
export const MIN_LOST_BYTES = 400;
/** Times a merge is tried again because somebody else wrote meanwhile. */
export const MERGE_ATTEMPTS = 5;

/** Entries of ended dreams that the journal keeps. */
export const JOURNAL_DREAMS = 200;
