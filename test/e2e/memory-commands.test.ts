// `letta memory …` of the compiled binary: by the agent without git, by a person, against a remote, and with real git
// looking at what is left.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { QUESTION_GUARD_MS } from "@/frontends/repl/limits.ts";
import { builtBinary, type RunOptions, runLetta, type TempHome, tempDir, tempHome } from "../support/binary.ts";
import { serveGit } from "../support/git-http-server.ts";
import { complaints, git, hasGit } from "../support/git-repos.ts";
import { type RecordedRequest, type ScriptedReply, startModelServer } from "../support/model-server.ts";
import { CHAT, headless } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

const NOTE = "---\ndescription: a note\n---\nfirst\nsecond\n";

function agentIds(home: TempHome): string[] {
  return readdirSync(join(home.path, ".letta", "agents"));
}

function memoryOf(home: TempHome, id = agentIds(home)[0]!): string {
  return join(home.path, ".letta", "agents", id, "memory");
}

async function withAgent({ personality = "memo" } = {}) {
  const home = tempHome();
  await runLetta(["agents", "create", "--name", "Ada", "--personality", personality], { home });
  const dir = memoryOf(home);
  const memory = async (args: string, options: RunOptions = {}) =>
    runLetta(["memory", ...args.split(" ").map((word) => word.replaceAll("_", " "))], {
      home,
      ...options,
      env: { USER: "ann", PATH: "/nonexistent", ...options.env },
    });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  return { home, dir, memory, write, [Symbol.dispose]: () => home[Symbol.dispose]() };
}

const json = (result: { stdout: string }) => JSON.parse(result.stdout);

describe("an agent on a machine without git", () => {
  test("commits by command without being asked, and looks up who wrote what and why", async () => {
    using home = tempHome();
    const shell = (command: string, id: string) => ({ id, name: "Bash", args: { command } });
    const place = (request: RecordedRequest) =>
      /Memory directory \(MEMORY_DIR\): (\S+)/.exec(request.messages.map(({ text }) => text).join())![1]!;
    await using server = await startModelServer((request, index): ScriptedReply => {
      const write = { file_path: join(place(request), "notes.md"), content: NOTE };
      const steps: ScriptedReply[] = [
        { toolCalls: [{ id: "w", name: "Write", args: write }] },
        { toolCalls: [shell("letta memory status", "s")] },
        { toolCalls: [shell('letta memory commit -m "the tests need node 22"', "c")] },
        { toolCalls: [shell("letta memory log -n 1", "l"), shell("letta memory blame notes", "b")] },
        { toolCalls: [shell("letta memory log --agent agent-local-other", "x")] },
        { text: "done" },
      ];
      return steps[index]!;
    });
    const { args, env } = headless(server.url, ["--permission-mode", "standard", "note it down"]);
    const ran = await runLetta(args, { home, env: { ...env, PATH: "/usr/bin:/bin" } });
    const dir = memoryOf(home);
    expect(ran).toMatchObject({ stdout: "done\n", exitCode: 0 });
    const told = server.requests.flatMap(({ toolResults }) => toolResults.map(({ text }) => text));
    expect(told.find((text) => text.includes('"dirty"'))).toContain('"untracked"');
    expect(told.find((text) => text.startsWith("Committed"))).toMatch(/^Committed notes\.md \([0-9a-f]{7}\)/);
    expect(told.find((text) => text.startsWith("COMMIT"))).toContain("Letta  the tests need node 22  notes.md");
    expect(told.filter((text) => / Letta +now +4 {2}first/.test(text))).not.toEqual([]);
    // Another agent's memory is somebody's decision, and nobody is here.
    expect(told.at(-1)).toMatch(/not allowed|denied|approval|permission/i);

    const why = json(await runLetta(["memory", "why", "notes:5", "--format", "json"], { home }));
    expect(why).toMatchObject({
      path: "notes.md",
      line: 5,
      text: "second",
      author: "Letta",
      message: "the tests need node 22",
    });
    expect(why.said.text).toBe("note it down");
    if (hasGit) {
      expect(complaints(dir)).toBe("");
      expect(git(dir, ["status", "--porcelain"])).toBe("");
      expect(git(dir, ["log", "-1", "--format=%an|%ae|%s"])).toBe(
        `Letta|${agentIds(home)[0]}@letta.com|the tests need node 22\n`,
      );
    }
  });
});

test("exit codes say whether something is left to do", async () => {
  using agent = await withAgent();
  const { memory, write, home } = agent;
  expect(await memory("status")).toMatchObject({ exitCode: 0, stderr: "" });
  expect(json(await memory("status"))).toMatchObject({ dirty: false, aheadOfRemote: false, summary: "clean" });
  expect(await memory("diff")).toMatchObject({ exitCode: 0, stdout: "No changes.\n" });
  write("notes.md", NOTE);
  const dirty = await memory("status");
  expect(dirty.exitCode).toBe(2);
  expect(json(dirty)).toMatchObject({ dirty: true, summary: "1 uncommitted file" });
  const diff = await memory("diff");
  expect(diff.exitCode).toBe(2);
  expect(diff.stdout).toBe(
    `diff --git a/notes.md b/notes.md\nnew file mode 100644\n--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1,5 @@\n${NOTE.replace(/^(?=.)/gm, "+")}`,
  );
  expect(await memory("commit")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("--message is missing"),
  });
  expect(await memory("log --agent nobody")).toMatchObject({ exitCode: 4 });
  expect(await memory("show 1234567")).toMatchObject({ exitCode: 4 });
  expect(json(await runLetta(["memfs", "status"], { home }))).toMatchObject({ dirty: true });
});

test("what was committed is taken back step by step, and again", async () => {
  using agent = await withAgent();
  const { memory, write, dir } = agent;
  const read = (path: string) => (existsSync(join(dir, path)) ? readFileSync(join(dir, path), "utf8") : null);
  write("notes.md", NOTE);
  expect((await memory("commit -m first_note")).stdout).toMatch(/^Committed notes\.md \(/);
  write("notes.md", NOTE.replace("first", "1st"));
  await memory("commit notes -m better");
  write("other.md", NOTE);
  await memory("commit -m another");

  // Something else goes on in the folder meanwhile.
  write("draft.md", NOTE);
  expect((await memory("undo")).stdout).toStartWith('Took back "another" of ann in 1 file: other.md\n');
  expect(read("other.md")).toBeNull();
  expect((await memory("undo")).stdout).toStartWith('Took back "better" of ann');
  expect(read("notes.md")).toBe(NOTE);
  const log = json(await memory("log --format json")) as { message: string; oid: string }[];
  const subjects = log.map(({ message }) => message.split("\n")[0]);
  expect(subjects).toEqual([
    'Revert "better"',
    'Revert "another"',
    "another",
    "better",
    "first note",
    "chore: initialize local memory",
  ]);
  await memory(`revert ${log[1]!.oid}`);
  expect(read("other.md")).toBe(NOTE);
  expect(read("draft.md")).toBe(NOTE);

  await memory(`restore notes --from ${log[3]!.oid}`);
  expect(read("notes.md")).toBe(NOTE.replace("first", "1st"));
  write("notes.md", "garbage");
  expect((await memory("restore notes")).stdout).toBe("Dropped what was not committed: notes.md\n");
  expect(read("notes.md")).toBe(NOTE.replace("first", "1st"));
  expect(await memory("restore nowhere")).toMatchObject({ exitCode: 4 });
  if (hasGit) {
    expect(complaints(dir)).toBe("?? draft.md\n");
    expect(git(dir, ["log", "-1", "--format=%an"])).toBe("ann\n");
  }
});

test("a revert that would overwrite later work changes nothing", async () => {
  using agent = await withAgent();
  const { memory, write, dir } = agent;
  write("notes.md", NOTE);
  await memory("commit -m one");
  write("notes.md", NOTE.replace("first", "1st"));
  await memory("commit -m two");
  write("notes.md", NOTE.replace("first", "third"));
  await memory("commit -m three");
  const before = readFileSync(join(dir, "notes.md"), "utf8");
  const refused = await memory("revert HEAD~1");
  expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
  expect(refused.stderr).toContain("notes.md: both sides changed the same lines");
  expect(readFileSync(join(dir, "notes.md"), "utf8")).toBe(before);
  expect(json(await memory("log --format json"))).toHaveLength(4);
});

test("what may not be in a memory is refused with the place and what to do", async () => {
  using agent = await withAgent();
  const { memory, write } = agent;
  write("system/rules.md", "no head\n");
  write("keys.md", `---\ndescription: keys\n---\nsk-ant-api03-${"a1B2c3D4".repeat(6)}\n`);
  const refused = await memory("commit -m bad");
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain("Nothing was committed:");
  expect(refused.stderr).toContain("keys.md:4: this looks like a secret");
  expect(refused.stderr).toContain("system/rules.md");
  expect(json(await memory("log --format json"))).toHaveLength(1);
});

test("backups, export and bundle hold the whole memory", async () => {
  using agent = await withAgent();
  const { memory, write, dir, home } = agent;
  write("notes.md", NOTE);
  await memory("commit -m note");
  const { backupName, backupPath } = json(await memory("backup"));
  expect(backupName).toMatch(/^memory-backup-\d{8}-\d{6}$/);
  expect(dirname(backupPath)).toBe(dirname(dir));
  rmSync(join(dir, "notes.md"));
  await memory("commit -m gone");
  expect(await memory(`restore --from ${backupName}`)).toMatchObject({ exitCode: 2 });
  const restored = json(await memory(`restore --from ${backupName} --force`));
  expect(restored.restoredFrom).toBe(backupName);
  expect(readFileSync(join(dir, "notes.md"), "utf8")).toBe(NOTE);
  const names = json(await memory("backups")).backups.map(({ name }: { name: string }) => name);
  expect(names.toSorted()).toEqual([backupName, restored.kept].toSorted());
  expect(await memory("restore --from nothing --force")).toMatchObject({ exitCode: 4 });

  expect(json(await memory("export --out out"))).toMatchObject({ exportedTo: join(home.workdir, "out") });
  expect(readdirSync(join(home.workdir, "out")).toSorted()).toEqual(["notes.md", "system"]);
  expect(await memory("export --out out")).toMatchObject({ exitCode: 2 });

  expect((await memory("bundle all.bundle")).exitCode).toBe(0);
  expect(await memory("bundle all.bundle")).toMatchObject({ exitCode: 2 });
  if (hasGit) {
    git(home.workdir, ["clone", "-q", "all.bundle", "clone"]);
    const head = git(dir, ["rev-parse", "HEAD"]);
    expect(git(join(home.workdir, "clone"), ["rev-parse", "HEAD"])).toBe(head);
    expect(complaints(dir)).toBe("");
  }
});

test("a damaged repository is described, and mended from the files that are there", async () => {
  using agent = await withAgent();
  const { memory, write, dir } = agent;
  write("notes.md", NOTE);
  await memory("commit -m note");
  expect(await memory("fsck")).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("nothing wrong") });
  const blob = new Bun.CryptoHasher("sha1").update(`blob ${NOTE.length}\0${NOTE}`).digest("hex");
  const object = join(dir, ".git/objects", blob.slice(0, 2), blob.slice(2));
  rmSync(object);
  writeFileSync(object, "damaged");
  writeFileSync(join(dir, ".git/index"), "damaged");
  const found = await memory("fsck");
  expect(found.exitCode).toBe(1);
  expect(found.stdout).toContain(`PROBLEM   ${blob.slice(0, 12)} is damaged`);
  expect(found.stdout).toContain("2 problems. letta memory fsck --repair mends");
  expect(await memory("fsck --repair")).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("Everything is mended."),
  });
  expect(await memory("fsck")).toMatchObject({ exitCode: 0 });
  expect(await memory("status")).toMatchObject({ exitCode: 0 });
  if (hasGit) expect(complaints(dir)).toBe("");
});

test("a branch whose tip is lost goes back to the last whole commit", async () => {
  using agent = await withAgent();
  const { memory, write, dir } = agent;
  write("notes.md", NOTE);
  await memory("commit -m note");
  const { head } = json(await memory("status"));
  write("notes.md", `${NOTE}third\n`);
  await memory("commit -m more");
  const tip = json(await memory("status")).head;
  rmSync(join(dir, ".git/objects", tip.slice(0, 2), tip.slice(2)));
  expect(await memory("fsck")).toMatchObject({ exitCode: 1 });
  const mended = await memory("fsck --repair");
  expect(mended.stdout).toContain(`it is at ${head.slice(0, 12)} again`);
  // The file is what it was; only the commit about it is gone.
  expect(json(await memory("status"))).toMatchObject({ head, dirty: true });
  expect(readFileSync(join(dir, "notes.md"), "utf8")).toBe(`${NOTE}third\n`);
});

test("the page is for this user alone and needs nothing", async () => {
  using agent = await withAgent();
  const { memory, write, home } = agent;
  const hostile = `---\ndescription: "</script><script>alert(1)</script>"\n---\n<img src=x onerror=alert(2)>\u202e\n`;
  write("system/odd.md", hostile);
  write("big.md", `---\ndescription: big\n---\n${"x".repeat(1_000_000)}\n`);
  write("data.bin", "a\0b");
  await memory("commit -m </script><b>why</b>");
  const { path, opened } = json(await memory("view --no-open --format json"));
  expect(opened).toBe(false);
  expect(path).toStartWith(join(home.path, ".letta", "viewers"));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  const page = readFileSync(path, "utf8");
  expect(page.match(/<script/g)).toHaveLength(1);
  expect(page).not.toContain("<img");
  expect(page).not.toContain("\u202e");
  expect(page).not.toContain("<b>why");
  expect(page.length).toBeLessThan(500_000);
  expect(page).toContain("Content-Security-Policy");
  // Over ssh nobody would see it.
  const there = await memory("view --out page.html", { env: { SSH_CONNECTION: "1" } });
  expect(there.stdout).toBe(`${join(home.workdir, "page.html")}\nNot opened over ssh.\n`);
});

describe.skipIf(!hasGit)("with real git", () => {
  test("its commits pass the same check", async () => {
    using agent = await withAgent();
    const { dir, write, home } = agent;
    const bin = tempDir("letta-bin-");
    writeFileSync(join(bin.path, "letta"), `#!/bin/sh\nexec '${await builtBinary()}' "$@"\n`, { mode: 0o755 });
    const commit = (...args: string[]) => {
      const child = Bun.spawnSync(["git", "-C", dir, "commit", "-qm", "by hand", ...args], {
        env: { PATH: `${bin.path}:${process.env.PATH}`, HOME: home.path, AGENT_NAME: undefined },
      });
      return { code: child.exitCode, err: child.stderr.toString() };
    };
    write("system/rules.md", "no head\n");
    git(dir, ["add", "-A"]);
    const refused = commit();
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("system/rules.md");
    expect(refused.err).toContain("nothing was committed");
    write("system/rules.md", NOTE);
    git(dir, ["add", "-A"]);
    expect(commit()).toEqual({ code: 0, err: "" });
    bin[Symbol.dispose]();
    // Without our program git goes on alone.
    write("system/rules.md", "no head again\n");
    git(dir, ["add", "-A"]);
    expect(commit().code).toBe(0);
  });

  test("a remote of one's own: kept there, fetched elsewhere, contradictions decided", async () => {
    using folder = tempDir("letta-remote-");
    using server = serveGit(folder.path, { token: "sesame" });
    using here = await withAgent();
    using there = await withAgent({ personality: "linus" });
    const url = server.url.replace("://", "://letta@");
    expect(json(await here.memory("pull"))).toMatchObject({ updated: false });
    for (const { memory } of [here, there]) {
      const set = await memory(`remote set ${url} --token`, { stdin: "sesame\n" });
      expect(set).toMatchObject({ exitCode: 0, stderr: "" });
      expect((await memory("remote")).stdout).toContain("with the token kept for it");
    }
    expect(readFileSync(join(here.dir, ".git/config"), "utf8")).not.toContain("sesame");
    expect(json(await here.memory("status"))).toMatchObject({ aheadOfRemote: true });
    expect((await here.memory("status")).exitCode).toBe(2);
    expect(json(await here.memory("push"))).toMatchObject({ status: "pushed" });
    expect((await here.memory("status")).exitCode).toBe(0);

    // Two memories that began apart.
    expect((await there.memory("pull")).exitCode).toBe(1);
    expect((await there.memory("resolve")).stdout).toContain("not the one this memory comes from");
    expect((await there.memory("resolve --theirs")).exitCode).toBe(0);
    expect(json(await there.memory("push"))).toMatchObject({ status: "pushed" });
    expect(json(await here.memory("pull"))).toMatchObject({ updated: true });

    const both = [here, there] as const;
    for (const [index, { write, memory }] of both.entries()) {
      write("notes.md", NOTE.replace("first", `first of ${index}`));
      write("same.md", NOTE.replace("first", `same of ${index}`));
      await memory("commit -m mine");
    }
    expect((await here.memory("push")).exitCode).toBe(0);
    expect((await there.memory("push")).exitCode).toBe(1);
    const asked = await there.memory("resolve");
    expect(asked.exitCode).toBe(1);
    expect(asked.stdout).toContain("notes.md: both sides added it, with different content");
    const partly = await there.memory("resolve notes --theirs");
    expect(partly.exitCode).toBe(1);
    expect(partly.stdout).toContain("same.md");
    expect(partly.stdout).not.toContain("notes.md");
    await there.memory("resolve --out both");
    const marked = readFileSync(join(there.home.workdir, "both/same.md"), "utf8");
    expect(marked).toMatch(/^<<<<<<< this machine\n[\s\S]*same of 1\n[\s\S]*same of 0\n[\s\S]*>>>>>>> remote\n$/);
    expect(await there.memory("resolve --from both")).toMatchObject({ exitCode: 2 });
    writeFileSync(join(there.home.workdir, "both/same.md"), NOTE.replace("first", "same of both"));
    writeFileSync(join(there.home.workdir, "both/notes.md"), NOTE);
    expect(await there.memory("resolve --from both")).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(there.dir, "same.md"), "utf8")).toBe(NOTE.replace("first", "same of both"));
    expect(json(await there.memory("push"))).toMatchObject({ status: "pushed" });
    for (const { dir } of both) expect(complaints(dir)).toBe("");
    expect(git(server.dir, ["fsck", "--strict", "--no-dangling"])).toBe("");
    expect((await there.memory("remote unset")).exitCode).toBe(0);
    expect(readFileSync(join(there.dir, ".git/config"), "utf8")).not.toContain("127.0.0.1");
  });
});

test("in a conversation memory is looked at, asked for, and what a turn changed is told", async () => {
  using home = tempHome();
  const create = { command: "create", reason: "she said so", file_path: "taste", description: "d", file_text: "tea" };
  await using server = await startModelServer([
    { toolCalls: [{ id: "m", name: "memory", args: create }] },
    { text: "It is kept." },
  ]);
  await using letta = await openPty(["--backend", "local", "--model", CHAT.handle], {
    home,
    env: CHAT.env(server.url),
  });
  await letta.waitFor(/> $/m);
  letta.type("/remember she likes tea\r");
  await letta.waitFor(/It is kept\..*memory [0-9a-f]{7} she said so \(taste\.md\).*\/memory undo/s);
  const [first] = server.requests;
  const sent = first!.messages.map(({ text }) => text).join("\n");
  expect(sent).toContain("The person asked you, with /remember, to keep something.");
  expect(sent).toContain("/remember she likes tea");
  expect(letta.text()).not.toContain("The person asked you");
  const at = letta.text().length;
  letta.type("/memory\r");
  await letta.waitFor(/Memory of Letta.*system\/.*taste\.md/s, at);
  // A question does not take keys that may have been meant for something else before it opened.
  await Bun.sleep(QUESTION_GUARD_MS);
  letta.type("taste\r");
  await letta.waitFor(/taste\.md about .*description: d.*tea/s, at);
  await Bun.sleep(QUESTION_GUARD_MS);
  letta.type("\x1b");
  await letta.waitFor(/> $/m, letta.text().length - 40);
  letta.type("\x04");
  expect(await letta.exited).toBe(0);
});
