// A memory with something in it, a transcript nobody has looked back on, and dreamers that are real processes.

import type { Database } from "bun:sqlite";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createRedactor } from "@/lib/redactor.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { mergeMemoryFile } from "@/memory/merge-markdown.ts";
import { type Cursors, createCursors } from "@/memory/reflection/cursors.ts";
import { type DreamDeps, type DreamOutcome, type DreamRequest, runDream } from "@/memory/reflection/dream.ts";
import { openDreamJournal } from "@/memory/reflection/journal.ts";
import { rowCost } from "@/memory/reflection/payload.ts";
import { cutSlice, type TranscriptRow } from "@/memory/reflection/transcript.ts";
import { treeLimits } from "@/memory/render.ts";
import { type AgentMemory, openMemory } from "@/memory/service.ts";
import { openDatabase } from "@/store/db.ts";
import { initRepository, openRepository } from "@/store/git/repository.ts";
import type { GitRepository } from "@/store/git/types.ts";
import { parseDefinition } from "@/subagents/definition.ts";
import { launchChild } from "@/subagents/launch-child.ts";
import { tempDir } from "../../support/binary.ts";

export const lines = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `- ${name}, number ${index}\n`).join("");
const file = (description: string, body: string, more = "") => `---\ndescription: ${description}\n${more}---\n${body}`;

export const SEED: Record<string, string> = {
  "system/persona.md": file("who I am", "I am Letta, and I remember.\n"),
  "system/human.md": file("about Ann", `# Ann\n\n${lines("fact", 20)}`),
  "system/rules.md": file("what always holds", lines("rule", 10), "read_only: true\n"),
  "reference/build.md": file("how to build", lines("step", 20)),
  "skills/deploy/SKILL.md": file("This skill should be used when deploying", "Run deploy.py.\n", "name: deploy\n"),
  "skills/deploy/deploy.py": Array.from(
    { length: 60 },
    (_, index) => `copy("part-${index}", "server-${index}")\n`,
  ).join(""),
};

export const REF = { agentId: "agent-1", conversationId: "conv-1" };

export interface World extends AsyncDisposable {
  dir: string;
  /** Path of the database; other processes open it, too. */
  database: string;
  memory: AgentMemory;
  repository: GitRepository;
  cursors: Cursors;
  deps(kind: string, onStep?: (step: string) => void): DreamDeps;
  request(patch?: Partial<DreamRequest>): DreamRequest;
  dream(kind: string, patch?: Partial<DreamRequest>): Promise<DreamOutcome>;
  /** Of the committed memory. */
  text(path: string): Promise<string | null>;
  /** What no dream may leave behind. */
  leftovers(): Promise<{ worktrees: number; branches: string[]; folders: string[]; payloads: string[] }>;
  /** Real git's opinion: what `git fsck` and `git status` say. */
  complaints(): string;
}

export const NO_LEFTOVERS = { worktrees: 0, branches: [], folders: [], payloads: [] };

/** `dir`: an existing world is opened again, as another process would. */
export async function dreamWorld(dir?: string, seed = SEED): Promise<World> {
  const own = dir === undefined ? tempDir("letta-dream-") : null;
  const root = dir ?? own!.path;
  const database = join(root, "letta.db");
  const db: Database = openDatabase(database);
  const memory = openMemory({
    paths: { agents: join(root, "agents") },
    agent: { id: REF.agentId, name: "Letta" },
    git: async () => ({ openRepository: (dir) => openRepository(dir), initRepository }),
    seed: () => seed,
  });
  const repository = await memory.ensure();
  const cursors = createCursors(db);
  const watchdog = createWatchdog({ path: process.env.PATH! });
  const persona = parseDefinition(
    await Bun.file(join(import.meta.dir, "../../../agents/reflection.md")).text(),
    "reflection.md",
  );
  const transcripts = join(root, "transcripts");

  const world: World = {
    dir: root,
    database,
    memory,
    repository,
    cursors,
    deps: (kind, onStep) => ({
      memory: repository,
      worktrees: memory.places.worktrees,
      journal: openDreamJournal(memory.places.memory),
      cursors,
      mergeFile: mergeMemoryFile,
      agentMemory: memory,
      persona,
      treeLimits: treeLimits({}),
      redact: createRedactor([{ name: "KEY", value: "s3cret-value" }], { patterns: true }).redact,
      payloads: join(transcripts, REF.agentId),
      launch: (launch, options) =>
        launchChild(launch, {
          ...options,
          env: process.env,
          parentAgentId: REF.agentId,
          watchdog,
          maxOutputBytes: 8 * 1024 * 1024,
          command: [process.execPath, join(import.meta.dir, "fake-dreamer.ts"), kind],
        }),
      now: Date.now,
      ...(onStep && { onStep }),
    }),
    request: (patch = {}) => ({
      slices: [cutSlice(REF, ROWS, { from: cursors.find(REF).through, more: false, cost: rowCost, budget: 100_000 })!],
      compactions: new Map(),
      selectionPolicy: "one",
      model: "test/model",
      merge: "auto",
      timeoutMs: 60_000,
      depth: 0,
      signal: new AbortController().signal,
      ...patch,
    }),
    dream: (kind, patch) => runDream(world.request(patch), world.deps(kind)),
    text: async (path) => {
      const bytes = await repository.readFile("HEAD", path);
      return bytes && Buffer.from(bytes).toString();
    },
    leftovers: async () => ({
      worktrees: (await repository.listWorktrees()).filter((tree) => tree.dir !== memory.places.memory).length,
      branches: (await repository.listRefs("refs/heads/letta/")).map(({ ref }) => ref),
      folders: existsSync(memory.places.worktrees) ? readdirSync(memory.places.worktrees) : [],
      payloads: existsSync(join(transcripts, REF.agentId)) ? readdirSync(join(transcripts, REF.agentId)) : [],
    }),
    complaints: () => {
      const git = (...args: string[]) => {
        const result = Bun.spawnSync(["git", ...args], { cwd: memory.places.memory });
        return `${result.stdout}${result.stderr}`;
      };
      return git("fsck", "--strict", "--no-dangling") + git("status", "--porcelain") + git("worktree", "prune", "-n");
    },
    [Symbol.asyncDispose]: async () => {
      watchdog.close();
      db.close();
      own?.[Symbol.dispose]();
    },
  };
  return world;
}

export const hasGit = (() => {
  try {
    execFileSync("git", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

const at = "2026-05-04T10:00:00.000Z";
export const ROWS: TranscriptRow[] = [
  { kind: "user", text: "I like tea more than coffee, s3cret-value", at, messageId: "m1" },
  { kind: "assistant", text: "Noted.", at, messageId: "m2" },
];
