import { expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { importMemories } from "@/memory/import.ts";
import { openMemory } from "@/memory/service.ts";

const open = (agents: string, seed: Record<string, string>) =>
  openMemory({
    paths: { agents },
    agent: { id: "agent-1", name: "Ada" },
    git: () => import("@/store/git/repository.ts"),
    seed: () => seed,
  });

test("memories come over with their history, once, and the store is not touched", async () => {
  const root = mkdtempSync(join(tmpdir(), "letta-import-"));
  try {
    const store = join(root, "store");
    const agents = join(root, "agents");
    const theirs = open(join(store, "memfs"), { "system/persona.md": "---\ndescription: me\n---\nI am.\n" });
    await theirs.create({ file: "notes", description: "n", text: "x" }, { reason: "second" });
    symlinkSync("/etc/passwd", join(theirs.places.memory, "link"));
    writeFileSync(join(theirs.places.memory, "draft.md"), "not committed");
    mkdirSync(join(store, "memfs/agent 2!/memory"), { recursive: true });
    mkdirSync(join(store, "memfs/empty"), { recursive: true });
    // What would have something done: none of it is history.
    for (const path of ["letta/dreams.jsonl", "hooks/post-checkout", "worktrees/x/locked"]) {
      mkdirSync(dirname(join(theirs.places.memory, ".git", path)), { recursive: true });
      writeFileSync(join(theirs.places.memory, ".git", path), "{}");
    }
    mkdirSync(join(store, "memfs/agent-3/memory"), { recursive: true });
    symlinkSync(join(theirs.places.memory, ".git"), join(store, "memfs/agent-3/memory/.git"));
    const before = readdirSync(store, { recursive: true }).sort();

    expect(await importMemories(store, { agents }, { dryRun: true })).toMatchObject({ imported: 1, present: 0 });
    expect(lstatSync(agents, { throwIfNoEntry: false })).toBeUndefined();
    const report = await importMemories(store, { agents }, { dryRun: false });
    expect(report).toMatchObject({ imported: 1, present: 0 });
    expect(report.problems).toEqual([
      { file: join(store, "memfs/agent 2!/memory"), message: 'the memory was left out: "agent 2!" is no agent id' },
      { file: join(store, "memfs/agent-3/memory"), message: "the memory was left out: its .git is not a folder" },
    ]);
    const git = readdirSync(join(agents, "agent-1/memory/.git"));
    expect(git.filter((name) => ["letta", "hooks", "worktrees"].includes(name))).toEqual([]);
    const ours = open(agents, {});
    expect(await ours.head()).toBe(await theirs.head());
    expect(readlinkSync(join(ours.places.memory, "link"))).toBe("/etc/passwd");
    expect(readFileSync(join(ours.places.memory, "draft.md"), "utf8")).toBe("not committed");
    expect(readdirSync(join(agents, "agent-1"))).toEqual(["memory"]);

    await ours.create({ file: "more", description: "m", text: "" }, { reason: "here" });
    const head = await ours.head();
    expect(await importMemories(store, { agents }, { dryRun: false })).toMatchObject({ imported: 0, present: 1 });
    expect(await open(agents, {}).head()).toBe(head);
    expect(readdirSync(store, { recursive: true }).sort()).toEqual(before);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("a store without memories has none", async () => {
  expect(await importMemories("/nonexistent", { agents: "/nonexistent/agents" }, { dryRun: false })).toEqual({
    imported: 0,
    present: 0,
    problems: [],
  });
});
