// A directory held open, so that what is done in it happens in it, whatever becomes of the names that led there. Who
// decided about a path has followed its links; here none is followed any more: a link where there was none means that
// the path was changed under our hands, and is an error.
//
// Linux: the directory is a descriptor, and `/proc/self/fd/N/name` a name in it. macOS: opened so that no link is
// followed, then named by its file number (`/.vol/…`). Elsewhere, and where these do not work, every use first looks at
// each part of the path; between that look and the use a swap goes unnoticed.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmdirSync,
  type Stats,
  statSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join, parse, sep } from "node:path";
import { systemErrorCode } from "./errors.ts";

/** `EPATHCHANGED`: a link is where none was. `ENOTREG`: a device, pipe or socket. */
export class PlaceError extends Error {
  override name = "PlaceError";
  constructor(
    readonly code: "EPATHCHANGED" | "ENOTREG",
    path: string,
  ) {
    super(
      code === "ENOTREG"
        ? `this is a device, pipe or socket, not a regular file: ${path}`
        : `the path changed while it was used: ${path}`,
    );
  }
}

export interface HeldDirectory extends Disposable {
  /** Where it was when it was opened. */
  readonly path: string;
  /** Names an entry for system calls, which must not follow it when it is a link; without a name, the directory itself.
   *  Good until the directory is disposed. */
  at(name?: string): string;
}

/** `path` is absolute, its links are followed. Throws the system's error, or PlaceError. */
export function holdDirectory(path: string): HeldDirectory {
  if (process.platform === "linux") return holdByDescriptor(path) ?? holdByName(path);
  if (process.platform === "darwin") return holdByNumber(path) ?? holdByName(path);
  return holdByName(path);
}

/** A directory in a held one; a link is refused. */
export function holdChild(parent: HeldDirectory, name: string): HeldDirectory {
  const path = join(parent.path, name);
  if (process.platform !== "linux" || !(parent instanceof Descriptor)) return holdDirectory(path);
  return new Descriptor(openNoFollow(parent, name), path);
}

/** Null when it cannot be opened, or is no directory by now. */
export function findChild(parent: HeldDirectory, name: string): HeldDirectory | null {
  try {
    return holdChild(parent, name);
  } catch {
    return null;
  }
}

/** As `holdDirectory`, making what is missing. `made` are the directories it made, outermost first; `mode` is theirs, default what the
 *  umask gives. */
export function holdOrMakeDirectory(path: string, mode?: number): { folder: HeldDirectory; made: string[] } {
  const missing: string[] = [];
  let folder = holdIfThere(path);
  for (let at = path; folder === null; folder = holdIfThere(at)) {
    if (at === dirname(at)) throw Object.assign(new Error(`ENOENT: no such directory, ${at}`), { code: "ENOENT" });
    missing.unshift(basename(at));
    at = dirname(at);
  }
  const made: string[] = [];
  try {
    for (const name of missing) {
      using parent = folder;
      if (makeDirectory(parent.at(name), mode)) made.push(join(parent.path, name));
      folder = holdChild(parent, name);
    }
    return { folder, made };
  } catch (error) {
    removeDirectories(made);
    throw error;
  }
}

/** Those that are empty. `made` as `holdOrMakeDirectory` returns it. */
export function removeDirectories(made: readonly string[]): void {
  for (const path of made.toReversed()) {
    try {
      using parent = holdDirectory(dirname(path));
      rmdirSync(parent.at(basename(path)));
    } catch {
      return; // Somebody uses it by now; then those above it stay, too.
    }
  }
}

/** Opens an entry that is no link. Never waits for the other end of a pipe. */
export async function openIn(
  folder: HeldDirectory,
  name: string,
  { flags, mode }: { flags: number; mode?: number },
): Promise<FileHandle> {
  // Windows has neither flag; there the look at the entry must do.
  if (constants.O_NOFOLLOW === undefined) statIn(folder, name);
  try {
    return await open(folder.at(name), noFollow(flags), mode);
  } catch (error) {
    throw asChange(error, folder, name);
  }
}

function noFollow(flags: number): number {
  return flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
}

function asChange(error: unknown, folder: HeldDirectory, name: string): unknown {
  return systemErrorCode(error) === "ELOOP" ? new PlaceError("EPATHCHANGED", join(folder.path, name)) : error;
}

/** Opens a regular file for reading, and nothing else: opening a device may set it going. Throws the system's error,
 *  or PlaceError. */
export async function openRegular(folder: HeldDirectory, name: string): Promise<{ file: FileHandle; info: Stats }> {
  refuseOthers(statIn(folder, name), folder, name);
  const file = await openIn(folder, name, { flags: constants.O_RDONLY });
  try {
    const info = fstatSync(file.fd);
    refuseOthers(info, folder, name);
    return { file, info };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** What an entry is, without following it; null when there is none. A link is refused. */
export function statIn(folder: HeldDirectory, name: string): Stats | null {
  const info = lstatSync(folder.at(name), { throwIfNoEntry: false }) ?? null;
  if (info?.isSymbolicLink()) throw new PlaceError("EPATHCHANGED", join(folder.path, name));
  return info;
}

/** The same, at once. The caller closes it. */
export function openRegularSync(folder: HeldDirectory, name: string): number {
  refuseOthers(statIn(folder, name), folder, name);
  let fd: number;
  try {
    fd = openSync(folder.at(name), noFollow(constants.O_RDONLY));
  } catch (error) {
    throw asChange(error, folder, name);
  }
  try {
    refuseOthers(fstatSync(fd), folder, name);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function refuseOthers(info: Stats | null, folder: HeldDirectory, name: string): void {
  const path = join(folder.path, name);
  if (info?.isDirectory()) throw Object.assign(new Error(`EISDIR: is a directory, ${path}`), { code: "EISDIR" });
  if (info && !info.isFile()) throw new PlaceError("ENOTREG", path);
}

class Descriptor implements HeldDirectory {
  readonly #names: string;

  constructor(
    private readonly fd: number,
    readonly path: string,
    names = `/proc/self/fd/${fd}`,
  ) {
    this.#names = names;
  }

  at(name?: string): string {
    return name === undefined ? this.#names : `${this.#names}/${name}`;
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }
}

class Name implements HeldDirectory {
  constructor(readonly path: string) {}

  at(name?: string): string {
    refuseLinks(this.path);
    return name === undefined ? this.path : join(this.path, name);
  }

  [Symbol.dispose](): void {}
}

/** Names a directory without opening it for reading, so that one we may only pass through can be held, too. */
const O_PATH = 0o10000000;

/** Null where there is no `/proc`. */
function holdByDescriptor(path: string): HeldDirectory | null {
  const fd = openSync(path, O_PATH | constants.O_DIRECTORY);
  try {
    const held = new Descriptor(fd, path);
    if (readlinkSync(held.at()) === path) return held;
  } catch {
    closeSync(fd);
    return null;
  }
  closeSync(fd);
  // It was led astray, or the file system spells the name in its own way: the slow way knows no doubt.
  return holdStepByStep(path);
}

function holdStepByStep(path: string): HeldDirectory {
  const { root } = parse(path);
  let folder = new Descriptor(openSync(root, O_PATH | constants.O_DIRECTORY), root);
  for (const name of path.slice(root.length).split("/")) {
    if (name === "") continue;
    using parent = folder;
    folder = new Descriptor(openNoFollow(parent, name), join(parent.path, name));
  }
  return folder;
}

function openNoFollow(parent: HeldDirectory, name: string): number {
  try {
    return openSync(parent.at(name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    const code = systemErrorCode(error);
    // A link is "not a directory" for a descriptor that only names.
    if (code === "ELOOP" || code === "ENOTDIR") statIn(parent, name);
    throw error;
  }
}

const O_NOFOLLOW_ANY = 0x20000000;

/** Null where file numbers cannot be used as names. */
function holdByNumber(path: string): HeldDirectory | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | O_NOFOLLOW_ANY);
  } catch (error) {
    if (systemErrorCode(error) === "ELOOP") throw new PlaceError("EPATHCHANGED", path);
    if (systemErrorCode(error) === "EACCES") return null; // It may be passed through, but not read.
    throw error;
  }
  const { dev, ino } = fstatSync(fd);
  const names = `/.vol/${dev}/${ino}`;
  const found = statOrNull(names);
  if (found?.dev === dev && found.ino === ino) return new Descriptor(fd, path, names);
  closeSync(fd);
  return null;
}

/** Where there is nothing better; exported for its tests. */
export function holdByName(path: string): HeldDirectory {
  const held = new Name(path);
  if (!statSync(held.at()).isDirectory())
    throw Object.assign(new Error(`ENOTDIR: not a directory, ${path}`), { code: "ENOTDIR" });
  return held;
}

function refuseLinks(path: string): void {
  const { root } = parse(path);
  let current = root;
  for (const name of path.slice(root.length).split(process.platform === "win32" ? /[/\\]/ : sep)) {
    current = join(current, name);
    if (lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink()) throw new PlaceError("EPATHCHANGED", path);
  }
}

function holdIfThere(path: string): HeldDirectory | null {
  try {
    return holdDirectory(path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** False when something is there already. */
function makeDirectory(path: string, mode: number | undefined): boolean {
  try {
    mkdirSync(path, mode);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
}

function statOrNull(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null; // No such naming here.
  }
}
