// Every limit of the tools. Characters are UTF-16 code units.

/** What a model reads of one shell command or background task. */
export const SHELL_OUTPUT_CHARS = 30_000;
export const SHELL_TIMEOUT_MS = 120_000;
export const SHELL_MAX_TIMEOUT_MS = 600_000;
/** How long output may still arrive after the command itself ended. */
export const SHELL_DRAIN_MS = 150;
/** A foreground `sleep` at least this long that only waits is refused: waiting belongs in the background. */
export const SHELL_MAX_SLEEP_SECONDS = 5;
/** Pauses of the kill ladder: INT, then TERM, then KILL. Together below the two seconds after which nothing may run. */
export const KILL_AFTER_INT_MS = 300;
export const KILL_AFTER_TERM_MS = 1_000;
/** Live output shown to people, per window; the rest of a flood is not shown. */
export const LIVE_WINDOW_MS = 250;
export const LIVE_CHARS_PER_WINDOW = 64_000;
/** A line without an end is passed on in pieces of this size. */
export const MAX_PENDING_LINE_CHARS = 64_000;

/** How long exec_command waits for its program before it is left running. */
export const EXEC_YIELD_MS = { default: 10_000, min: 250, max: 30_000 };
/** The same for write_stdin, after it typed something and when it only looks. */
export const TYPED_YIELD_MS = { default: 250, min: 250, max: 30_000 };
export const POLL_YIELD_MS = { default: 5_000, min: 5_000, max: 300_000 };
/** What a program writes may come a moment after what was typed. */
export const ECHO_MS = 100;
export const EXEC_OUTPUT_TOKENS = 10_000;
/** Output nobody asked for yet; the oldest goes first. */
export const EXEC_UNREAD_CHARS = 1_000_000;
/** A session that ended is kept so long for whoever wants to know how. */
export const EXEC_KEPT_MS = 5 * 60 * 1000;
export const TERMINAL_SIZE = { columns: 80, rows: 24 };

export const BACKGROUND_MAX_RUNNING = 32;
export const BACKGROUND_KEPT = 100;
export const BACKGROUND_READ_BYTES = 1_000_000;
export const NOTIFICATION_CHARS = 10_000;
export const NOTIFICATION_LINES = 50;
/** A log or overflow file ends here, with a note; the program goes on. */
export const OUTPUT_FILE_BYTES = 200 * 1024 * 1024;

export const OVERFLOW_MAX_AGE_MS = 24 * 60 * 60 * 1000;
export const CLEAN_AFTER_MS = 5_000;
export const OVERFLOW_TOTAL_BYTES = 200 * 1024 * 1024;
/** A cut moves to a line boundary when one is this near. */
export const CUT_SLACK_CHARS = 200;

/** A search that takes longer is stopped; what it found so far counts. */
export const SEARCH_TIMEOUT_MS = 60_000;

export const READ_LINES = 2_000;
export const READ_LINE_CHARS = 2_000;
export const READ_CHARS = 30_000;
export const READ_FILE_BYTES = 10 * 1024 * 1024;

export const IMAGE_FILE_BYTES = 20 * 1024 * 1024;
export const IMAGE_MAX_SIDE = 2_000;
export const IMAGE_OUTPUT_BYTES = 5 * 1024 * 1024;
export const IMAGE_MAX_PIXELS = 25_000_000;

export const GREP_CHARS = 10_000;
export const GREP_BUFFER_BYTES = 10 * 1024 * 1024;
export const GREP_HEAD_LIMIT = 100;
export const GLOB_PATHS = 2_000;
export const GLOB_BUFFER_BYTES = 50 * 1024 * 1024;
export const LS_ENTRIES = 1_000;
export const LIST_DIR_LIMIT = 200;
export const LIST_DIR_DEPTH = 5;
export const LIST_DIR_COLLECTED = 12_000;
export const LIST_DIR_CHILDREN = 50;
export const CODEX_NAME_CHARS = 500;
export const CODEX_LINE_CHARS = 500;

export const MONITOR_TIMEOUT_MS = { default: 300_000, min: 1_000, max: 3_600_000 };
export const MONITOR_BATCH_MS = 200;
export const MONITOR_LINE_CHARS = 500;
export const MONITOR_BATCH_CHARS = 3_000;
/** Notifications that may come at once, and how long until there may be one more. */
export const MONITOR_TOKENS = 10;
export const MONITOR_REFILL_MS = 2_000;
/** A source that was too loud for this long is stopped. */
export const MONITOR_FLOOD_MS = 30_000;

export const FETCH_BYTES = 5 * 1024 * 1024;
export const FETCH_TIMEOUT_MS = 15_000;
export const FETCH_REDIRECTS = 5;

/** Larger files are not kept for undo. */
export const SHADOW_FILE_BYTES = 50 * 1024 * 1024;
/** A diff that takes longer to compute is left out. */
export const DIFF_TIMEOUT_MS = 400;
export const DIFF_FILE_CHARS = 2_000_000;
/** Files a conversation remembers having seen. */
export const SEEN_FILES = 5_000;
