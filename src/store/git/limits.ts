// Fixed limits of the git engine. A repository may have been rewritten by a model or a remote: nothing in it may make us
// allocate or recurse without bound.

/** Of one file, one object. Real git's files above it are refused, not cut. */
export const MAX_OBJECT_BYTES = 128 * 1024 * 1024;
/** Of the index, packed-refs and other tables that are read whole. */
export const MAX_TABLE_BYTES = 512 * 1024 * 1024;
/** Of HEAD, a ref, `gitdir:` files, .gitignore. */
export const MAX_SMALL_FILE_BYTES = 1024 * 1024;
export const MAX_NAME_BYTES = 255;
export const MAX_PATH_BYTES = 4_000;
export const MAX_DEPTH = 256;
/** Deltas upon deltas in a pack; real git makes 50, with `--depth` up to 4095. */
export const MAX_DELTA_DEPTH = 4_096;
/** HEAD → ref → ref. */
export const MAX_SYMREF_DEPTH = 5;
/** Tags of tags. */
export const MAX_TAG_DEPTH = 10;
/** Parsed trees and commits kept by one opened repository. */
export const MAX_CACHED_OBJECTS = 20_000;
/** Written objects wait in memory for the moment something names them; above this they go to the disk. */
export const MAX_PENDING_BYTES = 32 * 1024 * 1024;
/** From so many new objects on, one pack is written instead of loose files: one sync, one inode. */
export const PACK_FROM_OBJECTS = 100;
/** Loose objects above this are packed by `maintain`. */
export const MAX_LOOSE_OBJECTS = 2_000;
/** Small packs above this are joined by `maintain`. */
export const MAX_SMALL_PACKS = 30;
export const SMALL_PACK_BYTES = 2 * 1024 * 1024;

/** Another process of ours commits in milliseconds; a large checkout takes seconds and keeps its lock fresh. */
export const WRITER_WAIT_MS = 15_000;
/** Without a heartbeat for this long a writer is dead, wherever it runs. */
export const WRITER_STALE_MS = 90_000;
/** Real git's locks: how long we wait for one. */
export const LOCK_WAIT_MS = 5_000;
/** Real git's locks older than this are left behind by a killed process. */
export const FOREIGN_LOCK_STALE_MS = 10 * 60_000;
