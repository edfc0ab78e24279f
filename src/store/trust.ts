// Workspace trust: a cloned repository is hostile until the user trusted it. Kept by real path in `~/.letta/trust.json`
// as hashes of every single entry that would take effect, so that a new or changed entry asks again while an entry this
// process wrote after the user's own answer is accepted alone, without the rest of a folder nobody has trusted.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import * as v from "valibot";
import { LettaError } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { withFileLock, writeFileAtomic } from "./atomic-file.ts";
import type { Paths } from "./paths.ts";
import { LOCAL_SETTINGS, PROJECT_SETTINGS, type SettingsStore } from "./settings.ts";

export interface TrustItem {
  /** File the item comes from, relative to the project root. */
  file: string;
  /** For example `allow rule Bash(npm test)`, `permission mode unrestricted`. */
  description: string;
}

/** One thing a project file would put into force. */
export interface TrustEntry {
  source: "project" | "local";
  /** Dotted settings key, for example `permissions.allow`. */
  key: string;
  value: unknown;
}

export interface Trust {
  /** `nothing`: the folder holds nothing that would need trust. `changed`: trusted before, but the content differs now. */
  readonly status: "trusted" | "untrusted" | "changed" | "nothing";
  /** What would take effect. */
  readonly items: TrustItem[];
  /** Grows with every decision; lets others cache what they derived. */
  readonly revision: number;
  /** True for exactly the entries the user accepted; others of the same folder may still be inert. */
  accepts(entry: TrustEntry): boolean;
  /** Accepts entries this process wrote after the user's answer, and nothing else. */
  accept(entries: TrustEntry[]): Promise<void>;
  /** Remembers the decision in `~/.letta/trust.json`, for what `items` shows now. */
  grant(): Promise<void>;
  revoke(): Promise<void>;
}

/** What needs trust because something reads it, one line per settings key. `describe` is shown to the person who decides. `deny`, `ask` and
 *  `alwaysAsk` are missing on purpose: they only take away, so they always count. */
const CONTRIBUTORS: { key: string; describe(value: unknown, name?: string): string }[] = [
  { key: "permissions.mode", describe: (value) => `permission mode ${show(value)}, where it is stricter than yours` },
  { key: "permissions.allow", describe: (value) => `allow rule ${show(value)}` },
  { key: "permissions.additionalDirectories", describe: (value) => `additional directory ${show(value)}` },
  { key: "hooks", describe: (value, name) => `hook ${name}: ${show(value, HOOK_CHARS)}` },
];

/** All the hooks of one event: commands, to be read whole. */
const HOOK_CHARS = 2_000;
const ITEM_CHARS = HOOK_CHARS + 200;

const FolderSchema = v.looseObject({
  /** SHA-256 of each accepted entry. */
  entries: v.array(v.string()),
  /** The user trusted the folder as a whole, not only single entries. */
  granted: v.boolean(),
  updatedAt: v.string(),
});
const TrustFileSchema = v.looseObject({ version: v.literal(1), folders: v.record(v.string(), FolderSchema) });
type TrustFile = v.InferOutput<typeof TrustFileSchema>;

/** What needs trust and is no setting. */
export interface TrustContribution extends TrustItem {
  entry: TrustEntry;
}

export interface TrustOptions {
  paths: Paths;
  settings: SettingsStore;
  /** What else the folder brings along, as of now. Default: nothing. */
  others?: () => TrustContribution[];
}

export async function openTrust(options: TrustOptions): Promise<Trust> {
  return new FolderTrust(options);
}

class FolderTrust implements Trust {
  readonly file: string;
  readonly #folder: string | null;
  readonly #list: () => TrustContribution[];
  #accepted: ReadonlySet<string>;
  #granted: boolean;
  revision = 0;

  constructor({ paths, settings, others = () => [] }: TrustOptions) {
    const { trust: file } = paths;
    this.file = file;
    this.#list = () => [...listSettings(settings), ...others()];
    const root = settings.projectRoot;
    this.#folder = root === null || !existsSync(root) ? root : realpathSync(root);
    const record = this.#folder === null ? undefined : readTrustFile(file)?.folders[this.#folder];
    this.#accepted = new Set(record?.entries);
    this.#granted = record?.granted ?? false;
  }

  get status(): Trust["status"] {
    const entries = this.#list();
    if (entries.length === 0) return "nothing";
    if (entries.every(({ entry }) => this.accepts(entry))) return "trusted";
    return this.#granted ? "changed" : "untrusted";
  }

  get items(): TrustItem[] {
    return this.#list().map(({ file, description }) => ({
      file: show(file),
      description: show(description, ITEM_CHARS),
    }));
  }

  accepts(entry: TrustEntry): boolean {
    return this.#accepted.has(hashEntry(entry));
  }

  /** Added to what the file holds by now: another process may have accepted something meanwhile. */
  async accept(entries: TrustEntry[]): Promise<void> {
    await this.#save((record) => ({
      entries: [...(record?.entries ?? []), ...entries.map(hashEntry)],
      granted: record?.granted ?? false,
    }));
  }

  /** Only what is in force now: entries that were removed are forgotten, so that they ask when they come back. */
  async grant(): Promise<void> {
    await this.#save(() => ({ entries: this.#list().map(({ entry }) => hashEntry(entry)), granted: true }));
  }

  async revoke(): Promise<void> {
    await this.#save(() => null);
  }

  async #save(change: (record: Decision | undefined) => Decision | null): Promise<void> {
    const folder = this.#folder;
    if (folder === null) return;
    const decision = await withFileLock(this.file, () => {
      const current = readTrustFile(this.file);
      if (current === null)
        throw new LettaError("invalid_data", `not written: ${this.file} is damaged`, {
          hint: "Repair or remove the file; removing it means every folder asks for trust again.",
        });
      const { [folder]: previous, ...others } = current.folders;
      const next = change(previous);
      const record = next && { ...next, entries: [...new Set(next.entries)], updatedAt: new Date().toISOString() };
      const folders = record ? { ...others, [folder]: record } : others;
      writeFileAtomic(this.file, `${JSON.stringify({ ...current, folders }, null, 2)}\n`, { backup: true });
      return record;
    });
    this.#accepted = new Set(decision?.entries);
    this.#granted = decision?.granted ?? false;
    this.revision += 1;
  }
}

interface Decision {
  entries: string[];
  granted: boolean;
}

/** Null when the file is damaged: then nothing is trusted. */
function readTrustFile(file: string): TrustFile | null {
  if (!existsSync(file)) return { version: 1, folders: {} };
  try {
    const result = v.safeParse(TrustFileSchema, JSON.parse(readFileSync(file, "utf8")));
    return result.success ? result.output : null;
  } catch {
    return null; // Not JSON or not readable: the same as damaged.
  }
}

function listSettings(settings: SettingsStore): TrustContribution[] {
  return (["project", "local"] as const).flatMap((source) =>
    CONTRIBUTORS.flatMap(({ key, describe }) =>
      splitValue(findValue(settings[source], key)).map(([value, name]) => ({
        entry: { source, key, value: name === undefined ? value : [name, value] },
        file: source === "project" ? PROJECT_SETTINGS : LOCAL_SETTINGS,
        description: describe(value, name),
      })),
    ),
  );
}

/** Lists and maps are trusted element by element. */
function splitValue(value: unknown): [value: unknown, name?: string][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((element) => [element]);
  if (typeof value === "object") return Object.entries(value).map(([name, element]) => [element, name]);
  return [[value]];
}

function findValue(settings: object, key: string): unknown {
  return key
    .split(".")
    .reduce<unknown>(
      (value, part) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, part)
          ? (value as Record<string, unknown>)[part]
          : undefined,
      settings,
    );
}

function hashEntry({ source, key, value }: TrustEntry): string {
  return sha256(canonicalJson([source, key, value]));
}

/** Equal values give equal text whatever the order of their keys. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Control characters could hide on the terminal what is being trusted, and so could length: what is cut is said. */
function show(value: unknown, maxChars = 200): string {
  const text = typeof value === "string" ? value : canonicalJson(value);
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, "?");
  if (plain.length <= maxChars) return plain;
  return `${plain.slice(0, maxChars)}… and ${plain.length - maxChars} more characters`;
}
