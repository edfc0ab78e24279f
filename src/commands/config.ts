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
import {
  LocalSettingsSchema,
  ProjectSettingsSchema,
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
  return change(core, args, io, (target, key) => {
    target[key] = value;
  });
}

export async function runConfigUnset(core: Core, args: ScopedArgs & { key: string }, io: Io): Promise<number> {
  return change(core, args, io, (target, key) => {
    delete target[key];
  });
}

export async function runConfigList(core: Core, args: ScopedArgs, io: Io): Promise<number> {
  return present(io, args, () => redactSecrets(core.settings[parseScope(args.scope)]) as Record<string, unknown>, {
    text: (settings) => {
      const rows = leaves(settings).map(([key, value]): [string, string] => [key, JSON.stringify(value)]);
      return rows.length === 0 ? "Nothing is set.\n" : renderFields(rows);
    },
  });
}

export async function runConfigPath(core: Core, args: OutputArgs, io: Io): Promise<number> {
  const { projectRoot } = core.settings;
  return present(
    io,
    args,
    () => ({
      user: core.paths.settings,
      project: projectRoot && join(projectRoot, ".letta", "settings.json"),
      local: projectRoot && join(projectRoot, ".letta", "settings.local.json"),
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
  io: Io,
  apply: (target: Record<string, unknown>, key: string) => void,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const scope = parseScope(args.scope);
      await update(core.settings, scope, (settings) => {
        const keys = parseKey(args.key, settings);
        const changed = structuredClone(settings);
        apply(container(changed, keys), keys.at(-1)!);
        check(scope, changed, args.key);
        // In place, because the store writes the object it handed out.
        for (const key of Object.keys(settings)) delete settings[key];
        Object.assign(settings, changed);
      });
      return { scope, key: args.key };
    },
    { text: ({ scope, key }) => `Saved ${key} in the ${scope} settings\n` },
  );
}

function update(store: SettingsStore, scope: Scope, edit: (settings: Record<string, unknown>) => void): Promise<void> {
  if (scope === "user") return store.updateUser(edit);
  return scope === "project" ? store.updateProject(edit) : store.updateLocal(edit);
}

/** Refuses what the next start would warn about. */
function check(scope: Scope, settings: unknown, key: string): void {
  const schema = { user: UserSettingsSchema, project: ProjectSettingsSchema, local: LocalSettingsSchema }[scope];
  const result = v.safeParse(schema, settings);
  if (result.success) return;
  const issue = result.issues[0];
  const where = v.getDotPath(issue) ?? key;
  throw new LettaError("usage", `${where}: expected ${issue.expected ?? "another value"}, got ${issue.received}`);
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
