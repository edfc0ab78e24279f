// A file of secrets: JSON, readable by its owner alone, changed under a lock and written whole. What does not parse is
// reported and left alone, in words that quote nothing of it.

import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import { withFileLock, writeFileAtomic } from "./atomic-file.ts";

export interface SecretFile<T> {
  /** Throws `storage`, or `invalid_data` for a damaged file. */
  read(): T;
  change(edit: (content: T) => void): Promise<void>;
}

export interface SecretFileOptions<Schema extends v.GenericSchema> {
  path: string;
  schema: Schema;
  /** Content of a file that does not exist yet. */
  empty(): v.InferOutput<Schema>;
  /** What to do after it was repaired or moved away, as in "then <redo>". */
  redo: string;
}

export function openSecretFile<Schema extends v.GenericSchema>({
  path,
  schema,
  empty,
  redo,
}: SecretFileOptions<Schema>): SecretFile<v.InferOutput<Schema>> {
  const read = (): v.InferOutput<Schema> => {
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return empty();
      throw new LettaError("storage", `cannot read ${path}: ${systemReason(error)}`, { cause: error });
    }
    try {
      return v.parse(schema, JSON.parse(text));
    } catch (error) {
      const reason = v.isValiError(error) ? describeShape(error.issues[0]) : "it is not JSON";
      throw new LettaError("invalid_data", `cannot use ${path}: ${reason}`, {
        // Not the parser's own words, which may quote a value.
        hint: `Repair the file or move it away, then ${redo}. It was not changed.`,
      });
    }
  };
  return {
    read,
    change: (edit) =>
      withFileLock(path, () => {
        const content = read();
        edit(content);
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        writeFileAtomic(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
        if (process.platform === "win32") return;
        // A file somebody created with looser rights must not stay that way.
        chmodSync(path, 0o600);
        chmodSync(dirname(path), 0o700);
      }),
  };
}

/** Where and what, never the value. */
function describeShape(issue: v.BaseIssue<unknown>): string {
  return `${v.getDotPath(issue) ?? "the top level"} should be ${issue.expected ?? "something else"}`;
}
