// The models a person chose lately, newest first: pickers offer them first.

import type { UserSettings } from "@/store/settings.ts";

const MAX_RECENT_MODELS = 5;

/** Inside `updateUser`. */
export function noteRecentModel(settings: UserSettings, handle: string): void {
  const others = (settings.recentModels ?? []).filter((recent) => recent !== handle);
  settings.recentModels = [handle, ...others].slice(0, MAX_RECENT_MODELS);
}
