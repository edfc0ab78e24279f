import { expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findDream, rejectProposal } from "@/memory/reflection/proposals.ts";
import { recoverDreams } from "@/memory/reflection/recover.ts";
import { dreamWorld, hasGit, NO_LEFTOVERS, REF, type World } from "./dream-world.ts";

async function killedAt(world: World, kind: string, step: string): Promise<void> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "dream-process.ts"), world.dir, kind, step], {
    stdout: "pipe",
    stderr: "inherit",
  });
  await child.exited;
  expect([kind, step, child.signalCode]).toEqual([kind, step, "SIGKILL"]);
}

const recover = (world: World) => recoverDreams(world.deps("good"));

/** Commits of the memory that bring the fact. */
async function factCommits(world: World): Promise<number> {
  const log = await Array.fromAsync(world.repository.log());
  return log.filter(({ message }) => message.startsWith("feat(reflection): Ann prefers tea")).length;
}

test.each([
  // Nothing was committed yet: tried again later.
  ["planned", "stopped", null, 1, 0],
  ["worktree", "stopped", null, 1, 0],
  // The work is done: it is brought to its end exactly once.
  ["committed", "merged", "m2", 0, 1],
  ["integrated", "merged", "m2", 0, 1],
  ["merged", "merged", "m2", 0, 1],
  ["cursor", "merged", "m2", 0, 1],
  ["discarded", "merged", "m2", 0, 1],
] as const)(
  "killed when it was %s: %s",
  async (step, status, through, failures, commits) => {
    await using world = await dreamWorld();
    await killedAt(world, "good", step);
    expect(await recover(world)).toMatchObject([{ status }]);
    expect(world.cursors.find(REF)).toMatchObject({ through, failures });
    expect(await factCommits(world)).toBe(commits);
    expect(await world.repository.status()).toEqual([]);
    expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
    if (hasGit) expect(world.complaints()).toBe("");
    // There is nothing more to do, and a further dream finds nothing in its way.
    expect(await recover(world)).toEqual([]);
    expect(world.cursors.find(REF)).toMatchObject({ through, failures });
    expect(await world.dream("payload")).toMatchObject({ status: "merged" });
  },
  30_000,
);

test.each(["integrated", "proposed", "cursor"])(
  "a proposal whose dream was killed when it was %s waits once",
  async (step) => {
    await using world = await dreamWorld();
    const head = await world.repository.resolve("HEAD");
    await killedAt(world, "half", step);
    expect(await recover(world)).toMatchObject([{ status: "proposed" }]);
    expect(await world.repository.resolve("HEAD")).toBe(head);
    expect(world.cursors.find(REF)).toMatchObject({ through: null });
    expect(world.cursors.find(REF).failures).toBeGreaterThan(0);
    expect(await world.repository.listRefs("refs/letta/proposals/")).toHaveLength(1);
    expect(await recover(world)).toEqual([]);
  },
  30_000,
);

test("what the agent wrote between the crash and the recovery is merged with", async () => {
  await using world = await dreamWorld();
  await killedAt(world, "good", "committed");
  await world.memory.create({ file: "reference/new", description: "new", text: "new" }, { reason: "New" });
  expect(await recover(world)).toMatchObject([{ status: "merged" }]);
  expect(await world.text("reference/new.md")).toContain("new");
  expect(await world.text("system/human.md")).toContain("Ann likes tea");
}, 30_000);

const OLD = "20260504100000-00000001";
const YOUNG = "20260504100000-00000002";

test("worktrees nobody knows are taken away when they are old; other folders are left alone", async () => {
  await using world = await dreamWorld();
  const { worktrees } = world.memory.places;
  const head = (await world.repository.resolve("HEAD"))!;
  const add = (id: string) =>
    world.repository.addWorktree({
      dir: join(worktrees, `reflection-${id}`),
      branch: `letta/reflection/${id}`,
      from: head,
    });
  await add(OLD);
  await add(YOUNG);
  mkdirSync(join(worktrees, "defrag-1"));
  writeFileSync(join(worktrees, "defrag-1/x"), "");
  const longAgo = Date.now() / 1000 - 3 * 86_400;
  utimesSync(join(worktrees, `reflection-${OLD}`), longAgo, longAgo);
  expect(await recover(world)).toEqual([]);
  const left = await world.leftovers();
  expect(left.folders.sort()).toEqual(["defrag-1", `reflection-${YOUNG}`]);
  expect(left.branches).toEqual([`refs/heads/letta/reflection/${YOUNG}`]);
});

/** As a memory that came from somewhere else may bring it along. */
function writeJournal(world: World, ...steps: object[]) {
  const folder = join(world.memory.places.memory, ".git/letta");
  mkdirSync(folder, { recursive: true });
  const stamp = { v: 1, id: OLD, at: "2026-05-04T10:00:00.000Z" };
  appendFileSync(
    join(folder, "dreams.jsonl"),
    steps.map((step) => `${JSON.stringify({ ...stamp, ...step })}\n`).join(""),
  );
}

test("a journal cannot have anything taken away but what is the dream's", async () => {
  await using world = await dreamWorld();
  const head = (await world.repository.resolve("HEAD"))!;
  const main = (await world.repository.currentBranch())!;
  const photos = join(world.dir, "photos");
  mkdirSync(photos);
  writeFileSync(join(photos, "1.jpg"), "x");
  const plan = { agentId: REF.agentId, base: head, moves: [], reviewed: [], merge: "auto", dir: photos, branch: main };
  writeJournal(world, { step: "planned", plan });
  mkdirSync(world.memory.places.worktrees);
  symlinkSync(photos, join(world.memory.places.worktrees, `reflection-${OLD}`));
  expect(await recover(world)).toMatchObject([{ id: OLD, status: "stopped" }]);
  expect(existsSync(join(photos, "1.jpg"))).toBe(true);
  expect(await world.repository.resolve(main)).toBe(head);
  expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
});

test("rejecting a proposal deletes no ref but its own", async () => {
  await using world = await dreamWorld();
  const head = (await world.repository.resolve("HEAD"))!;
  const main = (await world.repository.currentBranch())!;
  writeJournal(
    world,
    { step: "planned", plan: { agentId: REF.agentId, base: head, moves: [], reviewed: [], merge: "auto" } },
    { step: "proposed", ref: main, tip: head, reason: "r", advances: false },
    { step: "closed", status: "proposed" },
  );
  const deps = world.deps("good");
  await rejectProposal(findDream(deps.journal.read(), OLD), "person", deps);
  expect(await world.repository.resolve(main)).toBe(head);
});

test("worktrees that lead elsewhere are not touched", async () => {
  await using world = await dreamWorld();
  const elsewhere = join(world.dir, "elsewhere");
  mkdirSync(join(elsewhere, `reflection-${OLD}`), { recursive: true });
  writeFileSync(join(elsewhere, `reflection-${OLD}/1.jpg`), "x");
  symlinkSync(elsewhere, world.memory.places.worktrees);
  const base = (await world.repository.resolve("HEAD"))!;
  writeJournal(world, {
    step: "planned",
    plan: { agentId: REF.agentId, base, moves: [], reviewed: [], merge: "auto" },
  });
  await recover(world);
  expect(existsSync(join(elsewhere, `reflection-${OLD}/1.jpg`))).toBe(true);
  await expect(world.dream("good")).rejects.toMatchObject({ code: "storage" });
});

test("a dream that cannot be brought to its end does not stop the next", async () => {
  await using world = await dreamWorld();
  const base = (await world.repository.resolve("HEAD"))!;
  writeJournal(
    world,
    { step: "planned", plan: { agentId: REF.agentId, base, moves: [], reviewed: [], merge: "auto" } },
    { step: "committed", tip: "e".repeat(40), subject: "x", notes: [] },
  );
  expect(await recover(world)).toMatchObject([{ id: OLD, status: "failed", reason: expect.stringContaining("eeee") }]);
  expect(await world.dream("good")).toMatchObject({ status: "merged" });
});
