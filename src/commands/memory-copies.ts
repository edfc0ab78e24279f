// `letta memory backup`, `backups`, `restore --from BACKUP --force`, `export` and `bundle`: whole copies of a memory.

import { resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { renderTable } from "@/lib/table.ts";
import { createBackup, exportFiles, listBackups, restoreBackup } from "@/memory/backups.ts";
import { MEMORY_BRANCH } from "@/memory/service.ts";
import { createBundle } from "@/store/git/bundle.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present, tableOptions } from "./output.ts";
import { writeNewFile } from "./write-file.ts";

export async function runMemoryBackup(
  { memory }: MemoryScope,
  args: OutputArgs,
  io: Io,
  now = new Date(),
): Promise<number> {
  return present(io, args, () => createBackup(memory.places, now), {
    piped: "json",
    value: ({ name, path }) => ({ backupName: name, backupPath: path }),
    text: ({ name, path }) => `${path}\nTo bring it back: letta memory restore --from ${name} --force\n`,
  });
}

export async function runMemoryBackups({ memory }: MemoryScope, args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, () => ({ backups: listBackups(memory.places) }), {
    piped: "json",
    text: ({ backups }) => {
      if (backups.length === 0) return "No backups.\n";
      const rows = backups.map(({ name, createdAt }) => [name, createdAt.slice(0, 16).replace("T", " ")]);
      return renderTable([{ title: "BACKUP" }, { title: "MADE" }], rows, tableOptions(io));
    },
  });
}

export interface MemoryRestoreBackupArgs extends OutputArgs {
  from?: string;
  force?: boolean;
}

export async function runMemoryRestoreBackup(
  { memory }: MemoryScope,
  args: MemoryRestoreBackupArgs,
  io: Io,
  now = new Date(),
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const name = args.from ?? "";
      if (!args.force) {
        throw new LettaError("usage", `${name} would take the place of the whole memory`, {
          hint: "Add --force to do it; the memory as it is becomes a backup. For some files only, name them.",
        });
      }
      const { kept } = await restoreBackup(memory.places, name, now);
      return { restoredFrom: name, kept: kept.name };
    },
    {
      piped: "json",
      text: ({ restoredFrom, kept }) => `The memory is ${restoredFrom} again. As it was before: ${kept}\n`,
    },
  );
}

export async function runMemoryExport(
  { memory, core }: MemoryScope,
  args: OutputArgs & { out?: string },
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      if (args.out === undefined) throw new LettaError("usage", "--out is missing (the directory to export to)");
      const out = resolve(core.cwd, args.out);
      await exportFiles(memory.places, out);
      return { exportedFrom: memory.places.memory, exportedTo: out, agentId: memory.agent.id };
    },
    { piped: "json", text: ({ exportedTo }) => `${exportedTo}\n` },
  );
}

export async function runMemoryBundle(
  { memory, core }: MemoryScope,
  args: OutputArgs & { file?: string },
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const repository = await memory.ensure();
      const bundle = await createBundle(repository, `refs/heads/${MEMORY_BRANCH}`);
      const path = await writeNewFile(resolve(core.cwd, args.file ?? `${memory.agent.id}.bundle`), bundle);
      return { path, bytes: bundle.byteLength, agentId: memory.agent.id };
    },
    { text: ({ path }) => `${path}\nGit reads it: git clone ${path}\n` },
  );
}
