// Random operations by the engine, and the same history by real git: the trees must have the same ids, and git must find
// nothing to say about the engine's repository. A failure names its seed.

import { expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openRepository } from "@/store/git/repository.ts";
import type { Change, FileMode, GitRepository } from "@/store/git/types.ts";
import { ANN, complaints, git, hasGit, memoryDir, type TempRepo, tempRepo } from "../../support/git-repos.ts";

const SEQUENCES = 25;
const OPERATIONS = 80;

const NAMES = [
  "a",
  "a-b",
  "a.b",
  "b",
  "ab",
  "ü",
  "u\u0308",
  "日本",
  "sp ace",
  "-dash",
  '"q"',
  "'s'",
  "Z",
  "\u{1f600}",
  "\uffee",
  "x".repeat(200),
];
const MODES: FileMode[] = ["100644", "100644", "100644", "100755", "120000"];

interface File {
  text: string;
  mode: FileMode;
}

type Files = Map<string, File>;

/** A branch with a working tree, as the test believes it to be. */
interface Side {
  repo: GitRepository;
  files: Files;
  /** Index into the reference history. */
  at: number | null;
}

/** What real git is told. */
interface ReferenceCommit {
  parents: number[];
  files: Files;
  oid: string;
}

test.skipIf(!hasGit)(
  `${SEQUENCES * OPERATIONS} operations give the trees real git gives`,
  async () => {
    const first = Number(process.env.TWINS_SEED ?? 1);
    for (let seed = first; seed < first + SEQUENCES; seed++) await runSequence(seed);
  },
  180_000,
);

async function runSequence(seed: number): Promise<void> {
  using temp = await tempRepo();
  const random = randomFrom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const history: ReferenceCommit[] = [];
  const main: Side = { repo: temp.repo, files: new Map(), at: null };
  let linked: Side | null = null;
  let branches = 0;
  for (let step = 0; step < OPERATIONS; step++) {
    const side: Side = linked && random() < 0.5 ? linked : main;
    const kind = random();
    if (kind < 0.82 || main.at === null) await edit(side, history, random);
    else if (kind < 0.88) {
      if (!linked) {
        branches++;
        const dir = join(temp.path, `trees/${branches}`);
        const repo = await main.repo.addWorktree({ dir, branch: `side/${branches}`, from: history[main.at]!.oid });
        linked = { repo, files: new Map(main.files), at: main.at };
      }
    } else if (kind < 0.95) {
      if (linked) linked = await mergeBack(temp, main, linked, history, pick([true, false]));
    } else if (kind < 0.97) await main.repo.maintain({ maxLoose: 25 });
    // A new process sees the same.
    else if (side === main) main.repo = await openRepository(temp.dir);
    else side.repo = await openRepository(side.repo.dir);
    if (step % 20 === 19) {
      // Real git's merge, which ours is compared with, leaves trees when it finds conflicts.
      const options = { dangling: true };
      const says = complaints(temp.dir, options) + (linked ? complaints(linked.repo.dir, options) : "");
      expect({ seed, step, says }).toEqual({ seed, step, says: "" });
      expect({ seed, step, status: await main.repo.status() }).toEqual({ seed, step, status: [] });
    }
  }
  expect({
    seed,
    trees: treesOf(
      temp.dir,
      history.map(({ oid }) => oid),
    ),
  }).toEqual({ seed, trees: replay(history) });
}

/** One commit of some changes: handed over, or found in the working tree. */
async function edit(side: Side, history: ReferenceCommit[], random: () => number): Promise<void> {
  const files: Files = new Map(side.files);
  const touched = new Set<string>();
  const count = 1 + Math.floor(random() * 4);
  for (let number = 0; number < count; number++) changeSomething(files, touched, random);
  const parents = side.at === null ? [] : [side.at];
  const options = { message: `m${history.length}`, author: ANN };
  const outcome =
    random() < 0.5
      ? await side.repo.commitChanges(toChanges(files, touched), options)
      : await commitFromDisk(side, files, touched, options);
  side.files = files;
  if (outcome.status === "unchanged") return;
  side.at = history.push({ parents, files, oid: outcome.oid }) - 1;
}

function changeSomething(files: Files, touched: Set<string>, random: () => number): void {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const newFile = (): File => ({ text: `${random()}`.repeat(1 + Math.floor(random() * 3)), mode: pick(MODES) });
  const existing = files.size > 0 ? pick([...files.keys()]) : null;
  const kind = random();
  if (existing === null || kind < 0.45) {
    const path = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(NAMES)).join("/");
    put(files, touched, path, newFile());
  } else if (kind < 0.65) put(files, touched, existing, newFile());
  else if (kind < 0.8) {
    files.delete(existing);
    touched.add(existing);
  } else if (kind < 0.9) {
    const file = files.get(existing)!;
    files.delete(existing);
    touched.add(existing);
    put(files, touched, `${pick(NAMES)}/${pick(NAMES)}`, file);
  } else {
    const file = files.get(existing)!;
    if (file.mode !== "120000")
      put(files, touched, existing, { ...file, mode: file.mode === "100644" ? "100755" : "100644" });
  }
}

/** What it cannot stand beside goes: a file where a folder must be, and files where the folder was. */
function put(files: Files, touched: Set<string>, path: string, file: File): void {
  for (const other of [...files.keys()]) {
    if (!other.startsWith(`${path}/`) && !path.startsWith(`${other}/`)) continue;
    files.delete(other);
    touched.add(other);
  }
  files.set(path, file);
  touched.add(path);
}

function toChanges(files: Files, touched: ReadonlySet<string>): Change[] {
  return [...touched].map((path) => {
    const file = files.get(path);
    return file ? { path, content: Buffer.from(file.text), mode: file.mode } : { path, content: null };
  });
}

async function commitFromDisk(
  side: Side,
  files: Files,
  touched: ReadonlySet<string>,
  options: { message: string; author: typeof ANN },
) {
  const { dir } = side.repo;
  for (const path of touched)
    if (!files.has(path) && exists(join(dir, path))) rmSync(join(dir, path), { recursive: true });
  for (const path of touched) {
    const file = files.get(path);
    if (!file) continue;
    const target = join(dir, path);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(dirname(target), { recursive: true });
    if (file.mode === "120000") symlinkSync(file.text, target);
    else {
      writeFileSync(target, file.text);
      chmodSync(target, file.mode === "100755" ? 0o755 : 0o644);
      expect(lstatSync(target).isFile()).toBe(true);
    }
  }
  return await side.repo.commitPaths([...touched], options);
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // A folder on the way has become a file.
  }
}

/** As real git would merge; where that has conflicts, so must ours. The working tree goes, or stays for more. */
async function mergeBack(
  temp: TempRepo,
  main: Side,
  linked: Side,
  history: ReferenceCommit[],
  keep: boolean,
): Promise<Side | null> {
  const [ours, theirs] = [history[main.at!]!.oid, history[linked.at!]!.oid];
  const { repo } = main;
  expect(await repo.findMergeBase(ours, theirs)).toBe(git(temp.dir, ["merge-base", ours, theirs]).trim());
  if (await repo.isAncestor(ours, theirs)) {
    await repo.fastForward(theirs, { reason: "merge: Fast-forward", by: ANN });
    main.files = new Map(linked.files);
    main.at = linked.at;
  } else if (!(await repo.isAncestor(theirs, ours))) {
    const outcome = await repo.merge(ours, theirs, () => null);
    const args = ["-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", "--no-messages", ours, theirs];
    const expected = git(temp.dir, args, { ok: false }).split("\n");
    if (outcome.status === "merged") {
      expect(outcome.tree).toBe(expected[0]!);
      const parents = [main.at!, linked.at!];
      const oid = await repo.commitTree(outcome.tree, {
        message: "merge",
        author: ANN,
        parents: [ours, theirs],
        expectedHead: ours,
      });
      const files: Files = new Map();
      for (const entry of await repo.listFiles(oid))
        files.set(entry.path, {
          text: Buffer.from(await repo.objects.readBlob(entry.oid)).toString(),
          mode: entry.mode,
        });
      main.files = files;
      main.at = history.push({ parents, files, oid }) - 1;
    } else expect(outcome.conflicts.length).toBeGreaterThan(0);
  }
  if (keep) return linked;
  await repo.removeWorktree(linked.repo.dir);
  return null;
}

/** Tree ids of the same history in a repository that real git made. */
function replay(history: readonly ReferenceCommit[]): string[] {
  using folder = memoryDir();
  git(folder.path, ["init", "-q", "-b", "main"]);
  const input = history.map(({ parents, files }, index) => {
    const lines = [
      `commit refs/heads/c${index}`,
      `mark :${index + 1}`,
      "committer A <a@b> 1700000000 +0000",
      "data 1",
      "m",
    ];
    for (const [number, parent] of parents.entries()) lines.push(`${number === 0 ? "from" : "merge"} :${parent + 1}`);
    lines.push("deleteall");
    for (const [path, { text, mode }] of files)
      lines.push(`M ${mode} inline "${path.replace(/[\\"]/g, "\\$&")}"`, `data ${Buffer.byteLength(text)}`, text);
    return `${lines.join("\n")}\n`;
  });
  const marks = join(folder.path, "marks");
  git(folder.path, ["fast-import", "--quiet", `--export-marks=${marks}`], { input: input.join("") });
  const oids = git(folder.path, ["for-each-ref", "--format=%(refname:lstrip=2) %(tree)", "refs/heads"])
    .trim()
    .split("\n");
  const trees = new Map(oids.map((line) => line.split(" ") as [string, string]));
  return history.map((_, index) => trees.get(`c${index}`) ?? "");
}

function treesOf(dir: string, commits: readonly string[]): string[] {
  const input = commits.map((oid) => `${oid}^{tree}\n`).join("");
  return git(dir, ["cat-file", "--batch-check=%(objectname)"], { input }).trim().split("\n");
}

/** Mulberry32: the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}
