// Fixed limits of hooks.

export const COMMAND_TIMEOUT_MS = 60_000;
export const PROMPT_TIMEOUT_MS = 30_000;
/** Leaving must not take long: what runs at the end of a session gets less. */
export const SESSION_END_TIMEOUT_MS = 5_000;
/** Kept of what a hook prints; the rest is read, so that the hook does not block, and dropped. */
export const STDOUT_CHARS = 256_000;
export const STDERR_CHARS = 32_000;
/** What the model reads of one hook. */
export const FEEDBACK_CHARS = 10_000;
/** What people see of one hook. */
export const NOTICE_CHARS = 2_000;
/** How long output may still arrive after the hook itself ended. */
export const DRAIN_MS = 150;
/** Times in a row a Stop hook may send the model back to work. */
export const MAX_STOP_CONTINUATIONS = 8;
