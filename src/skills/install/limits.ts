// What a skill from elsewhere may be, at most, and how long we wait for it. Whoever serves it is not trusted to be small,
// quick, or to end.

/** Of one skill, unpacked. */
export const MAX_SKILL_BYTES = 20 * 1024 * 1024;
export const MAX_SKILL_FILES = 2_000;
/** Of its SKILL.md: a larger one is never loaded. */
export const MAX_TEXT_BYTES = 1024 * 1024;
/** Of an archive that holds one skill. */
export const MAX_ARCHIVE_BYTES = 24 * 1024 * 1024;
/** Of an archive of a whole repository, of which one folder is wanted: as it comes, and unpacked. */
export const MAX_REPOSITORY_BYTES = 256 * 1024 * 1024;
export const MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024;
/** Files and folders of an archive, wanted or not. */
export const MAX_ENTRIES = 200_000;
/** Text packs to a fifth, tables to a twentieth: more than this is made to burst. Small files may be all alike. */
export const MAX_RATIO = 200;
export const RATIO_FREE_BYTES = 1024 * 1024;

export const MAX_PATH_CHARS = 240;
export const MAX_PATH_DEPTH = 12;
export const MAX_NAME_CHARS = 64;

/** Without a byte arriving. */
export const STALL_MS = 30_000;
export const DOWNLOAD_MS = 10 * 60_000;
export const MAX_REDIRECTS = 5;
