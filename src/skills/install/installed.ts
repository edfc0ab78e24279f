// The skills of one agent's memory: what is there, whether it still is what was installed, and every change of it, which
// is one commit or none.

import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import type { FilePair } from "@/memory/diff-text.ts";
import { SKILLS_FOLDER } from "@/memory/places.ts";
import type { AgentMemory, MemoryCommit } from "@/memory/service.ts";
import type { Identity } from "@/store/git/types.ts";
import { parseSkill } from "../parse.ts";
import type { SkillFields, SkillProblem } from "../types.ts";
import { readLocalFile, walkFolder } from "./fetch-local.ts";
import { MAX_TEXT_BYTES } from "./limits.ts";
import type { SkillPackage } from "./package.ts";
import { formatProvenance, type Provenance, parseProvenance, provenancePath } from "./provenance.ts";
import { digestFiles, PROVENANCE_NAME, type SkillFile } from "./skill-files.ts";

export interface InstalledSkill {
  /** Its folder's. */
  name: string;
  /** Absolute. */
  path: string;
  /** Null when its SKILL.md cannot be used. */
  fields: SkillFields | null;
  problems: SkillProblem[];
  /** Null: it was not installed, but written. */
  provenance: Provenance | null;
}

/** `intact`: as installed. `changed`: edited since. `own`: not installed from anywhere. `damaged`: what was written down
 *  about its coming cannot be used. */
export type SkillState = "intact" | "changed" | "own" | "damaged";

export interface VerifiedSkill {
  name: string;
  state: SkillState;
  provenance: Provenance | null;
  /** What was edited since it was installed, as far as history says. */
  changed: string[];
}

export interface ChangeOptions {
  author: Identity;
  force?: boolean;
  now?: number;
}

export function skillFolder(name: string): string {
  return `${SKILLS_FOLDER}/${name}`;
}

/** As it lies in the folder, by name. Only the first level: what is deeper belongs to a skill or is none. */
export async function listInstalled({ places }: AgentMemory): Promise<InstalledSkill[]> {
  const root = join(places.memory, SKILLS_FOLDER);
  const names = listFolders(root).sort();
  const found = await Promise.all(names.map((name) => readInstalled(join(root, name), name)));
  return found.filter((skill) => skill !== null);
}

/** Throws `not_found` with what the name may have meant. */
export async function getInstalled(memory: AgentMemory, name: string): Promise<InstalledSkill> {
  const names = listFolders(join(memory.places.memory, SKILLS_FOLDER));
  const skill = names.includes(name) ? await readInstalled(join(memory.places.memory, skillFolder(name)), name) : null;
  if (skill) return skill;
  const close = findNearest(name, names);
  throw new LettaError("not_found", `${memory.agent.name} has no skill ${JSON.stringify(name)}`, {
    hint: close ? `Did you mean ${close}?` : "See: letta skills list",
  });
}

export async function readSkillFiles(path: string): Promise<SkillFile[]> {
  const files: SkillFile[] = [];
  for await (const { path: name, kind, executable, read } of walkFolder(path)) {
    if (kind === "file") files.push({ path: name, content: await read(), executable });
    // A link takes the place of what was installed: it must not look like it.
    else if (kind !== "folder") files.push({ path: name, content: Buffer.from(`\0${kind}`), executable });
  }
  return files;
}

export async function verifySkill(
  memory: AgentMemory,
  { name, path, provenance }: InstalledSkill,
): Promise<VerifiedSkill> {
  const files = await readSkillFiles(path);
  if (!provenance) {
    const isDamaged = files.some((file) => file.path === PROVENANCE_NAME);
    return { name, state: isDamaged ? "damaged" : "own", provenance, changed: [] };
  }
  if (digestFiles(files) === provenance.sha256) return { name, state: "intact", provenance, changed: [] };
  const then = await installedFiles(memory, name, provenance);
  if (!then) return { name, state: "damaged", provenance, changed: [] };
  return { name, state: "changed", provenance, changed: pairFiles(then, files).map(({ path }) => path) };
}

/** Every file that is not the same on both sides. */
export function pairFiles(before: readonly SkillFile[], after: readonly SkillFile[]): FilePair[] {
  const byPath = (files: readonly SkillFile[]) =>
    new Map(files.filter(({ path }) => path !== PROVENANCE_NAME).map((file) => [file.path, file]));
  const [old, fresh] = [byPath(before), byPath(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])].sort().flatMap((path) => {
    const [a, b] = [old.get(path), fresh.get(path)];
    if (a && b && Buffer.compare(a.content, b.content) === 0) return [];
    return [{ path, before: a ? toVersion(a) : null, after: b ? toVersion(b) : null }];
  });
}

/** Throws `conflict` where a skill could not be installed because of another one: before anybody is asked about it. */
export async function assertInstallable(memory: AgentMemory, name: string, force: boolean): Promise<void> {
  assertFree(memory, name, (await memory.files()).paths.filter(isSkillPath), force);
  await assertUntouched(memory, name);
}

/** One commit with all of it. Throws `conflict` where there is such a skill already, unless `force`. */
export async function installSkill(
  memory: AgentMemory,
  skill: SkillPackage,
  { author, force = false, now = Date.now() }: ChangeOptions,
  verb: "install" | "update" = "install",
): Promise<MemoryCommit> {
  const { name } = skill;
  const folder = skillFolder(name);
  await assertUntouched(memory, name);
  const provenance = formatProvenance({
    source: skill.source,
    resolved_ref: skill.resolvedRef,
    sha256: skill.digest,
    installed_at: new Date(now).toISOString(),
  });
  return memory.edit(
    async (draft) => {
      assertFree(memory, name, draft.find(isSkillPath), force);
      for (const path of draft.filesBelow(folder)) draft.write(path, null);
      for (const { path, content, executable } of skill.files) {
        draft.write(`${folder}/${path}`, content, executable ? "100755" : "100644");
      }
      draft.write(provenancePath(folder), provenance);
    },
    { message: `chore(skills): ${verb} ${name}`, author },
  );
}

export async function deleteSkill(memory: AgentMemory, name: string, { author }: ChangeOptions): Promise<MemoryCommit> {
  const folder = skillFolder(name);
  await assertUntouched(memory, name);
  return memory.edit(
    async (draft) => {
      const files = draft.filesBelow(folder);
      if (files.length === 0) throw new LettaError("not_found", `${memory.agent.name} has no skill ${name}`);
      for (const path of files) draft.write(path, null);
    },
    { message: `chore(skills): delete ${name}`, author },
  );
}

/** Files that git does not keep stay where they are. */
export function leftovers({ places }: AgentMemory, name: string): string | null {
  const folder = join(places.memory, skillFolder(name));
  return lstatSync(folder, { throwIfNoEntry: false }) ? folder : null;
}

async function readInstalled(path: string, name: string): Promise<InstalledSkill | null> {
  const file = readdirSync(path).find((entry) => /^skill\.md$/i.test(entry));
  if (file === undefined) return null;
  const content = await readSmall(join(path, file));
  const unreadable: SkillProblem = { file: join(path, file), line: null, problem: "it cannot be read", level: "error" };
  const parsed =
    content === null
      ? { fields: null, problems: [unreadable] }
      : parseSkill(new TextDecoder().decode(content), { file: join(path, file), id: name });
  return { name, path, ...parsed, provenance: parseProvenance(await readSmall(join(path, PROVENANCE_NAME))) };
}

async function readSmall(path: string): Promise<Uint8Array | null> {
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (!info?.isFile() || info.size > MAX_TEXT_BYTES) return null;
  return readLocalFile(path, MAX_TEXT_BYTES).catch(() => null);
}

function listFolders(root: string): string[] {
  if (!lstatSync(root, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name);
}

/** Its files as they were committed when it was installed; null when history does not have what was written down. */
async function installedFiles(memory: AgentMemory, name: string, { sha256 }: Provenance): Promise<SkillFile[] | null> {
  const repository = await memory.ensure();
  const folder = skillFolder(name);
  for await (const { oid } of repository.log({ path: provenancePath(folder), limit: 20 })) {
    const entries = (await repository.listFiles(oid)).filter(({ path }) => path.startsWith(`${folder}/`));
    const files = await Promise.all(
      entries.map(async (entry) => ({
        path: entry.path.slice(folder.length + 1),
        content: await repository.objects.readBlob(entry.oid),
        executable: entry.mode === "100755",
      })),
    );
    if (digestFiles(files) === sha256) return files;
  }
  return null;
}

function assertFree(memory: AgentMemory, name: string, paths: readonly string[], force: boolean): void {
  const twin = paths.map((path) => path.split("/")[1]!).find((other) => other.toLowerCase() === name.toLowerCase());
  if (twin !== undefined && twin !== name) throw taken(memory, twin, `${name} and ${twin} differ in case only`);
  if (twin !== undefined && !force) throw taken(memory, name, `there is a skill ${name} already`);
}

async function assertUntouched(memory: AgentMemory, name: string): Promise<void> {
  const folder = skillFolder(name);
  await memory.ensure();
  assertRealFolders(memory, folder);
  await assertCommitted(memory, folder);
}

function isSkillPath(path: string): boolean {
  return path.startsWith(`${SKILLS_FOLDER}/`);
}

/** A link in its place would lead what we write out of the memory. */
function assertRealFolders({ places }: AgentMemory, folder: string): void {
  for (const path of [join(places.memory, SKILLS_FOLDER), join(places.memory, folder)]) {
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (info && !info.isDirectory()) {
      throw new LettaError("conflict", `${path} is no folder`, { hint: "Move it away first." });
    }
  }
}

/** What nobody committed would be lost, or be in the way. */
async function assertCommitted(memory: AgentMemory, folder: string): Promise<void> {
  const dirty = await (await memory.ensure()).status({ paths: [folder] });
  if (dirty.length === 0) return;
  const names = dirty.slice(0, 5).map(({ path, state }) => `${path} (${state})`);
  const more = dirty.length > names.length ? `, and ${dirty.length - names.length} more` : "";
  throw new LettaError(
    "conflict",
    `Nothing was changed: there are changes that nobody committed: ${names.join(", ")}${more}`,
    {
      hint: "Keep them with `letta memory commit -m WHY`, or drop them with `letta memory restore PATH`.",
    },
  );
}

function taken(memory: AgentMemory, name: string, why: string): LettaError {
  return new LettaError("conflict", `Nothing was changed in the memory of ${memory.agent.name}: ${why}`, {
    hint: `letta skills update ${name} fetches what is new; --force replaces it.`,
  });
}

function toVersion({ content, executable }: SkillFile): NonNullable<FilePair["before"]> {
  return { content, mode: executable ? "100755" : "100644" };
}
