// `letta memory pull`, `push`, `remote` and `resolve`: an agent's memory and the repository of the user's it is kept in, too.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { createRedactor } from "@/lib/redactor.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { openSyncedMemory } from "@/memory/open-remote.ts";
import { parsePath } from "@/memory/places.ts";
import { remoteTokenName } from "@/memory/remote-choice.ts";
import { originOf, setOrigin } from "@/memory/remote-settings.ts";
import {
  DIVERGED,
  listProposals,
  pullMemory,
  resolveProposal,
  type AgentMemory as SyncedMemory,
  settleDivergence,
  syncAfterTurn,
} from "@/memory/sync.ts";
import {
  assertDecisionsMeet,
  conflictText,
  type Decisions,
  describeConflict,
  findConflictMarker,
} from "@/memory/three-way.ts";
import { parseRemoteUrl, type RemotePlace, redactUrl } from "@/store/git/remote.ts";
import type { MergeConflict, Resolution } from "@/store/git/types.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present } from "./output.ts";
import type { Asking } from "./secret-input.ts";

const LOCAL_ONLY = "This memory is kept on this machine only.";
const REMOTE_HINT = "letta memory remote set URL gives it a repository of your own.";

function openSynced({ core, memory, agentSecrets }: MemoryScope): Promise<SyncedMemory> {
  return openSyncedMemory(memory, { env: core.env, agentSecrets });
}

export async function runMemoryPull(scope: MemoryScope, args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, async () => pullMemory(await openSynced(scope)), {
    piped: "json",
    value: ({ status, updated, summary, hint }) => ({ updated, summary, status, ...(hint && { hint }) }),
    text: ({ summary, hint }) => lines(summary, summary === LOCAL_ONLY ? REMOTE_HINT : hint),
    exitCode: ({ status }) => (["updated", "current", "local_only", "skipped"].includes(status) ? 0 : 1),
  });
}

export async function runMemoryPush(scope: MemoryScope, args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, async () => syncAfterTurn(await openSynced(scope)), {
    piped: "json",
    text: ({ summary, hint, localOnly }) => lines(summary, localOnly ? REMOTE_HINT : hint),
    exitCode: ({ status }) => (["pushed", "clean", "skipped"].includes(status) ? 0 : 1),
  });
}

function lines(...parts: (string | undefined)[]): string {
  return parts
    .filter(Boolean)
    .map((part) => `${part}\n`)
    .join("");
}

export async function runMemoryRemoteShow(
  { memory, agentSecrets }: MemoryScope,
  args: OutputArgs,
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const url = originOf(await memory.ensure());
      const place = url === null ? null : parseRemoteUrl(url);
      const token =
        place?.kind === "http" && agentSecrets.names(memory.agent.id).includes(remoteTokenName(place.origin));
      return { url: url === null ? null : redactUrl(url), kind: place?.kind ?? null, token };
    },
    {
      text: ({ url, kind, token }) => {
        if (url === null) return lines(LOCAL_ONLY, REMOTE_HINT);
        const how =
          kind === "ssh" ? "through ssh, as your git does" : token ? "with the token kept for it" : "without a token";
        return `${toPlainLine(url)}, ${how}\n`;
      },
    },
  );
}

export interface MemoryRemoteSetArgs extends OutputArgs {
  url?: string;
  token?: boolean;
}

/** A token is asked for where somebody can answer, and read from standard input with `--token`. */
export async function runMemoryRemoteSet(
  { memory, author, agentSecrets }: MemoryScope,
  args: MemoryRemoteSetArgs,
  io: Io & Asking,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const url = (args.url ?? "").trim();
      const place = parseRemoteUrl(url);
      assertNoToken(place);
      const repository = await memory.ensure();
      const token = place.kind === "http" ? await askToken(place.origin, args, io) : "";
      if (place.kind === "ssh" && args.token) {
        throw new LettaError("usage", "SSH remotes use your keys, not a token", { hint: "Leave --token out." });
      }
      await setOrigin(repository, url, author);
      if (place.kind === "http" && token !== "") {
        await agentSecrets.set(memory.agent.id, remoteTokenName(place.origin), token);
      }
      return { url: redactUrl(url), token: token !== "" };
    },
    {
      text: ({ url, token }) =>
        lines(
          `The memory of ${toPlainLine(memory.agent.name)} is kept at ${toPlainLine(url)}, too${token ? ", with a token" : ""}.`,
          "letta memory push sends it there now.",
        ),
    },
  );
}

/** A name may stand in an address; a token would be kept in a settings file that others read. */
function assertNoToken(place: RemotePlace): void {
  const name = place.kind === "http" ? place.username : null;
  if (name === null || createRedactor([], { patterns: true }).redact(name) === name) return;
  throw new LettaError("usage", "There is a token in the address", {
    hint: "Leave it out, and pass it on standard input with --token.",
  });
}

async function askToken(origin: string, args: MemoryRemoteSetArgs, io: Asking): Promise<string> {
  if (args.token === false) return "";
  if (io.askSecret) return (await io.askSecret(`Token for ${origin} (empty: none): `)).trim();
  return args.token ? (await io.readStdin()).trim() : "";
}

export async function runMemoryRemoteUnset(
  { memory, author, agentSecrets }: MemoryScope,
  args: OutputArgs,
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const repository = await memory.ensure();
      const url = originOf(repository);
      if (url === null) return { removed: null };
      const place = parseRemoteUrl(url);
      await setOrigin(repository, null, author);
      if (place.kind === "http") await agentSecrets.unset(memory.agent.id, remoteTokenName(place.origin));
      return { removed: redactUrl(url) };
    },
    { text: ({ removed }) => lines(removed === null ? LOCAL_ONLY : `No longer kept at ${toPlainLine(removed)}.`) },
  );
}

export interface MemoryResolveArgs extends OutputArgs {
  _?: string[];
  ours?: boolean;
  theirs?: boolean;
  rest?: string;
  out?: string;
  from?: string;
}

interface Open {
  id: string;
  conflicts: { path: string; kind: MergeConflict["kind"]; what: string }[];
}

interface Resolved {
  merged: { id: string; oid: string }[];
  open: Open[];
  diverged: boolean;
  written: string[];
}

/** Without a decision it says what there is to decide, and with `--out DIR` writes both versions there for an editor. */
export async function runMemoryResolve(scope: MemoryScope, args: MemoryResolveArgs, io: Io): Promise<number> {
  return present(io, args, () => resolveConflicts(scope, args), {
    exitCode: ({ open, diverged }) => (open.length > 0 || diverged ? 1 : 0),
    text: ({ merged, open, diverged, written }) => {
      const rows = merged.map(({ id, oid }) => `Merged ${id} (${oid.slice(0, 7)}).`);
      for (const { conflicts } of open) rows.push(...conflicts.map(({ what }) => `  ${toPlainLine(what)}`));
      if (written.length > 0)
        rows.push(`Written: ${written.join(", ")}`, "Edit them, then: letta memory resolve --from DIR");
      else if (open.length > 0) {
        rows.unshift("The remote's version and this machine's contradict each other:");
        rows.push(
          "Decide: letta memory resolve --ours | --theirs, or for some files",
          "        letta memory resolve PATH… --theirs --rest ours",
          "        letta memory resolve --out DIR writes both for an editor",
        );
      }
      if (diverged) {
        rows.push(
          "The remote's history is not the one this memory comes from. Decide for all of it:",
          "        letta memory resolve --ours    keeps the files here",
          "        letta memory resolve --theirs  takes the remote's files",
        );
      }
      return `${rows.length > 0 ? rows.join("\n") : "There is nothing to decide."}\n`;
    },
  });
}

async function resolveConflicts(scope: MemoryScope, args: MemoryResolveArgs): Promise<Resolved> {
  const { memory, core } = scope;
  if (args.ours && args.theirs) throw new LettaError("usage", "--ours does not go with --theirs");
  const side = args.ours ? "ours" : args.theirs ? "theirs" : undefined;
  const typed = (args._ ?? []).map((path) => parsePath(path, memory.places.memory));
  if (typed.length > 0 && !side) throw new LettaError("usage", "Which side? Add --ours or --theirs.");
  const rest = args.rest === "ours" || args.rest === "theirs" ? args.rest : typed.length === 0 ? side : undefined;
  const repository = await memory.ensure();
  const synced: SyncedMemory = { dir: memory.places.memory, repository, remote: null, by: scope.author };
  const result: Resolved = { merged: [], open: [], diverged: false, written: [] };

  if ((await repository.resolve(DIVERGED)) !== null) {
    if (side && typed.length === 0)
      result.merged.push({ id: "the remote's history", oid: await settleDivergence(synced, side) });
    else result.diverged = true;
  }
  const edited =
    args.from === undefined ? new Map<string, Resolution>() : await readEdited(resolve(core.cwd, args.from));
  for (const { id, conflicts } of await listProposals(repository)) {
    const open = {
      id,
      conflicts: conflicts.map(({ path, kind, ...both }) => ({
        path,
        kind,
        what: describeConflict({ path, kind, ...both }),
      })),
    };
    if (args.out !== undefined) {
      result.written.push(...(await writeConflicts(scope, conflicts, resolve(core.cwd, args.out))));
      result.open.push(open);
      continue;
    }
    if (!side && edited.size === 0 && !rest && conflicts.length > 0) {
      result.open.push(open);
      continue;
    }
    const files = new Map(edited);
    if (side) for (const path of typed) files.set(conflictPath(conflicts, path), { take: side });
    const decisions: Decisions = { files, ...(rest && { rest }) };
    assertDecisionsMeet(conflicts, decisions);
    const outcome = await resolveProposal(synced, id, decisions);
    if (outcome.status === "merged") result.merged.push({ id, oid: outcome.oid });
    else
      result.open.push({
        id,
        conflicts: outcome.conflicts.map((conflict) => ({
          path: conflict.path,
          kind: conflict.kind,
          what: describeConflict(conflict),
        })),
      });
  }
  return result;
}

/** `.md` may be left out, as everywhere. */
function conflictPath(conflicts: readonly MergeConflict[], path: string): string {
  return conflicts.some((conflict) => conflict.path === `${path}.md`) ? `${path}.md` : path;
}

async function writeConflicts({ memory }: MemoryScope, conflicts: MergeConflict[], out: string): Promise<string[]> {
  const { objects } = await memory.ensure();
  const written: string[] = [];
  const put = async (path: string, content: Uint8Array) => {
    const file = join(out, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content, { flag: "wx" }).catch((cause: unknown) => {
      throw new LettaError("storage", `cannot write ${file}`, { cause, hint: "Name a new directory." });
    });
    written.push(file);
  };
  for (const conflict of conflicts) {
    const text = await conflictText(objects, conflict, { ours: "this machine", theirs: "remote" });
    if (text !== null) await put(conflict.path, text);
    // No lines to mark: both beside each other; whoever decides keeps one under the plain name.
    else {
      if (conflict.ours) await put(`${conflict.path}.ours`, await objects.readBlob(conflict.ours));
      if (conflict.theirs) await put(`${conflict.path}.theirs`, await objects.readBlob(conflict.theirs));
    }
  }
  return written;
}

async function readEdited(dir: string): Promise<Map<string, Resolution>> {
  const files = new Map<string, Resolution>();
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /\.(?:ours|theirs)$/.test(entry.name)) continue;
    const file = join(entry.parentPath, entry.name);
    const content = await readFile(file);
    const marker = findConflictMarker(content);
    if (marker !== null) {
      throw new LettaError("usage", `${file}:${marker} still has a conflict marker`, {
        hint: "Nothing was merged yet.",
      });
    }
    files.set(relative(dir, file).replaceAll(sep, "/"), { content });
  }
  return files;
}
