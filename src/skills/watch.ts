// Tells once that something below the watched places has changed, and then watches nothing any more: whoever wants to
// know again arms it again. That needs no debouncing, and between a change and the next look nothing is held.

import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname, relative, sep } from "node:path";

export interface OneShotWatch {
  /** Watches a folder's own entries. Called before they are read, so that no change falls in between. */
  folder(path: string): void;
  /** Watches for a folder that does not exist: the nearest existing one above it is asked for the next part of its name. */
  missing(path: string): void;
  /** Places watched now. */
  readonly size: number;
  close(): void;
}

/** `onChange` is called at most once, when everything is closed already. A place that cannot be watched (no such thing
 *  on this system, no watches left) is not: what was read of it then stays as it is. */
export function watchOnce(onChange: () => void): OneShotWatch {
  const watchers = new Map<string, FSWatcher>();
  /** By existing folder: names below it that would be news. */
  const awaited = new Map<string, Set<string>>();
  let done = false;

  const close = (): void => {
    done = true;
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
  };
  const fire = (): void => {
    if (done) return;
    close();
    onChange();
  };
  const arm = (path: string, isNews: (name: string | null) => boolean): void => {
    try {
      const watcher = watch(path, { persistent: false }, (_event, name) => {
        if (isNews(name)) fire();
      });
      watcher.on("error", fire);
      watchers.set(path, watcher);
    } catch {
      /* See above. */
    }
  };

  return {
    folder(path) {
      if (done) return;
      const waiting = watchers.get(path);
      // Everything in there is news from now on.
      if (waiting && awaited.has(path)) waiting.close();
      else if (waiting) return;
      awaited.delete(path);
      arm(path, () => true);
    },
    missing(path) {
      if (done) return;
      const folder = nearestExisting(path);
      const name = relative(folder, path).split(sep)[0]!;
      const names = awaited.get(folder);
      if (names) names.add(name);
      else if (!watchers.has(folder)) {
        const fresh = new Set([name]);
        awaited.set(folder, fresh);
        arm(folder, (changed) => changed === null || fresh.has(changed));
      }
    },
    get size() {
      return watchers.size;
    },
    close,
  };
}

function nearestExisting(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}
