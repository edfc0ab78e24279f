// `letta config …`: reads and changes the settings files by key, so that nobody has to know where they are.
// Keys are paths with dots (`permissions.mode`); values are JSON, or plain text when they do not parse as JSON.

import { join } from "node:path";
import { defineCommand } from "citty";
import * as v from "valibot";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { redactSecrets } from "@/lib/redact.ts";
import { renderFields } from "@/lib/table.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { parseMode, parseRuleList } from "@/permissions/rules.ts";
import { SANDBOX_MODES } from "@/sandbox/settings.ts";
import {
  LOCAL_SETTINGS,
  LocalSettingsSchema,
  PermissionSettingsSchema,
  PROJECT_SETTINGS,
  ProjectSettingsSchema,
  SandboxSettingsSchema,
  type SettingsStore,
  UserSettingsSchema,
} from "@/store/settings.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

const scopeArg = {
  scope: {
    type: "enum",
    options: ["user", "project", "local"],
    description: "user (default), project (checked in) or local (this directory, personal)",
  },
} satisfies Record<string, { type: "enum"; options: string[]; description: string }>;
const keyArg = { type: "positional", required: true, description: "Key, for example permissions.mode" } as const;

const get = defineCommand({
  meta: { name: "get", description: "Print one value" },
  args: { key: keyArg, ...scopeArg, ...outputArgs },
  run: ({ args, data }) => withCore(data, (core, io) => runConfigGet(core, args, io)),
});

const set = defineCommand({
  meta: { name: "set", description: "Change one value; it is checked before it is saved" },
  args: {
    key: keyArg,
    value: { type: "positional", required: true, description: "JSON, or plain text" },
    ...scopeArg,
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runConfigSet(core, args, io)),
});

const unset = defineCommand({
  meta: { name: "unset", description: "Remove one value" },
  args: { key: keyArg, ...scopeArg, ...outputArgs },
  run: ({ args, data }) => withCore(data, (core, io) => runConfigUnset(core, args, io)),
});

const list = defineCommand({
  meta: { name: "list", description: "Print all values of one settings file" },
  args: { ...scopeArg, ...outputArgs },
  run: ({ args, data }) => withCore(data, (core, io) => runConfigList(core, args, io)),
});

const path = defineCommand({
  meta: { name: "path", description: "Print where the settings files and the local store are" },
  args: outputArgs,
  run: ({ args, data }) => withCore(data, (core, io) => runConfigPath(core, args, io)),
});

export const command = defineCommand({
  subCommands: { get, set, unset, list, path },
});

type Scope = "user" | "project" | "local";
const STATE = [
  "schemaVersion",
  "recentModels",
  "agents",
  "sessionsByServer",
  "headlessByServer",
  "headlessByDirectory",
];
const RULE_LISTS = ["allow", "deny", "ask", "alwaysAsk"];
interface ScopedArgs extends OutputArgs {
  scope?: string;
}

export async function runConfigGet(core: Core, args: ScopedArgs & { key: string }, io: Io): Promise<number> {
  return present(
    io,
    args,
    () => {
      const scope = parseScope(args.scope);
      const keys = parseKey(args.key, core.settings[scope]);
      const value = keys.reduce<unknown>(child, core.settings[scope]);
      if (value === undefined) {
        throw new LettaError("not_found", `${args.key} is not set in the ${scope} settings`, {
          hint: "See: letta config list",
        });
      }
      return redactSecrets(value, keys.at(-1));
    },
    { text: (value) => `${typeof value === "string" ? toPlainLine(value) : JSON.stringify(value, null, 2)}\n` },
  );
}

export async function runConfigSet(
  core: Core,
  args: ScopedArgs & { key: string; value: string },
  io: Io,
): Promise<number> {
  const value = parseValue(args.value);
  return present(
    io,
    args,
    () =>
      change(core, args, (settings, keys) => {
        container(settings, keys)[keys.at(-1)!] = value;
        checkPermissions(settings, keys);
        if (keys[0] === "sandbox") checkSandbox(child(settings, "sandbox"));
      }),
    {
      text: ({ scope, key }) => {
        const unknown = isKnown(scope, key) ? "" : ". It is no setting of letta's; other programs may know it";
        return `Saved ${key} in the ${scope} settings${unknown}\n`;
      },
    },
  );
}

export async function runConfigUnset(core: Core, args: ScopedArgs & { key: string }, io: Io): Promise<number> {
  let found = false;
  const removeKey = (settings: Record<string, unknown>, keys: string[]): void => {
    found = remove(settings, keys);
  };
  return present(io, args, () => change(core, args, removeKey), {
    text: ({ scope, key }) =>
      found ? `Removed ${key} from the ${scope} settings\n` : `${key} was not set in the ${scope} settings\n`,
  });
}

export async function runConfigList(core: Core, args: ScopedArgs, io: Io): Promise<number> {
  return present(io, args, () => redactSecrets<Record<string, unknown>>(core.settings[parseScope(args.scope)]), {
    text: (settings) => {
      const rows = leaves(settings).map(([key, value]): [string, string] => [key, JSON.stringify(value)]);
      const chosen = rows.filter(([key]) => !isState(key));
      const kept = rows.length - chosen.length;
      return (
        (chosen.length === 0 ? "Nothing is set.\n" : renderFields(chosen)) +
        (kept === 0 ? "" : `Also in the file: ${plural(kept, "value")} letta remembers by itself (--format json).\n`)
      );
    },
  });
}

/** What letta remembers in a settings file, as opposed to what somebody chose. */
function isState(key: string): boolean {
  return STATE.includes(key.split(".")[0] ?? "");
}

export async function runConfigPath(core: Core, args: OutputArgs, io: Io): Promise<number> {
  const { projectRoot } = core.settings;
  return present(
    io,
    args,
    () => ({
      user: core.paths.settings,
      project: projectRoot && join(projectRoot, PROJECT_SETTINGS),
      local: projectRoot && join(projectRoot, LOCAL_SETTINGS),
      database: core.paths.database,
      problems: core.settings.problems,
    }),
    {
      text: ({ problems, ...files }) =>
        renderFields(Object.entries(files)) +
        problems.map(({ file, message }) => `${toPlainLine(file)}: ${toPlainLine(message)}\n`).join(""),
    },
  );
}

async function change(
  core: Core,
  args: ScopedArgs & { key: string },
  apply: (settings: Record<string, unknown>, keys: string[]) => void,
): Promise<{ scope: Scope; key: string }> {
  const scope = parseScope(args.scope);
  await update(core.settings, scope, (settings) => {
    const changed = structuredClone(settings);
    apply(changed, parseKey(args.key, settings));
    check(scope, changed, args.key);
    // In place, because the store writes the object it handed out.
    for (const key of Object.keys(settings)) delete settings[key];
    Object.assign(settings, changed);
  });
  return { scope, key: args.key };
}

function update(store: SettingsStore, scope: Scope, edit: (settings: Record<string, unknown>) => void): Promise<void> {
  if (scope === "user") return store.updateUser(edit);
  return scope === "project" ? store.updateProject(edit) : store.updateLocal(edit);
}

const SCHEMAS = { user: UserSettingsSchema, project: ProjectSettingsSchema, local: LocalSettingsSchema };

/** Refuses what the next start would warn about. */
function check(scope: Scope, settings: unknown, key: string): void {
  const result = v.safeParse(SCHEMAS[scope], settings);
  if (result.success) return;
  const issue = result.issues[0];
  const where = v.getDotPath(issue) ?? key;
  const isList = issue.expected === "Array";
  const expected = isList ? "a list" : (issue.expected ?? "another value");
  throw new LettaError("usage", `${where}: expected ${expected}, got ${issue.received}`, {
    ...(isList && { hint: `Lists are JSON: letta config set ${where} '["…", "…"]'` }),
  });
}

/** Modes and rules are text to the schema; what is being set must also mean something. */
function checkPermissions(settings: Record<string, unknown>, keys: string[]): void {
  if (keys[0] !== "permissions") return;
  const permissions = child(settings, "permissions");
  for (const name of keys[1] === undefined ? ["mode", ...RULE_LISTS] : [keys[1]]) {
    const value = child(permissions, name);
    if (name === "mode" && typeof value === "string") parseMode(value);
    if (!RULE_LISTS.includes(name) || !Array.isArray(value)) continue;
    for (const rule of value) if (typeof rule === "string") parseRuleList(rule);
  }
}

function checkSandbox(sandbox: unknown): void {
  for (const [name, values] of Object.entries({ mode: SANDBOX_MODES as readonly string[], network: ["on", "off"] })) {
    const value = child(sandbox, name);
    if (typeof value !== "string" || values.includes(value)) continue;
    throw new LettaError("usage", `sandbox.${name} must be one of ${values.join(", ")}, not "${value}"`);
  }
}

function isKnown(scope: Scope, key: string): boolean {
  const [group = "", name] = key.split(".");
  if (!Object.hasOwn(SCHEMAS[scope].entries, group)) return false;
  const entries =
    group === "permissions"
      ? PermissionSettingsSchema.entries
      : group === "sandbox"
        ? SandboxSettingsSchema.entries
        : undefined;
  return entries === undefined || name === undefined || Object.hasOwn(entries, name);
}

function parseScope(text: string | undefined): Scope {
  if (text === undefined || text === "user") return "user";
  if (text === "project" || text === "local") return text;
  throw new LettaError("usage", `--scope takes user, project or local, not "${text}"`);
}

/** Splits at dots, but existing keys may contain dots themselves (server keys do): the longest existing key wins. */
function parseKey(key: string, settings: unknown): string[] {
  const words = key.split(".");
  if (words.some((word) => word === "" || word === "__proto__" || word === "constructor" || word === "prototype")) {
    throw new LettaError("usage", `"${key}" is not a settings key`);
  }
  const keys: string[] = [];
  let target = settings;
  while (words.length > 0) {
    let count = words.length;
    while (count > 1 && child(target, words.slice(0, count).join(".")) === undefined) count -= 1;
    const name = words.splice(0, count).join(".");
    keys.push(name);
    target = child(target, name);
  }
  return keys;
}

function child(target: unknown, key: string): unknown {
  if (typeof target !== "object" || target === null || !Object.hasOwn(target, key)) return undefined;
  return (target as Record<string, unknown>)[key];
}

/** The object that holds the last key; missing ones are made. */
function container(settings: Record<string, unknown>, keys: string[]): Record<string, unknown> {
  let target = settings;
  for (const key of keys.slice(0, -1)) {
    const next = child(target, key) ?? {};
    if (typeof next !== "object" || next === null || Array.isArray(next)) {
      throw new LettaError("usage", `${key} is a value, not a group of settings`);
    }
    target[key] = next;
    target = next as Record<string, unknown>;
  }
  return target;
}

/** Removes the value and the groups it leaves empty. False when it was not there. */
function remove(target: Record<string, unknown>, keys: string[]): boolean {
  const [key = "", ...rest] = keys;
  const value = child(target, key);
  if (value === undefined) return false;
  const found = rest.length === 0 || remove(value as Record<string, unknown>, rest);
  if (rest.length === 0 || (found && Object.keys(value as object).length === 0)) delete target[key];
  return found;
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // `standard` needs no quotes
  }
}

/** Every value with the path to it; arrays and empty objects are values. */
function leaves(value: Record<string, unknown>, prefix = ""): [string, unknown][] {
  return Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    const nested = typeof item === "object" && item !== null && !Array.isArray(item) && Object.keys(item).length > 0;
    return nested ? leaves(item as Record<string, unknown>, `${prefix}${key}.`) : [[prefix + key, item]];
  });
}
