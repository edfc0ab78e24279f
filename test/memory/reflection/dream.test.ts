import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isPending } from "@/memory/reflection/journal.ts";
import { acceptProposal, describeProposal, findDream, rejectProposal } from "@/memory/reflection/proposals.ts";
import { dreamWorld, hasGit, lines, NO_LEFTOVERS, REF, SEED, type World } from "./dream-world.ts";

/** The memory is as it was, and nothing of the dream is left but its line in the journal. */
async function expectUntouched(world: World, head: string | null) {
  expect(await world.repository.resolve("HEAD")).toBe(head!);
  expect(await world.repository.status()).toEqual([]);
  expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
}

const records = (world: World) => world.deps("good").journal.read();

test("a good dream becomes one commit of the memory, with its reason", async () => {
  await using world = await dreamWorld();
  const base = await world.repository.resolve("HEAD");
  const outcome = await world.dream("good");
  expect(outcome).toMatchObject({
    status: "merged",
    subject: "feat(reflection): Ann prefers tea",
    paths: ["system/human.md"],
    usage: { steps: 1, totalTokens: 100 },
  });
  const head = (await world.repository.resolve("HEAD"))!;
  const commit = await world.repository.objects.readCommit(head);
  expect(commit.parents).toEqual([base!]);
  expect(commit.author).toMatchObject({ name: "Reflection Subagent", email: `reflection-${outcome.id}@letta.com` });
  expect(commit.message).toBe(`feat(reflection): Ann prefers tea 🔮

Reviewed: conversation conv-1, m1 to m2

Summary: She said so.

Generated-By: Letta Code
Parent-Agent-ID: agent-1
Reflection-ID: ${outcome.id}
`);
  expect(await world.text("system/human.md")).toEndWith("Ann likes tea more than coffee.\n");
  expect(await Bun.file(join(world.memory.places.memory, "system/human.md")).text()).toEndWith("than coffee.\n");
  expect(await world.repository.status()).toEqual([]);
  expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
  expect(world.cursors.find(REF)).toMatchObject({ through: "m2", failures: 0 });
  if (hasGit) expect(world.complaints()).toBe("");
});

test("the dreamer gets the transcript without secrets, and the memory", async () => {
  await using world = await dreamWorld();
  expect(await world.dream("payload", { instruction: "tea" })).toMatchObject({ status: "merged" });
  const copy = JSON.parse((await world.text("reference/copy.md"))!.split("---\n").at(-1)!);
  expect(copy.payload).toEqual([
    { role: "meta", source: "letta-code", agent_id: "agent-1", conversation_id: "conv-1" },
    { role: "user", content: "I like tea more than coffee, KEY=<REDACTED>", timestamp: "2026-05-04T10:00:00.000Z" },
    { role: "assistant", content: "Noted." },
  ]);
  expect(copy.memory).toStartWith(world.memory.places.worktrees);
  expect(copy.prompt).toContain("<focus>\ntea\n</focus>");
  expect(copy.prompt).toContain(`<path>$MEMORY_DIR/system/human.md</path>\n${SEED["system/human.md"]!.trimEnd()}`);
  expect(copy.prompt).toContain("build.md (how to build)");
});

test("nothing worth keeping: nothing changes, and the transcript counts as read", async () => {
  await using world = await dreamWorld();
  const head = await world.repository.resolve("HEAD");
  expect(await world.dream("nothing")).toMatchObject({ status: "no_changes", report: "I found nothing that lasts." });
  await expectUntouched(world, head);
  expect(world.cursors.find(REF).through).toBe("m2");
  const only = await world.dream("only_scratch");
  expect(only).toMatchObject({
    status: "no_changes",
    notes: ["left out notes.txt: neither Markdown nor part of skills/ or assets/"],
  });
  await expectUntouched(world, head);
});

test("scratch is left out with a note, the rest is kept", async () => {
  await using world = await dreamWorld();
  const outcome = await world.dream("scratch");
  expect(outcome).toMatchObject({
    status: "merged",
    paths: ["system/human.md"],
    notes: [
      "left out dump.json: neither Markdown nor part of skills/ or assets/",
      "left out system/.tmp/x.md: scratch by its name",
      "left out system/big.md: 2.0 MB is too large for a memory",
      "left out system/link.md: a link",
    ],
  });
  const { message } = await world.repository.objects.readCommit(outcome.head!);
  expect(message).toContain("Note: left out dump.json");
  expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
});

test.each([
  ["half", /% of the text of the memory would be gone/],
  ["persona", /system\/persona.md would be empty/],
  ["read_only", /system\/rules.md: this file is read-only and cannot be changed/],
  ["broken", /system\/new.md: the description at its beginning is missing/],
  ["grows", /system\/ would hold 1[\d,]+ bytes, and may hold 96,000/],
  ["scripts", /% of the text of skills\/ would be gone/],
] as const)("a dream that would make the memory worse waits as a proposal: %s", async (kind, reason) => {
  await using world = await dreamWorld();
  const head = await world.repository.resolve("HEAD");
  const outcome = await world.dream(kind);
  expect(outcome).toMatchObject({ status: "proposed", reason: expect.stringMatching(reason) });
  expect(await world.repository.resolve(outcome.proposal!)).not.toBeNull();
  await expectUntouched(world, head);
  // The transcript is looked at again, but not at once.
  expect(world.cursors.find(REF)).toMatchObject({ through: null, failures: 1, failedAt: "m2" });
  if (hasGit) expect(world.complaints()).toBe("");
});

test("what is wrong with its files is mended in one more turn", async () => {
  await using world = await dreamWorld();
  const outcome = await world.dream("mends");
  expect(outcome).toMatchObject({ status: "merged", subject: "feat(reflection): a new file", usage: { steps: 2 } });
  expect(await world.text("system/new.md")).toContain("what Ann likes");
});

test.each([
  ["crash", "failed", /code 7/],
  ["never", "timed_out", /had not ended/],
  ["many", "failed", /changed 600 files/],
  // A proposal would keep it.
  ["secret", "failed", /system\/human.md:\d+: this looks like a secret/],
  ["known_secret", "failed", /system\/human.md:\d+: this looks like a secret/],
  ["secret_name", "failed", /^reference\/KEY=<REDACTED>.md: its name looks like a secret/],
] as const)(
  "a dream that does not do its work leaves nothing behind: %s",
  async (kind, status, reason) => {
    await using world = await dreamWorld();
    const head = await world.repository.resolve("HEAD");
    const outcome = await world.dream(kind, { timeoutMs: kind === "never" ? 1_000 : 60_000 });
    expect(outcome).toMatchObject({ status, reason: expect.stringMatching(reason) });
    await expectUntouched(world, head);
    expect(world.cursors.find(REF)).toMatchObject({ through: null, failures: 1 });
    expect(records(world)).toMatchObject([{ end: status }]);
    expect(await world.repository.listRefs("refs/letta/")).toEqual([]);
  },
  30_000,
);

test("one that is stopped is nobody's failure", async () => {
  await using world = await dreamWorld();
  const head = await world.repository.resolve("HEAD");
  const controller = new AbortController();
  const dreaming = world.dream("never", { signal: controller.signal });
  controller.abort();
  expect(await dreaming).toMatchObject({ status: "stopped" });
  await expectUntouched(world, head);
  expect(world.cursors.find(REF)).toMatchObject({ through: null, failures: 0 });
});

test.skipIf(!hasGit).each([
  // Kept below ours: two commits on the base.
  ["commits", ["feat(reflection): biscuits 🔮", "feat: tea by myself"]],
  // A file that may not be kept must not stay in the history either.
  ["commits_scratch", ["feat(reflection): tea 🔮"]],
  ["commits_secret", ["feat(reflection): tea 🔮"]],
  ["rewrites_history", ["feat(reflection): tea 🔮"]],
  ["spoils_git", ["feat(reflection): tea 🔮"]],
  ["repository", ["feat(reflection): tea 🔮"]],
] as const)("a dreamer that commits by itself: %s", async (kind, subjects) => {
  await using world = await dreamWorld();
  const base = await world.repository.resolve("HEAD");
  expect(await world.dream(kind)).toMatchObject({ status: "merged", paths: ["system/human.md"] });
  const log = await Array.fromAsync(world.repository.log());
  expect(log.map(({ message }) => message.split("\n")[0]!).slice(0, -1)).toEqual([...subjects]);
  expect(log.at(-1)?.oid).toBe(base!);
  expect(await world.text("system/human.md")).toContain("Ann likes tea");
  expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
  expect(world.complaints()).toBe("");
});

/** Lets something happen while the dreamer waits. */
async function whileDreaming(world: World, happen: () => Promise<unknown>, patch = {}) {
  const dreaming = world.dream("waits", patch);
  const folder = join(world.dir, "transcripts", REF.agentId);
  const glob = new Bun.Glob("*/*.waiting");
  let waiting: string | undefined;
  while (waiting === undefined) {
    if (existsSync(folder)) for (const path of glob.scanSync(folder)) waiting = join(folder, path);
    await Bun.sleep(10);
  }
  await happen();
  await Bun.file(waiting).delete();
  return dreaming;
}

test("what the agent wrote meanwhile is merged with", async () => {
  await using world = await dreamWorld();
  const outcome = await whileDreaming(world, () =>
    world.memory.create(
      { file: "reference/deploy", description: "how to deploy", text: "scp\n" },
      { reason: "Deploying" },
    ),
  );
  expect(outcome).toMatchObject({ status: "merged", paths: ["system/human.md"] });
  const commit = await world.repository.objects.readCommit(outcome.head!);
  expect(commit.parents).toHaveLength(2);
  expect(commit.message).toStartWith("merge(reflection): Ann prefers tea 🔮\n");
  expect(await world.text("reference/deploy.md")).toContain("scp");
  expect(await world.text("system/human.md")).toContain("Ann likes tea");
  expect(await world.repository.status()).toEqual([]);
  if (hasGit) expect(world.complaints()).toBe("");
});

test("a contradiction waits, the next dream is told about it, and settles it", async () => {
  await using world = await dreamWorld();
  const deleted = await whileDreaming(world, async () => {
    await world.memory.edit(
      async (draft) => draft.write("system/human.md", Buffer.from(`${SEED["system/human.md"]}Ann hates tea.\n`)),
      {
        message: "Ann told me",
        author: world.memory.identity,
      },
    );
  });
  expect(deleted).toMatchObject({
    status: "proposed",
    reason: "the memory changed meanwhile in the same places: system/human.md",
  });
  expect(await world.text("system/human.md")).toEndWith("Ann hates tea.\n");
  expect(await world.repository.status()).toEqual([]);
  const next = await world.dream("payload");
  expect(next).toMatchObject({ status: "merged" });
  const { prompt } = JSON.parse((await world.text("reference/copy.md"))!.split("---\n").at(-1)!);
  expect(prompt).toContain(`An earlier reflection on this (${deleted.id}) did not reach the memory`);
  expect(prompt).toContain("Ann likes tea more than coffee.");
  expect(records(world).map(({ decision }) => decision)).toEqual(["superseded", null]);
  expect(await world.repository.resolve(deleted.proposal!)).toBeNull();
});

test("unfinished work elsewhere in the memory does not matter; in the same file it makes the dream wait", async () => {
  await using world = await dreamWorld();
  const memory = world.memory.places.memory;
  writeFileSync(join(memory, "reference/build.md"), "unfinished");
  expect(await world.dream("good")).toMatchObject({ status: "merged" });
  expect(await Bun.file(join(memory, "reference/build.md")).text()).toBe("unfinished");
  writeFileSync(join(memory, "system/human.md"), "unfinished, too");
  const head = await world.repository.resolve("HEAD");
  expect(await world.dream("good")).toMatchObject({
    status: "proposed",
    reason: expect.stringContaining("nobody committed"),
  });
  expect(await world.repository.resolve("HEAD")).toBe(head);
  expect(await Bun.file(join(memory, "system/human.md")).text()).toBe("unfinished, too");
});

test.each(["review", "explicit"] as const)(
  "%s: a sound dream waits, and its transcript counts as read",
  async (merge) => {
    await using world = await dreamWorld();
    const head = await world.repository.resolve("HEAD");
    expect(await world.dream("good", { merge })).toMatchObject({ status: "proposed" });
    await expectUntouched(world, head);
    expect(world.cursors.find(REF)).toMatchObject({ through: "m2", failures: 0 });
    expect(records(world).filter(isPending)).toHaveLength(1);
  },
);

test("lines that end in CRLF stay so, and are no changes", async () => {
  const crlf = Object.fromEntries(Object.entries(SEED).map(([path, text]) => [path, text.replaceAll("\n", "\r\n")]));
  await using world = await dreamWorld(undefined, crlf);
  await world.repository.setConfig?.({ "core.autocrlf": "true" });
  expect(await world.dream("nothing")).toMatchObject({ status: "no_changes", notes: [] });
  expect(await world.dream("good")).toMatchObject({ status: "merged", paths: ["system/human.md"] });
  expect(await world.text("system/rules.md")).toBe(crlf["system/rules.md"]!);
  expect(await world.text("system/human.md")).toStartWith(crlf["system/human.md"]!);
});

test("a waiting change is taken once a person wants it, whatever it loses", async () => {
  await using world = await dreamWorld();
  const { id, proposal } = await world.dream("half");
  const deps = world.deps("half");
  const record = findDream(records(world), id.slice(-8));
  expect((await describeProposal(world.repository, record)).map(({ path, change }) => [path, change])).toEqual([
    ["reference/build.md", "deleted"],
    ["system/human.md", "deleted"],
  ]);
  const { paths } = await acceptProposal(record, "person", deps);
  expect(paths).toEqual(["reference/build.md", "system/human.md"]);
  expect(await world.text("system/human.md")).toBeNull();
  expect(await world.repository.resolve(proposal!)).toBeNull();
  expect(world.cursors.find(REF)).toMatchObject({ through: "m2", failures: 0 });
  await expect(acceptProposal(findDream(records(world), id), "person", deps)).rejects.toThrow(
    /does not wait.*accepted/,
  );
});

test("what contradicts the memory cannot be taken, and waits on; leaving it settles the transcript", async () => {
  await using world = await dreamWorld();
  const { id, proposal } = await world.dream("good", { merge: "review" });
  const deps = world.deps("good");
  const change = (text: string) =>
    world.memory.edit(async (draft) => draft.write("system/human.md", Buffer.from(text)), {
      message: "Ann told me",
      author: world.memory.identity,
    });
  await change(`${SEED["system/human.md"]}Ann hates tea.\n`);
  const record = () => findDream(records(world), id);
  await expect(acceptProposal(record(), "person", deps)).rejects.toMatchObject({ code: "conflict" });
  expect(isPending(record())).toBe(true);
  expect(await world.text("system/human.md")).toEndWith("Ann hates tea.\n");
  await rejectProposal(record(), "person", deps);
  expect(record()).toMatchObject({ decision: "rejected" });
  expect(await world.repository.resolve(proposal!)).toBeNull();
  expect(() => findDream(records(world), "nothing")).toThrow(/there is no dream nothing/);
});

test.each([
  ["bytes_name", ['left out "a\\udcff.md": its name is not UTF-8']],
  [
    "deep",
    [
      expect.stringMatching(
        /^left out (?:d{100}\/d{98}|d+).*: (?:it is longer than|name too long|file name too long)/i,
      ),
    ],
  ],
  ["git_name", ["left out .git /x.md: it names git's own folder"]],
  ["line_name", ['left out "a\\nGenerated-By: me.txt": neither Markdown nor part of skills/ or assets/']],
] as const)("an odd name is left out with a note, and costs nothing else: %s", async (kind, notes) => {
  await using world = await dreamWorld();
  expect(await world.dream(kind)).toMatchObject({ status: "merged", paths: ["system/human.md"], notes });
  expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
  expect(await world.dream("payload")).toMatchObject({ status: "merged" });
});

/** As somebody whom permissions hold for. */
async function withoutPrivileges<Result>(world: World, work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  execFileSync("chown", ["-R", "65534", world.dir]);
  process.seteuid!(65534);
  try {
    return await work();
  } finally {
    process.seteuid!(0);
  }
}

test.each([
  ["closes_folder", ["system/human.md", "x/y.md"]],
  ["closes_known_folder", ["system/human.md"]],
  ["freezes_folder", ["system/human.md", "x/z/y.md"]],
  ["closes_file", ["system/human.md"]],
] as const)("permissions that a dreamer takes away end nothing: %s", async (kind, paths) => {
  await using world = await dreamWorld();
  await withoutPrivileges(world, async () => {
    const outcome = await world.dream(kind);
    expect(outcome).toMatchObject({ status: "merged", paths, notes: [] });
    expect(await world.text("reference/build.md")).not.toBeNull();
    expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
    expect(await world.dream("good")).toMatchObject({ status: "merged" });
    expect(await world.leftovers()).toEqual(NO_LEFTOVERS);
  });
});

test("a secret in what the dreamer says reaches neither the commit nor whoever asked", async () => {
  await using world = await dreamWorld();
  const outcome = await world.dream("tells_secret");
  expect(outcome).toMatchObject({
    status: "merged",
    subject: "feat(reflection): her word is KEY=<REDACTED>",
    report: "feat: her word is KEY=<REDACTED>\n\nSummary: KEY=<REDACTED>",
    notes: ["left out KEY=<REDACTED>.txt: neither Markdown nor part of skills/ or assets/"],
  });
  const { message } = await world.repository.objects.readCommit(outcome.head!);
  expect(message).toContain("Summary: KEY=<REDACTED>");
  expect(message).not.toContain("s3cret-value");
});

test("system/ that is too large already may shrink", async () => {
  const large = `---\ndescription: large\n---\n${lines("thing", 10_000)}`;
  await using world = await dreamWorld(undefined, { ...SEED, "system/large.md": large });
  expect(await world.dream("shrinks")).toMatchObject({ status: "merged", paths: ["system/large.md"] });
});
