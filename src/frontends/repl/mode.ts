// Which permission modes a person can choose here. Unrestricted is never one keystroke away: it is chosen when `letta`
// starts, or in the user's settings.

import type { PermissionChecker, PermissionMode } from "@/permissions/types.ts";

const CYCLE: PermissionMode[] = ["standard", "acceptEdits", "plan"];

export const MODES: Record<PermissionMode, string> = {
  standard: "reading is free, changes and commands ask",
  acceptEdits: "edits inside the workspace are free too",
  plan: "nothing may be changed",
  strict: "everything asks that no rule allows",
  unrestricted: "nothing asks",
};

/** Shift-Tab. */
export function cycleMode(permissions: Pick<PermissionChecker, "mode" | "setMode">): void {
  permissions.setMode(CYCLE[(CYCLE.indexOf(permissions.mode) + 1) % CYCLE.length] ?? "standard");
}
