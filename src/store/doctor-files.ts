// Checks of our files and folders: settings that parse, private things that are private, room to write, and nothing
// left lying about by processes that were killed.

import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { errorMessage } from "@/lib/errors.ts";
import { writeFileAtomic } from "./atomic-file.ts";
import type { Finding } from "./doctor.ts";
import type { Paths } from "./paths.ts";
import type { SettingsStore } from "./settings.ts";

/** Below this a turn may fail half-way. */
const LOW_SPACE_BYTES = 100 * 1024 * 1024;
/** Younger temporary files may belong to a write going on. */
const LEFTOVER_AGE_MS = 3_600_000;

export async function checkFiles(paths: Paths, settings: SettingsStore, now: () => number): Promise<Finding[]> {
  return [
    ...checkSettings(paths, settings),
    checkTrustFile(paths),
    checkModes(paths),
    checkWritable(paths),
    checkSpace(paths),
    checkLeftovers(paths, now),
  ];
}

function checkSettings(paths: Paths, settings: SettingsStore): Finding[] {
  const id = "settings";
  if (settings.problems.length === 0) return [{ id, status: "ok", text: `settings are valid (${paths.settings})` }];
  return settings.problems.map(({ file, message, kind }): Finding => {
    const text = `${file}: ${message}`;
    if (kind === "ignored")
      return { id, status: "problem", text, hint: "Correct that value; the others are in force." };
    const backup = `${file}.bak`;
    if (!isJsonFile(backup))
      return { id, status: "problem", text, hint: "Correct the file; defaults are in force until then." };
    return {
      id,
      status: "problem",
      text,
      hint: "Correct the file, or let `letta doctor --fix` bring back its last good version (it asks first).",
      repair: {
        description: `Bring back ${backup}; the present content is kept as ${file}.broken`,
        database: false,
        askFirst: true,
        run() {
          copyFileSync(file, `${file}.broken`);
          writeFileAtomic(file, readFileSync(backup, "utf8"));
          return `Restored ${file}; what was there is in ${file}.broken`;
        },
      },
    };
  });
}

function checkTrustFile({ trust }: Paths): Finding {
  const id = "trust";
  if (!existsSync(trust)) return { id, status: "ok", text: "no folder has been trusted yet" };
  if (isJsonFile(trust)) return { id, status: "ok", text: `trusted folders are readable (${trust})` };
  return {
    id,
    status: "problem",
    text: `${trust} does not parse: no folder counts as trusted`,
    hint: "Move the file away and trust your folders again with `letta trust`.",
  };
}

function checkModes(paths: Paths): Finding {
  const id = "modes";
  if (process.platform === "win32") return { id, status: "ok", text: "access is managed by the system" };
  const wanted: [path: string, mode: number][] = [
    [paths.local, 0o700],
    [dirname(paths.providerAuth), 0o700],
    [paths.providerAuth, 0o600],
    [paths.database, 0o600],
    [paths.history, 0o600],
    [paths.settings, 0o600],
    [paths.trust, 0o600],
  ];
  const open = wanted.filter(([path, mode]) => existsSync(path) && (statSync(path).mode & 0o777 & ~mode) !== 0);
  if (open.length === 0) return { id, status: "ok", text: "private files are readable by you alone" };
  return {
    id,
    status: "problem",
    text: `others can read: ${open.map(([path]) => path).join(", ")}`,
    hint: "`letta doctor --fix` takes that away.",
    repair: {
      description: "Make them readable by you alone",
      database: false,
      run() {
        for (const [path, mode] of open) chmodSync(path, mode);
        return `Closed ${open.length} files and folders`;
      },
    },
  };
}

function checkWritable(paths: Paths): Finding {
  const id = "writable";
  const blocked = [paths.root, paths.local].map(nearestExisting).find((folder) => !canWrite(folder));
  if (blocked === undefined) return { id, status: "ok", text: `${paths.root} is writable` };
  return {
    id,
    status: "problem",
    text: `${blocked} is not writable`,
    hint: "Give yourself access, or point LETTA_HOME (or LETTA_LOCAL_BACKEND_DIR) to another folder.",
  };
}

function checkSpace(paths: Paths): Finding {
  const id = "disk";
  try {
    const { bavail, bsize } = statfsSync(nearestExisting(paths.local));
    const free = Number(bavail) * Number(bsize);
    const text = `${Math.floor(free / 1024 / 1024)} MB free for ${paths.local}`;
    if (free >= LOW_SPACE_BYTES) return { id, status: "ok", text };
    return { id, status: "problem", text, hint: "Free some space: nothing can be stored on a full disk." };
  } catch (error) {
    return { id, status: "note", text: `free space is unknown: ${errorMessage(error)}` };
  }
}

function checkLeftovers(paths: Paths, now: () => number): Finding {
  const id = "leftovers";
  const folders = [paths.root, paths.local, dirname(paths.providerAuth)];
  const found = [...new Set(folders)].flatMap((folder) => listLeftovers(folder, now()));
  if (found.length === 0) return { id, status: "ok", text: "no temporary files were left behind" };
  return {
    id,
    status: "note",
    text: `${found.length} temporary files of processes that were killed: ${found.slice(0, 3).join(", ")}`,
    repair: {
      description: "Remove them",
      database: false,
      run() {
        for (const file of found) rmSync(file, { force: true });
        return `Removed ${found.length} files`;
      },
    },
  };
}

/** `.name.PID.hex.tmp` and `name.lock`, as store/atomic-file.ts makes them; unfinished salvages. */
function listLeftovers(folder: string, nowMs: number): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^\..+\.\d+\.[0-9a-f]{8}\.tmp$|\.json\.lock$|\.salvage(-wal|-shm)?$/.test(name))
    .map((name) => join(folder, name))
    .filter((file) => nowMs - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? nowMs) > LEFTOVER_AGE_MS);
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function canWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // that is the answer
  }
}

function isJsonFile(file: string): boolean {
  try {
    return typeof JSON.parse(readFileSync(file, "utf8")) === "object";
  } catch {
    return false; // missing, unreadable or broken: not a file to rely on
  }
}
