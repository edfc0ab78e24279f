// Which hooks there are and which count. Files speak in this order: the project's personal file, its checked-in file,
// the user's. What a project brings is inert until it is trusted, its wish to switch hooks off included: a repository
// must not silence the checks of the person who opens it.

import { HOOK_EVENTS, type HookDefinition, type HookEvent } from "@/store/hook-settings.ts";
import type { SettingsStore } from "@/store/settings.ts";
import type { Trust } from "@/store/trust.ts";

export interface ConfiguredHook {
  event: HookEvent;
  source: "local" | "project" | "user";
  /** Empty for every tool. */
  matcher: string;
  definition: HookDefinition;
  /** Why it does not run. */
  inert?: string;
}

export type HookSettings = Pick<SettingsStore, "user" | "project" | "local">;

const SOURCES = ["local", "project", "user"] as const;

/** All of them, in the order they run, inert ones included. */
export function listHooks(settings: HookSettings, trust: Pick<Trust, "accepts">): ConfiguredHook[] {
  const off = isSwitchedOff(settings, trust);
  return HOOK_EVENTS.flatMap((event) =>
    SOURCES.flatMap((source) => {
      const groups = settings[source].hooks?.[event] ?? [];
      const untrusted = groups.length > 0 && !isAccepted(trust, source, event, groups);
      const inert = untrusted ? "the folder is not trusted" : off ? "hooks are switched off" : undefined;
      return groups.flatMap(({ matcher, hooks }) =>
        hooks.map((definition) => ({
          event,
          source,
          matcher: matcher ?? "",
          definition,
          ...(inert !== undefined && { inert }),
        })),
      );
    }),
  );
}

/** The cheap question before all others: most people have no hooks. */
export function hasAnyHook({ user, project, local }: HookSettings): boolean {
  return user.hooks !== undefined || project.hooks !== undefined || local.hooks !== undefined;
}

/** A hook as people see it: one line. */
export function hookLabel({ definition }: Pick<ConfiguredHook, "definition">): string {
  const text = definition.type === "command" ? definition.command : `prompt: ${definition.prompt}`;
  return text.replace(/\s+/g, " ").trim();
}

/** The user's own `false` beats everything; otherwise one accepted `true` is enough. */
function isSwitchedOff(settings: HookSettings, trust: Pick<Trust, "accepts">): boolean {
  if (settings.user.hooks?.disabled === false) return false;
  return SOURCES.some(
    (source) => settings[source].hooks?.disabled === true && isAccepted(trust, source, "disabled", true),
  );
}

function isAccepted(
  trust: Pick<Trust, "accepts">,
  source: ConfiguredHook["source"],
  key: string,
  value: unknown,
): boolean {
  return source === "user" || trust.accepts({ source, key: "hooks", value: [key, value] });
}
