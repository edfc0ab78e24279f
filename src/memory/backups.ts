// Copies of a whole memory, history included, beside it: made on request, and before one takes the memory's place.

import { existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { LettaError, systemReason } from "@/lib/errors.ts";
import { withWriterLock } from "@/store/git/locks.ts";
import type { MemoryPaths } from "./places.ts";

export interface Backup {
  name: string;
  /** Absolute. */
  path: string;
  /** ISO. */
  createdAt: string;
}

const NAME = /^memory-backup-\d{8}-\d{6}(?:-\d+)?$/;

/** Newest first. */
export function listBackups({ home }: Pick<MemoryPaths, "home">): Backup[] {
  const names = existsSync(home) ? readdirSync(home).filter((name) => NAME.test(name)) : [];
  return names
    .map((name) => ({ name, path: join(home, name) }))
    .filter(({ path }) => lstatSync(path).isDirectory())
    .map((backup) => ({ ...backup, createdAt: statSync(backup.path).ctime.toISOString() }))
    .sort((a, b) => (a.name < b.name ? 1 : -1));
}

export async function createBackup(places: MemoryPaths, now: Date): Promise<Backup> {
  assertWhole(places.memory);
  const path = freeName(places, now);
  const staging = `${path}.part`;
  return storing(`cannot make ${path}`, async () => {
    try {
      await withWriterLock(places.memory, "backup", () =>
        cp(places.memory, staging, { recursive: true, verbatimSymlinks: true }),
      );
      await rename(staging, path);
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
    return { name: basename(path), path, createdAt: now.toISOString() };
  });
}

/** The backup's copy takes the memory's place; what was there becomes a backup itself. Throws `not_found`. */
export async function restoreBackup(places: MemoryPaths, name: string, now: Date): Promise<{ kept: Backup }> {
  const wanted = listBackups(places).find((backup) => backup.name === basename(name) || backup.path === name);
  if (!wanted) throw new LettaError("not_found", `there is no backup ${name}`, { hint: "See: letta memory backups" });
  assertWhole(wanted.path);
  assertWhole(places.memory);
  const kept = freeName(places, now);
  const staging = `${places.memory}.part`;
  return storing(`cannot bring back ${wanted.name}`, async () => {
    try {
      await rm(staging, { recursive: true, force: true });
      await cp(wanted.path, staging, { recursive: true, verbatimSymlinks: true });
      await withWriterLock(places.memory, "restore", async () => {
        await rename(places.memory, kept);
        await rename(staging, places.memory);
      });
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
    return { kept: { name: basename(kept), path: kept, createdAt: now.toISOString() } };
  });
}

/** The whole memory becomes a backup: a new one can begin. */
export async function putAside(places: MemoryPaths, now: Date): Promise<Backup> {
  assertWhole(places.memory);
  const path = freeName(places, now);
  return storing(`cannot move ${places.memory}`, async () => {
    await withWriterLock(places.memory, "reset", () => rename(places.memory, path));
    return { name: basename(path), path, createdAt: now.toISOString() };
  });
}

/** The files without their history, into a directory that is not there or empty. */
export async function exportFiles({ memory }: Pick<MemoryPaths, "memory">, out: string): Promise<void> {
  await storing(`cannot export to ${out}`, async () => {
    if (existsSync(out) && (await readdir(out)).length > 0) {
      throw new LettaError("usage", `${out} is not empty`, { hint: "Name a directory that does not exist yet." });
    }
    await mkdir(out, { recursive: true });
    for (const name of await readdir(memory)) {
      if (name !== ".git") await cp(join(memory, name), join(out, name), { recursive: true, verbatimSymlinks: true });
    }
  });
}

/** A linked working tree has its history elsewhere. */
function assertWhole(memory: string): void {
  if (lstatSync(join(memory, ".git"), { throwIfNoEntry: false })?.isDirectory()) return;
  throw new LettaError("usage", `${memory} is not a whole memory`, {
    hint: "Pass --agent ID instead of its directory.",
  });
}

function freeName({ home }: MemoryPaths, now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const name = `memory-backup-${date}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  for (let count = 0; ; count++) {
    const path = join(home, count === 0 ? name : `${name}-${count}`);
    if (!existsSync(path)) return path;
  }
}

async function storing<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LettaError) throw error;
    throw new LettaError("storage", `${what}: ${systemReason(error)}`, { cause: error });
  }
}
