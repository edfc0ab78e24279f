// `letta skills list`, `show`, `verify` and `delete`: what is in the memory.

import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { renderFields, renderTable } from "@/lib/table.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { clip, formatBytes, plural } from "@/lib/text.ts";
import {
  deleteSkill,
  getInstalled,
  type InstalledSkill,
  leftovers,
  listInstalled,
  readSkillFiles,
  type SkillState,
  skillFolder,
  verifySkill,
} from "@/skills/install/installed.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present, requireConsent, tableOptions } from "./output.ts";

export async function runSkillsList({ memory }: MemoryScope, args: OutputArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => ({ agentId: memory.agent.id, skills: (await listInstalled(memory)).map(toListed) }),
    {
      piped: "json",
      text: ({ skills }) => {
        if (skills.length === 0) return `${toPlainLine(memory.agent.name)} has no skills of its own.\n`;
        const rows = skills.map(({ name, source, description }) => [name, source ?? "", description ?? ""]);
        return renderTable(
          [{ title: "NAME" }, { title: "FROM" }, { title: "DESCRIPTION", shrink: true }],
          rows,
          tableOptions(io),
        );
      },
    },
  );
}

export interface SkillArgs extends OutputArgs {
  skill?: string;
  yes?: boolean;
}

export async function runSkillsShow({ memory }: MemoryScope, args: SkillArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const skill = await getInstalled(memory, args.skill ?? "");
      const files = (await readSkillFiles(skill.path)).map(({ path, content }) => ({ path, bytes: content.length }));
      const { state, changed } = await verifySkill(memory, skill);
      const { name, path, fields, provenance } = skill;
      const problems = skill.problems.map(({ line, problem, level }) => ({ line, problem, level }));
      return { name, path, state, changed, fields, provenance, files, problems };
    },
    {
      text: ({ name, path, state, changed, fields, provenance, files, problems }) =>
        [
          renderFields([
            ["Skill", name],
            ["Says", fields?.description],
            ["When", fields?.whenToUse],
            ["Folder", path],
            ["From", provenance?.source],
            ["Version", provenance?.resolved_ref],
            ["Installed", provenance?.installed_at],
            ["State", describeState(state, changed)],
            ["Tools", fields?.allowedTools.join(" ")],
            ["License", fields?.license],
          ]),
          ...files.map((file) => `  ${toPlainLine(file.path)}  ${formatBytes(file.bytes)}\n`),
          ...problems.map(
            ({ line, problem }) => `! SKILL.md${line === null ? "" : `:${line}`}: ${toPlainLine(problem)}\n`,
          ),
        ].join(""),
    },
  );
}

export async function runSkillsVerify({ memory }: MemoryScope, args: SkillArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const skills = args.skill === undefined ? await listInstalled(memory) : [await getInstalled(memory, args.skill)];
      const results = [];
      for (const skill of skills) results.push(await verifySkill(memory, skill));
      return results;
    },
    {
      exitCode: (results) => (results.every(({ state }) => state === "intact" || state === "own") ? 0 : 1),
      text: (results) =>
        results.length === 0
          ? `${toPlainLine(memory.agent.name)} has no skills of its own.\n`
          : renderTable(
              [{ title: "NAME" }, { title: "STATE", shrink: true }],
              results.map(({ name, state, changed }) => [name, describeState(state, changed)]),
              tableOptions(io),
            ),
    },
  );
}

export async function runSkillsDelete(
  { memory, author, core }: MemoryScope,
  args: SkillArgs & { agent?: string; name?: string },
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      // Whose skill is deleted is never guessed from what was used last.
      if (args.agent === undefined && args.name === undefined && core.env.agentId === undefined) {
        throw new LettaError("usage", "no agent given: deleting needs --agent ID or --name NAME");
      }
      const { name } = await getInstalled(memory, args.skill ?? "");
      if (io.confirm)
        await requireConsent(io, args, `Delete ${name} from the memory of ${clip(memory.agent.name, 60)}?`);
      const { oid, paths } = await deleteSkill(memory, name, { author });
      const left = leftovers(memory, name);
      return {
        agentId: memory.agent.id,
        name,
        path: join(memory.places.memory, skillFolder(name)),
        committed: true,
        commitSha: oid,
        files: paths.length,
        left,
      };
    },
    {
      text: ({ name, commitSha, files, left }) =>
        `Deleted ${name} (${plural(files, "file")}, commit ${commitSha.slice(0, 7)})\n` +
        `${left ? `What git does not keep is still in ${left}\n` : ""}` +
        `To bring it back: letta memory revert ${commitSha.slice(0, 7)}\n`,
    },
  );
}

function toListed({ name, path, fields, provenance, problems }: InstalledSkill) {
  return {
    name,
    path,
    ...(fields && { description: fields.description }),
    source: provenance?.source ?? null,
    ...(problems.length > 0 && { problems: problems.map(({ line, problem }) => ({ line, problem })) }),
  };
}

function describeState(state: SkillState, changed: readonly string[]): string {
  switch (state) {
    case "intact":
      return "as installed";
    case "own":
      return "written here";
    case "damaged":
      return "what was noted when it was installed cannot be used";
    case "changed":
      return `changed since it was installed: ${changed.join(", ")}`;
  }
}
