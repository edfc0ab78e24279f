// Fixed limits of talking to remotes. What answers there is not trusted to be small, quick, or to end.

/** Of one answer. A memory is text; the soft limit of a whole repository is 64 MiB. */
export const MAX_REMOTE_BYTES = 256 * 1024 * 1024;
/** Of all objects of one fetch, inflated. */
export const MAX_FETCHED_BYTES = 1024 * 1024 * 1024;
/** Of one request with its answer. */
export const REMOTE_TIMEOUT_MS = 180_000;
/** Of one fetch or push, attempts and all. */
export const OPERATION_TIMEOUT_MS = 10 * 60_000;
export const REMOTE_ATTEMPTS = 3;
/** Before the second attempt; twice as long before each further one. */
export const REMOTE_PAUSE_MS = 500;
