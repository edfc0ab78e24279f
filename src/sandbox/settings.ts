// What the settings say about the sandbox. Administrator beats flag beats user; a project may only ask for less.

import { LettaError } from "@/lib/errors.ts";
import type { SettingsStore } from "@/store/settings.ts";

export type SandboxMode = "off" | "workspace" | "strict";
export const SANDBOX_MODES: readonly SandboxMode[] = ["off", "workspace", "strict"];

export interface SandboxChoice {
  /** `memory-subagent` is chosen by the harness alone. */
  mode: SandboxMode | "memory-subagent";
  /** Who chose the mode, for display. */
  source: "harness" | "managed settings" | "flag" | "user settings" | "project settings" | "local settings" | "default";
  network: "on" | "off";
  writableRoots: string[];
  denyRead: string[];
  /** Where no sandbox works, commands do not run at all. */
  failIfUnavailable: boolean;
  /** A confined command needs no answer. */
  autoAllowShell: boolean;
}

const OTHER_NAMES: Record<string, SandboxMode> = { "workspace-write": "workspace", "read-only": "strict" };

const NETWORKS = ["on", "off"];

/** `fallback` is the mode when nobody chose one. Throws `usage` for a network that nobody can provide: who writes
 *  "allowlist" must not believe that it is in force. A project's counts as "off", like everything it cannot loosen. */
export function resolveSandbox(
  settings: Pick<SettingsStore, "managed" | "user" | "project" | "local">,
  { flag, fallback }: { flag?: SandboxMode; fallback: SandboxMode },
): SandboxChoice {
  const managed = settings.managed.sandbox ?? {};
  const user = settings.user.sandbox ?? {};
  const inProject = [
    { source: "project settings", value: settings.project.sandbox ?? {} },
    { source: "local settings", value: settings.local.sandbox ?? {} },
  ] as const;

  let chosen: { mode: SandboxMode; source: SandboxChoice["source"] } = { mode: fallback, source: "default" };
  const userMode = parseMode(user.mode);
  if (userMode) chosen = { mode: userMode, source: "user settings" };
  if (flag) chosen = { mode: flag, source: "flag" };
  const managedMode = parseMode(managed.mode);
  if (managedMode && isStricter(managedMode, chosen.mode)) chosen = { mode: managedMode, source: "managed settings" };
  for (const { source, value } of inProject) {
    const mode = parseMode(value.mode);
    if (mode && isStricter(mode, chosen.mode)) chosen = { mode, source };
  }

  const everywhere = [managed, user, ...inProject.map(({ value }) => value)];
  const network = managed.network ?? user.network;
  if (network !== undefined && !NETWORKS.includes(network)) {
    throw new LettaError("usage", `sandbox.network must be on or off, not "${network}"`, {
      hint: "A list of allowed hosts is not supported: confined commands reach no proxy of letta's. Use off, and let a command out when it asks; the WebFetch tool works either way.",
    });
  }
  return {
    ...chosen,
    network: network === "on" && !everywhere.some((value) => (value.network ?? "on") !== "on") ? "on" : "off",
    writableRoots: [...(managed.writableRoots ?? []), ...(user.writableRoots ?? [])],
    denyRead: everywhere.flatMap((value) => value.denyRead ?? []),
    failIfUnavailable: chosen.source === "flag" || everywhere.some((value) => value.failIfUnavailable === true),
    autoAllowShell:
      (managed.autoAllowShell ?? user.autoAllowShell ?? false) &&
      !everywhere.some((value) => value.autoAllowShell === false),
  };
}

/** A mode that cannot be read is taken as the cautious one. */
function parseMode(text: string | undefined): SandboxMode | null {
  if (text === undefined) return null;
  return SANDBOX_MODES.find((mode) => mode === text) ?? OTHER_NAMES[text] ?? "strict";
}

function isStricter(mode: SandboxMode, other: SandboxMode): boolean {
  return SANDBOX_MODES.indexOf(mode) > SANDBOX_MODES.indexOf(other);
}
