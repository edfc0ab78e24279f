// Settings files: user `~/.letta/settings.json`, project `.letta/settings.json` (checked in) and
// `.letta/settings.local.json` (personal), managed (administrator). Unknown keys survive, writes are locked, atomic and
// keep a `.bak`; a file that does not parse is never overwritten. `settings-file.ts` does the work for one file.

import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import * as v from "valibot";
import { LettaError } from "@/lib/errors.ts";
import { findGitRoot, ignoreLocally } from "./git-root.ts";
import { HookSettingsSchema } from "./hook-settings.ts";
import type { Paths } from "./paths.ts";
import { SettingsFile } from "./settings-file.ts";

/** Relative to the project's root. */
export const PROJECT_SETTINGS = ".letta/settings.json";
export const LOCAL_SETTINGS = ".letta/settings.local.json";

export const PermissionSettingsSchema = v.looseObject({
  mode: v.optional(v.string()),
  allow: v.optional(v.array(v.string())),
  deny: v.optional(v.array(v.string())),
  ask: v.optional(v.array(v.string())),
  alwaysAsk: v.optional(v.array(v.string())),
  additionalDirectories: v.optional(v.array(v.string())),
});
export type PermissionSettings = v.InferOutput<typeof PermissionSettingsSchema>;

export const SandboxSettingsSchema = v.looseObject({
  /** `off`, `workspace` or `strict`. */
  mode: v.optional(v.string()),
  /** `on` or `off`; default off. */
  network: v.optional(v.string()),
  /** Writable besides the workspace. Only the user and the administrator may add some. */
  writableRoots: v.optional(v.array(v.string())),
  /** Hidden besides the places of keys. */
  denyRead: v.optional(v.array(v.string())),
  /** Where no sandbox works, commands do not run. Default: they run as without one, which asks. */
  failIfUnavailable: v.optional(v.boolean()),
  /** Confined commands need no answer. Default false. */
  autoAllowShell: v.optional(v.boolean()),
});
export type SandboxSettings = v.InferOutput<typeof SandboxSettingsSchema>;

/** When and how an agent's memory is rewritten in the background (memory/reflection/settings.ts). */
const ReflectionSettingsSchema = v.looseObject({
  trigger: v.optional(v.picklist(["off", "step-count", "compaction-event"])),
  /** Replies of the agent between two dreams. */
  stepCount: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  merge: v.optional(v.picklist(["auto", "explicit", "review"])),
  mergeInstructions: v.optional(v.string()),
});
export type ReflectionSettings = v.InferOutput<typeof ReflectionSettingsSchema>;

const { trigger, stepCount, merge, mergeInstructions } = ReflectionSettingsSchema.entries;
/** For agents without an entry of their own. */
const reflectionSettings = {
  reflectionTrigger: trigger,
  reflectionStepCount: stepCount,
  reflectionMerge: merge,
  reflectionMergeInstructions: mergeInstructions,
  reflectionSettingsByAgent: v.optional(v.record(v.string(), ReflectionSettingsSchema)),
  /** How other versions said it: a number of replies, null for never, or `compaction`. */
  memoryReminderInterval: v.optional(v.union([v.null(), v.number(), v.string()])),
};

const SessionSchema = v.looseObject({ agentId: v.string(), conversationId: v.string() });

export const UserSettingsSchema = v.looseObject({
  schemaVersion: v.optional(v.number()),
  preferredBackendMode: v.optional(v.picklist(["api", "local"])),
  env: v.optional(v.record(v.string(), v.string())),
  permissions: v.optional(PermissionSettingsSchema),
  sandbox: v.optional(SandboxSettingsSchema),
  /** Handle used when an agent has no model of its own. */
  defaultModel: v.optional(v.string()),
  /** Newest first, at most 5. */
  recentModels: v.optional(v.array(v.string())),
  /** Interactive "last conversation" per server key; scripts never write it. */
  sessionsByServer: v.optional(v.record(v.string(), SessionSchema)),
  agents: v.optional(
    v.array(
      v.looseObject({
        agentId: v.string(),
        baseUrl: v.optional(v.string()),
        pinned: v.optional(v.boolean()),
        /** Tools its models are offered; for conversations without a choice of their own. */
        toolset: v.optional(v.string()),
        toolsetsByConversation: v.optional(v.record(v.string(), v.string())),
      }),
    ),
  ),
  createDefaultAgents: v.optional(v.boolean()),
  /** Device, cwd and git reminder on the first message. Default true. */
  sessionContextEnabled: v.optional(v.boolean()),
  hooks: v.optional(HookSettingsSchema),
  /** What is taken out of tool results before a model or a log sees it. Default `known`: the values of our own secrets. */
  redaction: v.optional(v.picklist(["off", "known", "known+patterns"])),
  ...reflectionSettings,
});
export type UserSettings = v.InferOutput<typeof UserSettingsSchema>;

/** Checked in with the repository: hostile until the folder is trusted. */
export const ProjectSettingsSchema = v.looseObject({
  permissions: v.optional(PermissionSettingsSchema),
  sandbox: v.optional(SandboxSettingsSchema),
  hooks: v.optional(HookSettingsSchema),
});
export type ProjectSettings = v.InferOutput<typeof ProjectSettingsSchema>;

export const LocalSettingsSchema = v.looseObject({
  permissions: v.optional(PermissionSettingsSchema),
  sandbox: v.optional(SandboxSettingsSchema),
  hooks: v.optional(HookSettingsSchema),
  /** Interactive "last conversation" of this directory, per server key. */
  sessionsByServer: v.optional(v.record(v.string(), SessionSchema)),
  /** Last conversation of `letta -p` in this directory, for `--continue`; never read interactively. */
  headlessByServer: v.optional(v.record(v.string(), SessionSchema)),
  ...reflectionSettings,
});
export type LocalSettings = v.InferOutput<typeof LocalSettingsSchema>;

/** `/etc/letta/managed-settings.json` and its macOS and Windows twins: cannot be overridden. */
const ManagedSettingsSchema = v.looseObject({
  permissions: v.optional(PermissionSettingsSchema),
  sandbox: v.optional(SandboxSettingsSchema),
  disableUnrestricted: v.optional(v.boolean()),
});
export type ManagedSettings = v.InferOutput<typeof ManagedSettingsSchema>;

export interface SettingsProblem {
  file: string;
  /** Names the line and column, or the offending key. */
  message: string;
  /** `unreadable`: nothing of the file is in force and it will not be written. `ignored`: one key is not in force. */
  kind: "unreadable" | "ignored";
  /** Dotted name of an ignored key. */
  key?: string;
}

export interface SettingsStore {
  readonly user: UserSettings;
  readonly project: ProjectSettings;
  readonly local: LocalSettings;
  readonly managed: ManagedSettings;
  /** Absolute; project settings are those of this directory (the git root, else cwd). Null when it is the home directory. */
  readonly projectRoot: string | null;
  /** Files that did not parse: defaults are in force for them, and writing them is refused. Also keys of a wrong type. */
  readonly problems: SettingsProblem[];
  /** Reads the file again under its lock, applies `change`, writes it back. Throws `storage` or `invalid_data`, naming
   *  the file; the old content stays. */
  updateUser(change: (settings: UserSettings) => void): Promise<void>;
  /** Throws `usage` when there is no project root. */
  updateLocal(change: (settings: LocalSettings) => void): Promise<void>;
  /** Throws `usage` when there is no project root. */
  updateProject(change: (settings: ProjectSettings) => void): Promise<void>;
}

export interface SettingsOptions {
  paths: Paths;
  /** Absolute. */
  cwd: string;
  /** The administrator's file. Default: the place of this operating system. */
  managedFile?: string;
}

/** Reads everything once, synchronously: four small files. Never throws for what a file contains. */
export async function openSettings(options: SettingsOptions): Promise<SettingsStore> {
  return new FileSettings(options);
}

class FileSettings implements SettingsStore {
  readonly projectRoot: string | null;
  readonly #user: SettingsFile<UserSettings>;
  readonly #project: SettingsFile<ProjectSettings> | null;
  readonly #local: SettingsFile<LocalSettings> | null;
  readonly #managed: SettingsFile<ManagedSettings>;

  constructor({ paths, cwd, managedFile = managedSettingsPath() }: SettingsOptions) {
    this.projectRoot = findProjectRoot(cwd, paths);
    const inProject = <T extends object>(schema: v.GenericSchema<unknown, T>, file: string) =>
      this.projectRoot === null
        ? null
        : new SettingsFile(schema, join(this.projectRoot, file), { within: this.projectRoot });
    this.#user = new SettingsFile<UserSettings>(UserSettingsSchema, paths.settings);
    this.#project = inProject<ProjectSettings>(ProjectSettingsSchema, PROJECT_SETTINGS);
    this.#local = inProject<LocalSettings>(LocalSettingsSchema, LOCAL_SETTINGS);
    this.#managed = new SettingsFile<ManagedSettings>(ManagedSettingsSchema, managedFile);
  }

  get user(): UserSettings {
    return this.#user.value;
  }
  get project(): ProjectSettings {
    return this.#project?.value ?? NO_SETTINGS;
  }
  get local(): LocalSettings {
    return this.#local?.value ?? NO_SETTINGS;
  }

  /** A damaged administrator's file locks down instead of opening up. */
  get managed(): ManagedSettings {
    return this.#managed.problems.some((problem) => problem.kind === "unreadable") ? LOCKED_DOWN : this.#managed.value;
  }

  get problems(): SettingsProblem[] {
    return [this.#managed, this.#user, this.#project, this.#local].flatMap((file) => file?.problems ?? []);
  }

  async updateUser(change: (settings: UserSettings) => void): Promise<void> {
    await this.#user.update(change);
  }

  async updateLocal(change: (settings: LocalSettings) => void): Promise<void> {
    const { file, root } = this.#needProject(this.#local);
    await file.update(change);
    ignoreLocally(root, `${LOCAL_SETTINGS}*`); // with its .bak
  }

  async updateProject(change: (settings: ProjectSettings) => void): Promise<void> {
    const { file, root } = this.#needProject(this.#project);
    await file.update(change);
    ignoreLocally(root, `${PROJECT_SETTINGS}.bak`);
  }

  #needProject<T extends object>(file: SettingsFile<T> | null): { file: SettingsFile<T>; root: string } {
    if (file && this.projectRoot) return { file, root: this.projectRoot };
    throw new LettaError("usage", "the home directory has no project settings", {
      hint: "Start letta inside a project directory, or save to the user settings.",
    });
  }
}

const NO_SETTINGS = Object.freeze({});
const LOCKED_DOWN: ManagedSettings = { disableUnrestricted: true, permissions: { mode: "standard" } };

/** The git root, else cwd. Never the home directory: its `.letta/settings.json` is the user's own file. */
function findProjectRoot(cwd: string, paths: Paths): string | null {
  const candidate = [findGitRoot(cwd), resolve(cwd)].find((root) => root !== null && !isHome(root, paths));
  return candidate ?? null;
}

function isHome(root: string, paths: Paths): boolean {
  const real = realpathOrSelf(root);
  return real === realpathOrSelf(paths.home) || join(real, ".letta") === realpathOrSelf(dirname(paths.settings));
}

function realpathOrSelf(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

function managedSettingsPath(): string {
  if (process.platform === "darwin") return "/Library/Application Support/Letta/managed-settings.json";
  if (process.platform === "win32") return "C:\\ProgramData\\Letta\\managed-settings.json";
  return "/etc/letta/managed-settings.json";
}
