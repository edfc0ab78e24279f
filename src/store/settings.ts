// Settings files: user `~/.letta/settings.json`, project `.letta/settings.json` (checked in) and
// `.letta/settings.local.json` (personal), managed (administrator). Unknown keys survive, writes are locked, atomic and
// keep a `.bak`; a file that does not parse is never overwritten.

import * as v from "valibot";

const RulesSchema = v.looseObject({
  mode: v.optional(v.string()),
  allow: v.optional(v.array(v.string())),
  deny: v.optional(v.array(v.string())),
  ask: v.optional(v.array(v.string())),
  alwaysAsk: v.optional(v.array(v.string())),
  additionalDirectories: v.optional(v.array(v.string())),
});
export type PermissionSettings = v.InferOutput<typeof RulesSchema>;

const SessionSchema = v.looseObject({ agentId: v.string(), conversationId: v.string() });

export const UserSettingsSchema = v.looseObject({
  schemaVersion: v.optional(v.number()),
  preferredBackendMode: v.optional(v.picklist(["api", "local"])),
  env: v.optional(v.record(v.string(), v.string())),
  permissions: v.optional(RulesSchema),
  /** Handle used when an agent has no model of its own. */
  defaultModel: v.optional(v.string()),
  /** Newest first, at most 5. */
  recentModels: v.optional(v.array(v.string())),
  /** Interactive "last conversation" per server key; scripts never write it. */
  sessionsByServer: v.optional(v.record(v.string(), SessionSchema)),
  agents: v.optional(
    v.array(v.looseObject({ agentId: v.string(), baseUrl: v.optional(v.string()), pinned: v.optional(v.boolean()) })),
  ),
  createDefaultAgents: v.optional(v.boolean()),
  /** Device, cwd and git reminder on the first message. Default true. */
  sessionContextEnabled: v.optional(v.boolean()),
});
export type UserSettings = v.InferOutput<typeof UserSettingsSchema>;

/** Checked in with the repository: hostile until the folder is trusted. */
export const ProjectSettingsSchema = v.looseObject({ permissions: v.optional(RulesSchema) });
export type ProjectSettings = v.InferOutput<typeof ProjectSettingsSchema>;

export const LocalSettingsSchema = v.looseObject({
  permissions: v.optional(RulesSchema),
  /** Interactive "last conversation" of this directory, per server key. */
  sessionsByServer: v.optional(v.record(v.string(), SessionSchema)),
  /** Last conversation of `letta -p` in this directory, for `--continue`; never read interactively. */
  headlessByServer: v.optional(v.record(v.string(), SessionSchema)),
});
export type LocalSettings = v.InferOutput<typeof LocalSettingsSchema>;

/** `/etc/letta/managed-settings.json` and its macOS and Windows twins: cannot be overridden. */
export const ManagedSettingsSchema = v.looseObject({
  permissions: v.optional(RulesSchema),
  disableUnrestricted: v.optional(v.boolean()),
});
export type ManagedSettings = v.InferOutput<typeof ManagedSettingsSchema>;

export interface SettingsProblem {
  file: string;
  /** Names the line and column, or the offending key. */
  message: string;
}

export interface SettingsStore {
  readonly user: UserSettings;
  readonly project: ProjectSettings;
  readonly local: LocalSettings;
  readonly managed: ManagedSettings;
  /** Absolute; project settings are those of this directory (the git root, else cwd). Null when it is the home directory. */
  readonly projectRoot: string | null;
  /** Files that did not parse: defaults are in force for them, and writing them is refused. */
  readonly problems: SettingsProblem[];
  /** Reads the file again under its lock, applies `change`, writes it back. Throws `storage` or `invalid_data`, naming
   *  the file; the old content stays. */
  updateUser(change: (settings: UserSettings) => void): Promise<void>;
  updateLocal(change: (settings: LocalSettings) => void): Promise<void>;
  updateProject(change: (settings: ProjectSettings) => void): Promise<void>;
}
