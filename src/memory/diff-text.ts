// Changes of files as text: the unified diff that git prints, so that people know it and programs can apply it.

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { FileMode, GitRepository } from "@/store/git/types.ts";
import { decodeLoosely } from "./validate.ts";

/** Null content: there is no such file before, or after. */
export interface FilePair {
  path: string;
  before: FileVersion | null;
  after: FileVersion | null;
}

export interface FileVersion {
  content: Uint8Array;
  mode: FileMode;
}

/** Comparing two files may take so long; then only that they differ is said. */
const TIMEOUT_MS = 1_000;
/** As far as git looks for a NUL byte. */
const SNIFFED_BYTES = 8_000;

/** What differs between two revisions, by path; null is nothing at all. */
export async function readPairs(
  repository: GitRepository,
  from: string | null,
  to: string | null,
  isWanted: (path: string) => boolean = () => true,
): Promise<FilePair[]> {
  const version = async (entry: { mode: FileMode; oid: string } | null): Promise<FileVersion | null> =>
    entry && {
      mode: entry.mode,
      // Another repository's commit is no content of this one.
      content: entry.mode === "160000" ? Buffer.from(`${entry.oid}\n`) : await repository.objects.readBlob(entry.oid),
    };
  const changed = (await repository.diffTrees(from, to)).filter(({ path }) => isWanted(path));
  return Promise.all(
    changed.map(async ({ path, before, after }) => ({
      path,
      before: await version(before),
      after: await version(after),
    })),
  );
}

export function formatDiff(pairs: readonly FilePair[]): string {
  return pairs.map(formatPair).join("");
}

function formatPair({ path, before, after }: FilePair): string {
  const [a, b] = [quoteName(`a/${path}`), quoteName(`b/${path}`)];
  const head = [`diff --git ${a} ${b}`];
  if (!before && after) head.push(`new file mode ${after.mode}`);
  else if (before && !after) head.push(`deleted file mode ${before.mode}`);
  else if (before && after && before.mode !== after.mode)
    head.push(`old mode ${before.mode}`, `new mode ${after.mode}`);
  const body = comparison(before?.content ?? NOTHING, after?.content ?? NOTHING, {
    from: before ? `a/${path}` : "/dev/null",
    to: after ? `b/${path}` : "/dev/null",
  });
  return `${head.join("\n")}\n${body}`;
}

const NOTHING = new Uint8Array();

function comparison(before: Uint8Array, after: Uint8Array, { from, to }: { from: string; to: string }): string {
  if (Buffer.compare(before, after) === 0) return "";
  const names = `files ${quoteName(from)} and ${quoteName(to)} differ`;
  if ([before, after].some((bytes) => bytes.subarray(0, SNIFFED_BYTES).includes(0))) return `Binary ${names}\n`;
  const options = { context: 3, timeout: TIMEOUT_MS, headerOptions: FILE_HEADERS_ONLY };
  const text = createTwoFilesPatch(
    from,
    to,
    decodeLoosely(before),
    decodeLoosely(after),
    undefined,
    undefined,
    options,
  );
  return text ?? `The ${names} in more than is shown here\n`;
}

/** As git does: a name with anything unusual in it is quoted, so that it cannot pass for another line. */
function quoteName(name: string): string {
  if (!/[\x00-\x1f"\\\x7f]/.test(name)) return name;
  const quoted = name.replace(
    /[\x00-\x1f"\\\x7f]/g,
    (char) => ESCAPES[char] ?? `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `"${quoted}"`;
}

const ESCAPES: Record<string, string> = {
  ...{ '"': '\\"', "\\": "\\\\", "\x07": "\\a", "\b": "\\b", "\t": "\\t" },
  ...{ "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r" },
};
