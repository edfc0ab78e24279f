// `letta skills new`: the beginning of a skill that is right as it stands.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { formatMarkdown, oneLine } from "@/memory/frontmatter.ts";
import { skillFolder } from "@/skills/install/installed.ts";
import { isSkillName } from "@/skills/install/package.ts";
import { MAX_DESCRIPTION_CHARS } from "@/skills/limits.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present } from "./output.ts";
import { writeNewFile } from "./write-file.ts";

export interface NewArgs extends OutputArgs {
  skill?: string;
  description?: string;
}

/** One commit. */
export async function runNewInMemory({ memory, author, prepare }: MemoryScope, args: NewArgs, io: Io): Promise<number> {
  return presentNew(io, args, async (name, text) => {
    await prepare();
    const folder = skillFolder(name);
    const path = join(memory.places.memory, folder);
    await memory.ensure();
    if (existsSync(path)) throw exists(path);
    const { oid } = await memory.edit(
      async (draft) => {
        if (draft.isTaken(folder)) throw exists(path);
        draft.write(`${folder}/SKILL.md`, Buffer.from(text));
      },
      { message: `chore(skills): create ${name}`, author },
    );
    return { path, commitSha: oid };
  });
}

export async function runNewInFolder({ cwd }: Core, args: NewArgs & { path: string }, io: Io): Promise<number> {
  return presentNew(io, args, async (name, text) => {
    const path = join(resolve(cwd, args.path), name);
    if (existsSync(path)) throw exists(path);
    await writeNewFile(join(path, "SKILL.md"), text);
    return { path, commitSha: null };
  });
}

function presentNew(
  io: Io,
  args: NewArgs,
  write: (name: string, text: string) => Promise<{ path: string; commitSha: string | null }>,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const name = checkName(args.skill ?? "");
      return { name, ...(await write(name, skeleton(name, args.description))) };
    },
    {
      text: ({ name, path, commitSha }) =>
        `Made ${join(path, "SKILL.md")}\nWrite into it what to do; then: letta skills validate ${commitSha === null ? path : name}\n`,
    },
  );
}

/** Of the open format, which is stricter than what can be installed. */
function checkName(name: string): string {
  if (isSkillName(name) && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) return name;
  throw new LettaError("usage", `${JSON.stringify(name)} is no name for a skill`, {
    hint: "Lower-case letters, digits and single hyphens, at most 64: for example releasing-packages",
  });
}

function skeleton(name: string, given: string | undefined): string {
  const description = oneLine(given ?? `What ${name} does, and when it is of use.`);
  if (description === "" || description.length > MAX_DESCRIPTION_CHARS) {
    throw new LettaError("usage", `--description takes 1 to ${MAX_DESCRIPTION_CHARS} characters`);
  }
  const title = name.replaceAll("-", " ").replace(/^./, (letter) => letter.toUpperCase());
  return formatMarkdown(
    { name, description },
    `# ${title}\n\n1. Say what to do first.\n2. Say how to see that it worked.\n`,
  );
}

function exists(path: string): LettaError {
  return new LettaError("conflict", `${path} exists already`);
}
