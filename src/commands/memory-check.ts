// `letta memory fsck`, and `letta memory hook`, which real git calls before a commit in a memory.

import { join, resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { formatCount, plural } from "@/lib/text.ts";
import { HOOK_NAMES, MEMORY_HOOKS, stagedChanges } from "@/memory/hooks.ts";
import { HARNESS_IDENTITY } from "@/memory/places.ts";
import { MEMORY_BRANCH } from "@/memory/service.ts";
import { formatProblems, hasErrors } from "@/memory/validate.ts";
import { checkRepository } from "@/store/git/check.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present } from "./output.ts";

export async function runMemoryFsck(
  { memory }: MemoryScope,
  args: OutputArgs & { repair?: boolean },
  io: Io,
): Promise<number> {
  const { memory: dir } = memory.places;
  return present(
    io,
    args,
    async () => {
      const repair = args.repair === true;
      if (repair) {
        const { initRepository } = await import("@/store/git/repository.ts");
        const hooks = { branch: MEMORY_BRANCH, hooks: MEMORY_HOOKS };
        // What else is wrong with it is found below.
        await initRepository(dir, hooks).catch(() => undefined);
      }
      return checkRepository(dir, { repair, by: HARNESS_IDENTITY });
    },
    {
      exitCode: ({ findings }) => (findings.every(({ repaired }) => repaired) ? 0 : 1),
      text: ({ objects, findings }) => {
        const rows = findings.map(
          ({ what, repaired }) => `${repaired ? "repaired" : "PROBLEM "}  ${toPlainLine(what)}\n`,
        );
        const open = findings.filter(({ repaired }) => !repaired).length;
        if (findings.length === 0) return `${formatCount(objects)} objects, nothing wrong.\n`;
        const advice = args.repair
          ? "What is left needs a backup (letta memory backups) or another copy of the memory (letta memory pull).\n"
          : "letta memory fsck --repair mends what can be mended.\n";
        return `${rows.join("")}${open > 0 ? `${plural(open, "problem")}. ${advice}` : "Everything is mended.\n"}`;
      },
    },
  );
}

/** Exit code 1 stops the commit. Nothing is printed when all is well. */
export async function runMemoryHook(
  { memory, core, isAgent, prepare }: MemoryScope,
  args: { name?: string },
  io: Io,
): Promise<number> {
  if (!HOOK_NAMES.some((name) => name === args.name)) {
    throw new LettaError("usage", `there is no hook ${JSON.stringify(args.name)}`, { hint: HOOK_NAMES.join(", ") });
  }
  // Committing is all there is to it: what has to follow follows the turn.
  if (args.name !== "pre-commit") return 0;
  await prepare();
  const repository = await memory.ensure();
  const index = core.env.all.GIT_INDEX_FILE;
  const changes = await stagedChanges(
    repository,
    index ? resolve(core.cwd, index) : join(repository.dir, ".git", "index"),
  );
  const problems = await memory.validate(changes, { ownerMayOverride: !isAgent });
  if (problems.length > 0) io.stderr(`${toPlainProblems(formatProblems(problems))}\n`);
  if (!hasErrors(problems)) return 0;
  io.stderr("memory: validation failed, nothing was committed\n");
  return 1;
}

function toPlainProblems(text: string): string {
  return text.split("\n").map(toPlainLine).join("\n");
}
