// One settings file: what it holds, what of it is valid, and how a change is written without losing anybody's keys.
// The raw object is kept beside the validated view, so that keys we do not know, or that have a wrong type, survive.

import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, sep } from "node:path";
import * as v from "valibot";
import { LettaError, systemReason } from "@/lib/errors.ts";
import { isDeeperThan, isRecord } from "@/lib/json.ts";
import { withFileLock, writeFileAtomic } from "./atomic-file.ts";
import { findJsonError } from "./json-position.ts";
import type { SettingsProblem } from "./settings.ts";

/** Larger than any settings file; stops a hostile repository from filling memory. */
const MAX_BYTES = 1 << 20;
/** Deeper than any settings. */
const MAX_DEPTH = 64;
/** Keys and elements dropped one by one; after that whole top-level keys go. */
const MAX_PROBLEMS = 20;

type Json = Record<string, unknown>;

interface Content<T> {
  raw: Json;
  value: T;
  problems: SettingsProblem[];
}

export class SettingsFile<T extends object> {
  #content: Content<T>;

  /** `within`: the file must really lie inside this directory; a link that leaves it is refused. */
  constructor(
    readonly schema: v.GenericSchema<unknown, T>,
    readonly path: string,
    readonly options: { within?: string } = {},
  ) {
    this.#content = this.#read();
  }

  get value(): T {
    return this.#content.value;
  }
  get problems(): SettingsProblem[] {
    return this.#content.problems;
  }

  async update(change: (settings: T) => void): Promise<void> {
    this.#content = await withFileLock(this.path, () => {
      const current = this.#read();
      const broken = current.problems.find((problem) => problem.kind === "unreadable");
      if (broken)
        throw new LettaError("invalid_data", `not written: ${this.path}: ${broken.message}`, {
          hint: "Repair or move the file; its content was left as it is.",
        });
      const after = structuredClone(current.value);
      change(after);
      const raw = overlay(current.raw, current.value as Json, after as Json);
      const text = `${JSON.stringify(raw, null, 2)}\n`;
      if (text !== `${JSON.stringify(current.raw, null, 2)}\n`) writeFileAtomic(this.path, text, { backup: true });
      return this.#parse(raw);
    });
  }

  #read(): Content<T> {
    let text: string | null;
    try {
      text = this.#readText();
    } catch (error) {
      return this.#unreadable(systemReason(error));
    }
    // An empty file is what a crashed editor leaves: nothing is lost by treating it as `{}`.
    if (text === null || text.trim() === "") return this.#parse({});
    let raw: unknown;
    try {
      raw = JSON.parse(text);
    } catch {
      const { line, column } = findJsonError(text);
      return this.#unreadable(`line ${line}, column ${column}: not valid JSON`);
    }
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return this.#unreadable("not a JSON object");
    if (isDeeperThan(MAX_DEPTH, raw)) return this.#unreadable(`nested deeper than ${MAX_DEPTH} levels`);
    return this.#parse(raw as Json);
  }

  #readText(): string | null {
    const stat = statSync(this.path, { throwIfNoEntry: false });
    this.#refuseOutside(stat ? this.path : dirname(this.path));
    if (!stat) return null;
    if (!stat.isFile()) throw new Error("not a regular file");
    if (stat.size > MAX_BYTES) throw new Error("larger than 1 MiB");
    return readFileSync(this.path, "utf8").replace(/^\uFEFF/, "");
  }

  /** Holds for a file that is about to be created, too: `.letta` itself may be a link. */
  #refuseOutside(path: string): void {
    const { within } = this.options;
    if (!within || !existsSync(path)) return;
    if (!realpathSync(path).startsWith(realpathSync(within).replace(/[/\\]?$/, sep)))
      throw new Error(`a link that leaves ${within}`);
  }

  /** Drops the keys that break the schema, each with a warning; the rest stays in force. */
  #parse(raw: Json): Content<T> {
    const problems: SettingsProblem[] = [];
    const candidate = structuredClone(raw);
    for (;;) {
      const result = v.safeParse(this.schema, candidate);
      if (result.success) return { raw, value: result.output, problems };
      // One at a time: removing an element moves its neighbours. A file full of nonsense loses whole keys instead.
      const issue = result.issues.at(-1)!;
      const path = (issue.path ?? []).map((item) => item.key as string | number);
      if (!removeAt(candidate, problems.length < MAX_PROBLEMS ? path : path.slice(0, 1)))
        return this.#unreadable(issue.message);
      const key = path.join(".");
      problems.push({ file: this.path, kind: "ignored", key, message: `\`${key}\` is ignored: ${issue.message}` });
    }
  }

  #unreadable(message: string): Content<T> {
    const empty = v.parse(this.schema, {});
    return { raw: {}, value: empty, problems: [{ file: this.path, kind: "unreadable", message }] };
  }
}

/** `raw` with what changed between `before` and `after`. */
function overlay(raw: Json, before: Json, after: Json): Json {
  const result: Json = { ...raw };
  for (const key of Object.keys(before)) if (after[key] === undefined) delete result[key];
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const [old, known] = [result[key], before[key]];
    result[key] = isRecord(value) && isRecord(old) ? overlay(old, isRecord(known) ? known : {}, value) : value;
  }
  return result;
}

/** Removes the element or key at `path`. A missing required key takes its parent with it. */
function removeAt(root: Json, path: (string | number)[]): boolean {
  const parents: unknown[] = [root];
  for (const key of path.slice(0, -1)) parents.push((parents.at(-1) as Json | undefined)?.[key]);
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const parent = parents[depth];
    const key = path[depth]!;
    if (Array.isArray(parent) && typeof key === "number" && key < parent.length) {
      parent.splice(key, 1);
      return true;
    }
    if (isRecord(parent) && Object.hasOwn(parent, key)) {
      delete parent[key];
      return true;
    }
  }
  return false;
}
