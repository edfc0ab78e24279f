// A memory that is kept in a repository of the user's, too, as the compiled binary keeps it: fetched before the first
// message, pushed after the turn, on a machine without git; and what becomes of it when the remote fails in every way.
// Skipped where git is missing: the server is git's own.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonLines, runLetta, spawnLetta, type TempHome, tempDir, tempHome } from "../support/binary.ts";
import { cutConnections, type GitHttpServer, serveGit } from "../support/git-http-server.ts";
import { complaints, git, hasGit } from "../support/git-repos.ts";
import { type ModelServer, type ScriptedReply, startModelServer } from "../support/model-server.ts";
import { CHAT, headless } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

const TOKEN = "sesame-open-9f3k";
const BARE = { PATH: "/nonexistent", USER: "ann", LETTA_SKIP_KEYCHAIN_CHECK: "1" };

interface Place extends Disposable {
  home: TempHome;
  dir: string;
  /** One prompt; its replies come from the model server. */
  prompt(model: ModelServer, ...args: string[]): ReturnType<typeof runLetta>;
  memory(args: string, stdin?: string): ReturnType<typeof runLetta>;
}

/** `personality`: what its memory begins with; two that begin the same may be one. */
async function place(url: string | null, personality = "memo"): Promise<Place> {
  const home = tempHome();
  await runLetta(["agents", "create", "--name", "Ada", "--personality", personality], { home, env: BARE });
  const agents = join(home.path, ".letta", "agents");
  const dir = join(agents, readdirSync(agents)[0]!, "memory");
  const made: Place = {
    home,
    dir,
    prompt(model, ...args) {
      const run = headless(model.url, args);
      return runLetta(run.args, { home, env: { ...run.env, ...BARE } });
    },
    memory: (args, stdin) =>
      runLetta(["memory", ...args.split(" ")], { home, env: BARE, ...(stdin !== undefined && { stdin }) }),
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
  if (url !== null) {
    const set = await made.memory(`remote set ${url} --token`, `${TOKEN}\n`);
    expect(set).toMatchObject({ exitCode: 0, stderr: "" });
  }
  return made;
}

function serve(folder: string): GitHttpServer & { login: string } {
  const server = serveGit(folder, { token: TOKEN });
  return Object.assign(server, { login: server.url.replace("://", "://letta@") });
}

/** The agent writes this down, then says so. */
function noting(path: string, text: string): ScriptedReply[] {
  const args = { command: "create", reason: `note ${path}`, file_path: path, description: "d", file_text: text };
  return [{ toolCalls: [{ id: path, name: "memory", args }] }, { text: "noted" }];
}

const subjects = (dir: string) => git(dir, ["log", "--format=%s", "main"]).trim().split("\n");

describe.skipIf(!hasGit)("a memory with a remote", () => {
  test("what a turn writes is pushed, and is in the first request of another home", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    using here = await place(server.login);
    await using model = await startModelServer([
      ...noting("system/tea", "She likes tea."),
      { text: "hello" },
      ...noting("reference/rain", "She likes rain."),
      { text: "hello again" },
    ]);
    expect(await here.prompt(model, "remember tea")).toMatchObject({ exitCode: 0, stdout: "noted\n", stderr: "" });
    expect(subjects(server.dir)).toEqual(["note system/tea", "chore: initialize local memory"]);

    using there = await place(server.login, "linus");
    expect((await there.memory("pull")).exitCode).toBe(1);
    expect((await there.memory("resolve --theirs")).exitCode).toBe(0);
    expect(await there.prompt(model, "hi")).toMatchObject({ exitCode: 0, stdout: "hello\n", stderr: "" });
    expect(model.requests[2]!.system).toContain("She likes tea.");
    // Its merge went out after the turn, and comes in at the other home before the next one, which adds to it.
    expect(subjects(server.dir)[0]).toBe("merge: keep the remote's memory after the histories diverged");
    expect(await here.prompt(model, "remember rain")).toMatchObject({ exitCode: 0, stdout: "noted\n", stderr: "" });
    expect(await there.prompt(model, "hi")).toMatchObject({ exitCode: 0, stdout: "hello again\n", stderr: "" });
    expect(model.requests.at(-1)!.system).toContain("rain.md");
    for (const dir of [here.dir, there.dir]) expect(complaints(dir)).toBe("");
    expect(git(server.dir, ["fsck", "--strict", "--no-dangling"])).toBe("");
    expect(git(there.dir, ["rev-parse", "main"])).toBe(git(server.dir, ["rev-parse", "main"]));
  });

  test.each([
    ["401", "does not accept the token", { "www-authenticate": "Basic" }],
    ["403", "does not allow this", {}],
    ["503", "503", {}],
  ])(
    "a remote that answers %s: the turn is as ever, one line says why, nothing is lost",
    async (status, why, headers) => {
      using folder = tempDir("letta-remote-");
      using server = serve(folder.path);
      using here = await place(server.login);
      await using model = await startModelServer([...noting("a", "first"), { text: "fine" }]);
      server.intercept = () => new Response("no", { status: Number(status), headers });
      const failed = await here.prompt(model, "note it");
      expect(failed).toMatchObject({ exitCode: 0, stdout: "noted\n" });
      expect(failed.stderr).toMatch(new RegExp(`^Memory: 127\\.0\\.0\\.1.*${why}.*\n$`));
      expect(failed.stderr).not.toContain(TOKEN);
      expect(git(here.dir, ["log", "-1", "--format=%s"])).toBe("note a\n");
      server.intercept = null;
      expect(await here.prompt(model, "again")).toMatchObject({ exitCode: 0, stdout: "fine\n", stderr: "" });
      expect(subjects(server.dir)[0]).toBe("note a");
      expect(complaints(here.dir)).toBe("");
    },
  );

  test("connections that are cut, and a remote that is gone", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    using proxy = cutConnections(server.origin);
    using here = await place(server.login.replace(server.origin.slice(7), proxy.origin.slice(7)));
    await using model = await startModelServer([...noting("a", "first"), { text: "fine" }, { text: "still fine" }]);
    proxy.after = 60;
    const cut = await here.prompt(model, "note it");
    expect(cut).toMatchObject({ exitCode: 0, stdout: "noted\n" });
    expect(cut.stderr).toMatch(/^Memory: .*127\.0\.0\.1.*\n$/);
    expect(proxy.cuts).toBeGreaterThan(0);
    proxy.after = null;
    expect(await here.prompt(model, "again")).toMatchObject({ exitCode: 0, stdout: "fine\n", stderr: "" });
    expect(subjects(server.dir)[0]).toBe("note a");
    proxy[Symbol.dispose]();
    const gone = await here.prompt(model, "again");
    expect(gone).toMatchObject({ exitCode: 0, stdout: "still fine\n" });
    expect(gone.stderr).toMatch(/^Memory: .*127\.0\.0\.1.*\n$/);
    expect(complaints(here.dir)).toBe("");
    expect(git(server.dir, ["fsck", "--strict", "--no-dangling"])).toBe("");
  });

  test("somebody else was faster: both are in the result", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    using here = await place(server.login);
    await here.memory("push");
    const other = join(folder.path, "other");
    git(folder.path, ["clone", "-q", server.dir, other]);
    await using model = await startModelServer(noting("a", "first"));
    let pushed = false;
    server.intercept = (request) => {
      // Between what the turn knows of the remote and its push.
      if (!pushed && request.url.includes("git-receive-pack")) {
        pushed = true;
        writeFileSync(join(other, "b.md"), "---\ndescription: d\n---\nby hand\n");
        git(other, ["add", "-A"]);
        git(other, ["-c", "user.name=Bo", "-c", "user.email=b@x", "commit", "-q", "-m", "by hand"]);
        git(other, ["push", "-q"]);
      }
      return undefined;
    };
    expect(await here.prompt(model, "note it")).toMatchObject({ exitCode: 0, stdout: "noted\n", stderr: "" });
    expect(pushed).toBe(true);
    expect(new Set(subjects(server.dir))).toEqual(
      new Set(["merge: memory of another place", "note a", "by hand", "chore: initialize local memory"]),
    );
    expect(readFileSync(join(here.dir, "b.md"), "utf8")).toContain("by hand");
    expect(complaints(here.dir)).toBe("");
  });

  test("the token is for its host only, and nowhere to be read", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    const stranger = { requests: [] as { authorization: string | null }[] };
    await using elsewhere = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        stranger.requests.push({ authorization: request.headers.get("authorization") });
        return new Response("no", { status: 401, headers: { "www-authenticate": "Basic" } });
      },
    });
    using here = await place(server.login);
    const shell = { id: "s", name: "Bash", args: { command: "env; cat $MEMORY_DIR/.git/config; echo end" } };
    await using model = await startModelServer([{ toolCalls: [shell] }, { text: "done" }, { text: "hi" }]);
    // A server that redirects does not hand it on.
    server.intercept = (request) => {
      const { pathname, search } = new URL(request.url);
      return Response.redirect(`http://127.0.0.1:${elsewhere.port}${pathname}${search}`, 307);
    };
    const run = await here.prompt(model, "--yolo", "--output-format", "stream-json", "look around");
    expect(run.exitCode).toBe(0);
    // Nor does another address in the settings of the repository get it.
    git(here.dir, ["config", "remote.origin.url", `http://127.0.0.1:${elsewhere.port}/state.git`]);
    const moved = await here.prompt(model, "hi");
    expect(moved).toMatchObject({ exitCode: 0, stdout: "hi\n" });
    expect(stranger.requests.length).toBeGreaterThan(1);
    expect(stranger.requests.filter(({ authorization }) => authorization !== null)).toEqual([]);

    const encoded = Buffer.from(`letta:${TOKEN}`).toString("base64");
    const said = [run, moved].map(({ stdout, stderr }) => stdout + stderr).join("");
    const asked = JSON.stringify(model.requests.map(({ body }) => body));
    for (const text of [said, asked, readFileSync(join(here.dir, ".git/config"), "utf8")]) {
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain(encoded);
    }
    // Not even its name: no command is to use it.
    expect(asked).not.toContain("MEMORY_REMOTE_");
    expect(asked).toContain("end");
  });

  test("both sides changed the same: the agent hears of it, its person decides", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    using here = await place(server.login);
    using there = await place(server.login, "linus");
    await here.memory("push");
    await there.memory("pull");
    await there.memory("resolve --theirs");
    await there.memory("push");
    await here.memory("pull");
    await using model = await startModelServer([
      ...noting("taste", "tea"),
      ...noting("taste", "coffee"),
      { text: "I see" },
    ]);
    expect(await here.prompt(model, "tea")).toMatchObject({ exitCode: 0, stderr: "" });
    // The turn begins with what it has: another process of this home would have fetched, too.
    const ran = await there.prompt(model, "--memfs-startup", "skip", "coffee");
    expect(ran).toMatchObject({ exitCode: 0, stdout: "noted\n" });
    expect(ran.stderr).toMatch(/^Memory: Both sides changed the same in taste\.md\..*letta memory resolve.*\n$/);
    expect(await there.prompt(model, "hi")).toMatchObject({ exitCode: 0, stdout: "I see\n" });
    const last = model.requests.at(-1)!.messages.map(({ text }) => text);
    expect(last.join("\n")).toMatch(/Memory repository \S+: Both sides changed the same in taste\.md/);
    expect((await there.memory("resolve --ours")).exitCode).toBe(0);
    expect((await there.memory("push")).exitCode).toBe(0);
    expect(git(server.dir, ["show", "main:taste.md"])).toContain("coffee");
    expect(complaints(there.dir)).toBe("");
  });

  test("what a reflection changed is pushed when it has ended", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    using here = await place(server.login);
    const tea = `printf -- '- Ann likes tea.\\n' >> "$MEMORY_DIR/system/human.md"`;
    let dreamed = 0;
    await using model = await startModelServer(({ body }): ScriptedReply => {
      if (!JSON.stringify(body).includes("You are the reflection of an agent")) return { text: "Noted." };
      if (dreamed++ > 0) return { text: "feat: Ann likes tea\n\nSummary: She said so." };
      return { toolCalls: [{ name: "Bash", args: { command: tea } }] };
    });
    await here.prompt(model, "I like tea");
    const before = git(server.dir, ["rev-parse", "main"]);
    const args = ["--backend", "local", "dream", "--model", CHAT.handle, "--format", "json"];
    const env = { ...CHAT.env(model.url), LETTA_SKIP_KEYCHAIN_CHECK: "1" };
    const dream = await runLetta(args, { home: here.home, env });
    expect(JSON.parse(dream.stdout)).toMatchObject({ dream: { status: "merged", paths: ["system/human.md"] } });
    expect(git(server.dir, ["rev-parse", "main"])).not.toBe(before);
    expect(git(server.dir, ["show", "main:system/human.md"])).toContain("- Ann likes tea.");
  });

  test("in a terminal: fetched beside the first prompt, a failure is a line, leaving sends what is left", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    using here = await place(server.login);
    await using model = await startModelServer([...noting("a", "first"), ...noting("b", "second")]);
    await using letta = await openPty(["--backend", "local", "--model", CHAT.handle, "--yolo"], {
      home: here.home,
      env: { ...CHAT.env(model.url), ...BARE },
    });
    await letta.waitFor(/> $/m);
    server.intercept = () => new Response("no", { status: 403 });
    letta.type("note it\r");
    await letta.waitFor(/Memory: 127\.0\.0\.1:\d+ does not allow this/);
    server.intercept = null;
    letta.type("and that\r");
    await letta.waitFor(/note b \(b\.md\)/);
    letta.type("\x04");
    expect(await letta.exited).toBe(0);
    expect(letta.text().match(/does not allow this/g)).toHaveLength(1);
    expect(subjects(server.dir).slice(0, 2)).toEqual(["note b", "note a"]);
  }, 60_000);

  test("a process that stays says it in a line, and goes on", async () => {
    using folder = tempDir("letta-remote-");
    using server = serve(folder.path);
    using here = await place(server.login);
    await using model = await startModelServer([...noting("a", "first"), { text: "two" }]);
    const { env } = headless(model.url, []);
    const args = ["--backend", "local", "--model", CHAT.handle, "-p", "--yolo"];
    server.intercept = () => new Response("no", { status: 403 });
    await using letta = await spawnLetta([...args, "--input-format", "stream-json", "--output-format", "stream-json"], {
      home: here.home,
      env: { ...env, ...BARE },
    });
    const say = (content: string) => {
      letta.child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`);
      letta.child.stdin.flush();
    };
    say("note it");
    await letta.waitFor("stdout", /"result":"noted"/);
    say("and now");
    await letta.waitFor("stdout", /"result":"two"/);
    letta.child.stdin.end();
    const { stdout, exitCode } = await letta.exited;
    expect(exitCode).toBe(0);
    const notices = jsonLines(stdout).filter(({ text }) => String(text).startsWith("Memory: "));
    // The same trouble before and after each turn is one.
    expect(notices).toMatchObject([{ type: "system", subtype: "notice", level: "warning" }]);
    expect(
      model.requests
        .at(-1)!
        .messages.map(({ text }) => text)
        .join("\n"),
    ).toContain("Memory repository");
  });
});

test("what the agent left uncommitted is said once, and told to it in the next process", async () => {
  using here = await place(null);
  await using model = await startModelServer([
    { toolCalls: [{ id: "w", name: "Write", args: { file_path: join(here.dir, "x.md"), content: "x" } }] },
    { text: "written" },
    { text: "oh" },
    { text: "well" },
  ]);
  const left = await here.prompt(model, "--yolo", "write");
  expect(left).toMatchObject({ exitCode: 0, stdout: "written\n" });
  expect(left.stderr).toBe("Memory: 1 file has uncommitted changes.\n");
  expect(await here.prompt(model, "--continue", "hm")).toMatchObject({ exitCode: 0, stdout: "oh\n" });
  const told = () => model.requests.at(-1)!.messages.map(({ text }) => text);
  expect(told().join("\n")).toContain(`Memory repository ${here.dir}: 1 file has uncommitted changes.`);
  expect((await here.memory("commit -m mine --no-edit")).exitCode).not.toBe(0);
  writeFileSync(join(here.dir, "x.md"), "---\ndescription: d\n---\nx\n");
  expect(await here.memory("commit -m mine")).toMatchObject({ exitCode: 0 });
  expect(await here.prompt(model, "--new", "hm")).toMatchObject({ exitCode: 0, stdout: "well\n", stderr: "" });
  expect(told().join("\n")).not.toContain("Memory repository");
});

test("--stateless: the memory is neither in the prompt nor in reach", async () => {
  using here = await place(null);
  await using model = await startModelServer([{ text: "who am I" }, { text: "I am" }]);
  const id = here.dir.split("/").at(-2)!;
  const run = await here.prompt(model, "--stateless", "--agent", id, "--memfs-startup", "skip", "hi");
  expect(run.exitCode).toBe(2);
  expect(await here.prompt(model, "--stateless", "--agent", id, "hi")).toMatchObject({ exitCode: 0 });
  expect(await here.prompt(model, "--agent", id, "hi")).toMatchObject({ exitCode: 0 });
  const [without, within] = model.requests;
  expect(without!.system).not.toContain("system/persona.md");
  expect(within!.system).toContain("system/persona.md");
  expect(without!.toolNames).not.toContain("memory");
  expect(within!.toolNames).toContain("memory");
});
