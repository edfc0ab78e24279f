// Sizes of a memory. `MAX_FILE_BYTES` and `SYSTEM_BYTES` refuse; the others are advice that reaches whoever writes.

/** A file under `system/` is paid for with every request. */
export const SYSTEM_FILE_BYTES = 8 * 1024;
/** All files under `system/` together. */
export const SYSTEM_TOKENS = 24_000;
/** All files under `system/` together; what is larger already may only shrink. More would leave no room in a request. */
export const SYSTEM_BYTES = 4 * SYSTEM_TOKENS;
/** From here on a start says so. */
export const SYSTEM_WARNING_TOKENS = 30_000;
export const FILE_BYTES = 1024 * 1024;
export const REPOSITORY_BYTES = 64 * 1024 * 1024;
export const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** A note on what a file is for, not its content. */
export const DESCRIPTION_CHARS = 500;

/** The tree of what lies outside `system/`, as the prompt shows it. */
export const TREE_LINES = { value: 500, min: 2, max: 50_000 } as const;
export const TREE_CHARS = { value: 20_000, min: 128, max: 5_000_000 } as const;
export const TREE_CHILDREN = { value: 50, min: 1, max: 5_000 } as const;
/** Of a description in the tree: it is there to find the file. */
export const TREE_DESCRIPTION_CHARS = 160;
