// Fixed limits of line mode.

/** A paste of more lines or characters becomes a placeholder. */
export const PASTE_LINES = 5;
export const PASTE_CHARS = 500;
/** A longer text that comes back into the line becomes a placeholder too. */
export const RECALL_CHARS = 5000;
export const HISTORY_ENTRIES = 1000;
/** Longer entries are remembered in this sitting only. */
export const HISTORY_ENTRY_CHARS = 100_000;
export const UNDO_STEPS = 200;
export const COMPLETION_ROWS = 8;
/** Files looked at for one `@` completion. */
export const COMPLETION_FILES = 20_000;
/** Lines of a running shell that stay visible, and what remains of them afterwards. */
export const LIVE_SHELL_LINES = 5;
export const SHELL_RESULT_LINES = 3;
export const SHELL_RESULT_CHARS = 300;
/** Lines of a diff shown; the rest is counted. */
export const DIFF_LINES = 60;
/** A paragraph that does not end is printed in pieces of this size. */
export const BLOCK_CHARS = 16_000;
export const BACKFILL_MESSAGES = 10;
/** Output of `!` commands kept for the model, characters. */
export const BASH_REMINDER_CHARS = 30_000;
/** A second Ctrl-C within this time leaves. */
export const EXIT_WINDOW_MS = 1000;
/** A second Esc within this time clears the input. */
export const CLEAR_WINDOW_MS = 2500;
/** A question takes the keyboard only when nobody typed for this long: the next letter of a word is not an answer. */
export const QUESTION_GUARD_MS = 400;
