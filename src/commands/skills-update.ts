// `letta skills update`: fetches installed skills again from where they came, and shows what is new before it is taken.

import { describeError, LettaError } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { skillHosts } from "@/skills/install/hosts.ts";
import {
  getInstalled,
  type InstalledSkill,
  installSkill,
  listInstalled,
  pairFiles,
  readSkillFiles,
  verifySkill,
} from "@/skills/install/installed.ts";
import { fetchPackage } from "@/skills/install/package.ts";
import { parseInstallSpec } from "@/skills/install/spec.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present } from "./output.ts";
import { countLines, renderChanges, requireSkillConsent } from "./skills-preview.ts";

export interface UpdateArgs extends OutputArgs {
  skill?: string;
  "dry-run"?: boolean;
  force?: boolean;
  yes?: boolean;
}

type Updated =
  | { name: string; status: "current"; changedHere: string[] }
  | {
      name: string;
      status: "updated" | "available";
      resolvedRef: string | null;
      commitSha: string | null;
      changes: { path: string; added: number; removed: number }[];
    }
  | { name: string; status: "failed"; error: ReturnType<typeof describeError> };

export async function runUpdate(scope: MemoryScope, args: UpdateArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      if (args.skill !== undefined)
        return [await updateOne(scope, await getInstalled(scope.memory, args.skill), args, io)];
      const installed = (await listInstalled(scope.memory)).filter(({ provenance }) => provenance !== null);
      const results: Updated[] = [];
      for (const skill of installed) results.push(await tryUpdate(scope, skill, args, io));
      return results;
    },
    {
      exitCode: (results) => (results.some(({ status }) => status === "failed") ? 1 : 0),
      text: (results) =>
        results.length === 0 ? "No skill was installed from elsewhere.\n" : results.map(renderResult).join(""),
    },
  );
}

/** One that cannot be updated must not keep the others old. */
async function tryUpdate(scope: MemoryScope, skill: InstalledSkill, args: UpdateArgs, io: Io): Promise<Updated> {
  try {
    return await updateOne(scope, skill, args, io);
  } catch (error) {
    if (!(error instanceof LettaError)) throw error;
    return { name: skill.name, status: "failed", error: describeError(error) };
  }
}

async function updateOne(
  { memory, author, core, prepare }: MemoryScope,
  installed: InstalledSkill,
  args: UpdateArgs,
  io: Io,
): Promise<Updated> {
  const { name, provenance } = installed;
  if (!provenance) {
    throw new LettaError("usage", `${name} was not installed from anywhere that it could be updated from`);
  }
  const { state, changed } = await verifySkill(memory, installed);
  const isChanged = state !== "intact";
  const spec = parseInstallSpec(provenance.source, { cwd: core.cwd, home: core.env.home });
  const known = isChanged && args.force ? null : provenance.resolved_ref;
  const skill = await fetchPackage(spec, { hosts: skillHosts(core.env.skillMirror) }, known);
  if (!skill || (skill.digest === provenance.sha256 && !(isChanged && args.force))) {
    return { name, status: "current", changedHere: changed };
  }
  if (skill.name !== name) {
    throw new LettaError("conflict", `${name} is called ${skill.name} there by now`, {
      hint: `Install that one, and delete ${name}.`,
    });
  }
  const pairs = pairFiles(await readSkillFiles(installed.path), skill.files);
  const changes = pairs.map((pair) => ({ path: pair.path, ...countLines(pair) }));
  const result = { name, resolvedRef: skill.resolvedRef, changes };
  if (args["dry-run"]) return { ...result, status: "available", commitSha: null };
  if (isChanged && !args.force) {
    throw new LettaError(
      "conflict",
      `${name} was changed here since it was installed: ${changed.join(", ") || state}`,
      {
        hint: "--force takes what is new and drops these changes; they stay in the memory's history.",
      },
    );
  }
  const question = `Update ${name}?`;
  await requireSkillConsent(io, args, { skill, preview: renderChanges(skill, pairs), question });
  await prepare();
  const { oid } = await installSkill(memory, skill, { author, force: true }, "update");
  return { ...result, status: "updated", commitSha: oid };
}

function renderResult(result: Updated): string {
  const { name } = result;
  switch (result.status) {
    case "current": {
      const here = result.changedHere.length > 0 ? `; changed here: ${result.changedHere.join(", ")}` : "";
      return `${name}: nothing new${toPlainLine(here)}\n`;
    }
    case "failed":
      return [result.error.message, result.error.hint]
        .filter((line) => line !== undefined)
        .map((line, index) => `${index === 0 ? `${name}: ` : "  "}${toPlainLine(line)}\n`)
        .join("");
    case "available":
      return `${name}: an update would change\n${renderChangeList(result.changes)}`;
    case "updated":
      return `Updated ${name} (commit ${result.commitSha?.slice(0, 7)})\n`;
  }
}

function renderChangeList(changes: readonly { path: string; added: number; removed: number }[]): string {
  return changes.map(({ path, added, removed }) => `  ${toPlainLine(path)}  +${added} -${removed}\n`).join("");
}
