// Which mode is in force, and why. Settings inside a project may lower the mode, never raise it; the administrator's
// ceiling binds everybody.

import type { ManagedSettings } from "@/store/settings.ts";
import { findMode } from "./rules.ts";
import type { PermissionMode } from "./types.ts";

const RANK: Record<PermissionMode, number> = { plan: 0, strict: 1, standard: 2, acceptEdits: 3, unrestricted: 4 };

export interface ModeInput {
  /** A flag, or what the user switched to. */
  chosen?: { mode: PermissionMode; source: string };
  user?: string;
  /** Only when trusted. */
  project?: string;
  local?: string;
  managed: ManagedSettings;
  /** Some settings were dropped, perhaps with deny rules in them: nothing above `standard` unless a flag says so. */
  damaged: boolean;
}

export function resolveMode(input: ModeInput): { mode: PermissionMode; source: string } {
  const ceiling = modeCeiling(input.managed);
  const wanted = input.chosen ?? fromSettings(input);
  return ceiling && isAbove(wanted.mode, ceiling) ? { mode: ceiling, source: "managed settings" } : wanted;
}

function fromSettings({ user, project, local, damaged }: ModeInput): { mode: PermissionMode; source: string } {
  let current: { mode: PermissionMode; source: string } = { mode: "standard", source: "default" };
  const userMode = user === undefined ? undefined : findMode(user);
  if (userMode) current = { mode: userMode, source: "user settings" };
  else if (user !== undefined) current = { mode: "standard", source: `user settings name no known mode (${user})` };
  for (const [text, source] of [
    [project, "project settings"],
    [local, "local settings"],
  ] as const) {
    const mode = text === undefined ? undefined : findMode(text);
    if (mode && isAbove(current.mode, mode)) current = { mode, source };
  }
  return damaged && isAbove(current.mode, "standard")
    ? { mode: "standard", source: "a settings file is damaged" }
    : current;
}

export function modeCeiling(managed: ManagedSettings): PermissionMode | null {
  const limits: PermissionMode[] = managed.disableUnrestricted ? ["acceptEdits"] : [];
  const text = managed.permissions?.mode;
  // A ceiling nobody can read is taken as the cautious one.
  if (text !== undefined) limits.push(findMode(text) ?? "standard");
  return limits.sort((a, b) => RANK[a] - RANK[b])[0] ?? null;
}

function isAbove(mode: PermissionMode, other: PermissionMode): boolean {
  return RANK[mode] > RANK[other];
}
