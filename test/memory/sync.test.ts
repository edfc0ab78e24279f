// Two machines, one remote: our engine on both, real `git http-backend` between them. Skipped where git is missing.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRemote } from "@/memory/open-remote.ts";
import { chooseRemote } from "@/memory/remote-choice.ts";
import { originOf, setOrigin } from "@/memory/remote-settings.ts";
import {
  type AgentMemory,
  listProposals,
  type PullResult,
  pullAtStart,
  pullMemory,
  resolveProposal,
  type SyncOptions,
  settleDivergence,
  syncAfterTurn,
} from "@/memory/sync.ts";
import { initRepository } from "@/store/git/repository.ts";
import type { GitRepository } from "@/store/git/types.ts";
import { tempDir } from "../support/binary.ts";
import { type GitHttpServer, serveGit } from "../support/git-http-server.ts";
import { ANN, changes, complaints, filesOf, git, hasGit } from "../support/git-repos.ts";

const HARNESS = { name: "Letta Code", email: "noreply@letta.com" };
const TOKEN = "sk-let-secret";
const quick: SyncOptions = { pause: async () => {}, random: () => 0 };

interface Machine {
  memory: AgentMemory & { repository: GitRepository };
  commit(files: Record<string, string | null>, message?: string): Promise<void>;
  head(): Promise<string>;
  files(): Promise<Record<string, string>>;
}

interface World extends Disposable {
  server: GitHttpServer;
  path: string;
  /** Another copy of the memory, with what the remote has. */
  machine(name: string, options?: { kind?: "letta" | "own"; remote?: boolean }): Promise<Machine>;
}

function world(): World {
  const folder = tempDir("letta-sync-");
  const server = serveGit(folder.path, { token: TOKEN });
  return {
    server,
    path: folder.path,
    async machine(name, { kind = "own", remote = true } = {}) {
      const dir = join(folder.path, name, "memory");
      const repository = await initRepository(dir, { branch: "main" });
      const origin = server.url.replace("://", "://letta@");
      const choice = await chooseRemote({ agentId: "agent-1", origin, server: null, tokenFor: () => TOKEN });
      const options = { env: {}, objectsDir: join(dir, ".git/objects"), pause: async () => {} };
      const transport = await openRemote(choice!, options);
      const memory = { dir, repository, remote: remote ? { transport, kind } : null, by: HARNESS };
      if (remote) await pullMemory(memory, quick);
      return {
        memory,
        head: async () => (await repository.resolve("HEAD"))!,
        files: () => filesOf(dir),
        commit: async (files, message = "note") => {
          await repository.commitChanges(changes(files), { message, author: ANN });
        },
      };
    },
    [Symbol.dispose]() {
      server[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

async function refsOf({ memory }: Machine, prefix = "refs/letta/"): Promise<string[]> {
  return (await memory.repository.listRefs(prefix)).map(({ ref }) => ref);
}

/** `ours` and `theirs` with a common past, the second already pushed. */
async function diverged(
  place: World,
  base: Record<string, string>,
  ours: Record<string, string>,
  theirs: Record<string, string>,
) {
  const a = await place.machine("a");
  await a.commit(base, "base");
  await syncAfterTurn(a.memory, quick);
  const b = await place.machine("b");
  await b.commit(theirs, "theirs");
  await syncAfterTurn(b.memory, quick);
  await a.commit(ours, "ours");
  return { a, b };
}

describe.skipIf(!hasGit)("memory and its remote (skipped without git: the server is git's own)", () => {
  test("what is committed is pushed, in one request when nothing is new", async () => {
    using place = world();
    const a = await place.machine("a");
    expect(await syncAfterTurn(a.memory, quick)).toMatchObject({ status: "clean", localOnly: false });
    await a.commit({ "system/human.md": "---\ndescription: d\n---\nAda\n" });
    await a.commit({ "notes.md": "n\n" });
    expect(await syncAfterTurn(a.memory, quick)).toEqual({
      status: "pushed",
      summary: "Pushed 2 commits.",
      memoryDir: a.memory.dir,
      localOnly: false,
    });
    place.server.requests.length = 0;
    expect(await syncAfterTurn(a.memory, quick)).toMatchObject({ status: "clean" });
    expect(place.server.requests).toEqual([]);
    expect(git(place.server.dir, ["rev-parse", "main"]).trim()).toBe(await a.head());

    const b = await place.machine("b");
    expect(await b.files()).toEqual(await a.files());
    await b.commit({ "notes.md": "more\n" });
    expect((await syncAfterTurn(b.memory, quick)).status).toBe("pushed");
    expect(await pullMemory(a.memory, quick)).toEqual({
      status: "updated",
      updated: true,
      summary: "Took over 1 commit.",
    });
    expect(await pullMemory(a.memory, quick)).toEqual({
      status: "current",
      updated: false,
      summary: "Already up to date.",
    });
    expect((await a.files())["notes.md"]).toBe("more\n");
    expect(complaints(a.memory.dir)).toBe("");
  });

  test("what two machines wrote becomes one memory with a merge commit of the harness", async () => {
    using place = world();
    const base = { "system/human.md": "---\ndescription: d\n---\n# Ada\n\n## Likes\n- tea\n\n## Work\nCompilers.\n" };
    const { a, b } = await diverged(
      place,
      base,
      { "system/human.md": base["system/human.md"].replace("- tea", "- tea\n- rain"), "a.md": "a\n" },
      { "system/human.md": base["system/human.md"].replace("Compilers.", "Parsers."), "b.md": "b\n" },
    );
    expect(await syncAfterTurn(a.memory, quick)).toMatchObject({
      status: "pushed",
      summary: "Pushed 2 commits after merging what the remote had.",
    });
    expect(await pullMemory(b.memory, quick)).toMatchObject({ status: "updated" });
    expect(await b.files()).toEqual({
      "a.md": "a\n",
      "b.md": "b\n",
      "system/human.md": "---\ndescription: d\n---\n# Ada\n\n## Likes\n- tea\n- rain\n\n## Work\nParsers.\n",
    });
    const seen = git(a.memory.dir, ["log", "-1", "--format=%an <%ae>%n%s%n%P"]).trim().split("\n");
    expect(seen.slice(0, 2)).toEqual(["Letta Code <noreply@letta.com>", "merge: memory of another place"]);
    expect(seen[2]!.split(" ").length).toBe(2);
    expect(complaints(a.memory.dir) + complaints(b.memory.dir)).toBe("");
  });

  test("a remote that keeps moving is given up after three pushes, and nothing is lost", async () => {
    using place = world();
    const { a, b } = await diverged(place, { "a.md": "a\n" }, { "b.md": "b\n" }, { "c.md": "c\n" });
    let racing = 0;
    let own = false;
    place.server.intercept = async (request) => {
      if (own || !request.url.endsWith("/info/refs?service=git-receive-pack")) return undefined;
      own = true;
      racing++;
      await pullMemory(b.memory, quick);
      await b.commit({ [`race${racing}.md`]: "r\n" });
      await syncAfterTurn(b.memory, quick);
      own = false;
      return undefined;
    };
    const pauses: number[] = [];
    const pause = async (ms: number) => void pauses.push(ms);
    expect(await syncAfterTurn(a.memory, { pause, random: () => 0.5 })).toMatchObject({ status: "push_failed" });
    expect(racing).toBe(3);
    expect(pauses).toEqual([400, 800]);
    place.server.intercept = null;
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("pushed");
    await pullMemory(b.memory, quick);
    expect(Object.keys(await b.files())).toEqual(["a.md", "b.md", "c.md", "race1.md", "race2.md", "race3.md"]);
    expect(await a.files()).toEqual(await b.files());
  });

  test("a merge that would give a file and a folder one name waits until one is renamed", async () => {
    using place = world();
    const { a } = await diverged(place, { "x.md": "x\n" }, { "build.md": "ours\n" }, { "build/linux.md": "theirs\n" });
    const before = await a.head();
    const result = await syncAfterTurn(a.memory, quick);
    expect(result).toMatchObject({ status: "conflict", hint: expect.stringContaining("Rename one of them") });
    expect(result.summary).toContain("build/linux.md: build.md has the name of its folder.");
    expect(await a.head()).toBe(before);
    const [proposal] = await listProposals(a.memory.repository);
    const resolving = resolveProposal(a.memory, proposal!.id, { files: new Map(), rest: "ours" });
    expect(resolving).rejects.toMatchObject({ code: "conflict" });
    await a.commit({ "build.md": null, "build/all.md": "ours\n" }, "rename");
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("pushed");
    expect(Object.keys(await a.files())).toEqual(["build/all.md", "build/linux.md", "x.md"]);
    expect(await listProposals(a.memory.repository)).toEqual([]);
  });

  test("a true conflict leaves main alone, keeps both versions, and is settled with decisions", async () => {
    using place = world();
    const { a, b } = await diverged(
      place,
      { "x.md": "old\n", "y.md": "y\n" },
      { "x.md": "this\n" },
      { "x.md": "that\n", "y.md": "Y\n" },
    );
    const before = await a.head();
    const result = await syncAfterTurn(a.memory, quick);
    expect(result).toMatchObject({ status: "conflict", hint: expect.stringContaining("letta memory resolve") });
    expect(result.summary).toContain("x.md");
    expect(await a.head()).toBe(before);
    expect(await a.files()).toEqual({ "x.md": "this\n", "y.md": "y\n" });
    const theirs = await b.head();
    const [proposal, ...others] = await listProposals(a.memory.repository);
    expect(others).toEqual([]);
    expect(proposal).toMatchObject({
      id: theirs.slice(0, 12),
      oid: theirs,
      conflicts: [{ path: "x.md", kind: "content" }],
    });
    // The next turn finds the same, and only that.
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("conflict");
    expect(await refsOf(a)).toEqual([`refs/letta/conflicts/${proposal!.id}`]);
    expect(complaints(a.memory.dir)).toBe("");

    const open = await resolveProposal(a.memory, proposal!.id, { files: new Map() });
    expect(open).toMatchObject({ status: "conflict", conflicts: [{ path: "x.md" }] });
    expect(await a.head()).toBe(before);
    const content = Buffer.from("this and that\n");
    const done = await resolveProposal(a.memory, proposal!.id, { files: new Map([["x.md", { content }]]) });
    expect(done.status).toBe("merged");
    expect(await refsOf(a)).toEqual([]);
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("pushed");
    await pullMemory(b.memory, quick);
    expect(await b.files()).toEqual({ "x.md": "this and that\n", "y.md": "Y\n" });
  });

  test("a conflict that the other side takes back needs no decision", async () => {
    using place = world();
    const { a, b } = await diverged(place, { "x.md": "old\n" }, { "x.md": "this\n" }, { "x.md": "that\n" });
    expect((await pullMemory(a.memory, quick)).status).toBe("conflict");
    await b.commit({ "x.md": "old\n" });
    await syncAfterTurn(b.memory, quick);
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("pushed");
    expect(await refsOf(a)).toEqual([]);
    expect(await a.files()).toEqual({ "x.md": "this\n" });
  });

  describe("a remote whose history was replaced", () => {
    async function replaced(place: World, how: "unrelated" | "rewritten" | "rolled back"): Promise<Machine> {
      const a = await place.machine("a");
      await a.commit({ "a.md": "a\n" }, "one");
      await a.commit({ "b.md": "b\n" }, "two");
      await syncAfterTurn(a.memory, quick);
      const work = join(place.path, "work");
      git(place.path, ["clone", "-q", place.server.dir, work]);
      if (how === "unrelated") git(work, ["checkout", "-q", "--orphan", "fresh"]);
      else git(work, ["reset", "-q", "--hard", "HEAD~1"]);
      if (how !== "rolled back") {
        writeFileSync(join(work, "r.md"), "r\n");
        git(work, ["add", "-A"]);
        git(work, ["commit", "-qm", "another history"]);
      }
      git(work, ["push", "-qf", "origin", "HEAD:main"]);
      await a.commit({ "c.md": "c\n" }, "three");
      return a;
    }

    test.each(["unrelated", "rewritten", "rolled back"] as const)("%s: told, and left alone", async (how) => {
      using place = world();
      const a = await replaced(place, how);
      const [before, there] = [await a.head(), git(place.server.dir, ["rev-parse", "main"])];
      for (const result of [
        await pullMemory(a.memory, quick),
        await syncAfterTurn(a.memory, quick),
        await syncAfterTurn(a.memory, quick),
      ]) {
        expect(result).toMatchObject({ status: "memory_diverged", hint: expect.stringMatching(/--ours.*--theirs/) });
      }
      expect(await a.head()).toBe(before);
      expect(git(place.server.dir, ["rev-parse", "main"])).toBe(there);
      expect(await a.memory.repository.resolve("refs/remotes/origin/main")).toBe(there.trim());
    });

    test.each([
      ["unrelated", "ours", { "a.md": "a\n", "b.md": "b\n", "c.md": "c\n" }],
      ["unrelated", "theirs", { "a.md": "a\n", "b.md": "b\n", "r.md": "r\n" }],
      ["rewritten", "ours", { "a.md": "a\n", "b.md": "b\n", "c.md": "c\n" }],
      ["rewritten", "theirs", { "a.md": "a\n", "r.md": "r\n" }],
      ["rolled back", "theirs", { "a.md": "a\n" }],
    ] as const)("%s, settled with %s: the files of that side, the history of both", async (how, take, files) => {
      using place = world();
      const a = await replaced(place, how);
      const [ours, theirs] = [await a.head(), git(place.server.dir, ["rev-parse", "main"]).trim()];
      await pullMemory(a.memory, quick);
      await settleDivergence(a.memory, take);
      expect(await a.files()).toEqual(files);
      expect((await syncAfterTurn(a.memory, quick)).status).toBe("pushed");
      for (const oid of [ours, theirs]) {
        expect(git(place.server.dir, ["merge-base", "--is-ancestor", oid, "main"])).toBe("");
      }
      expect(await refsOf(a)).toEqual([]);
      expect(complaints(a.memory.dir)).toBe("");
      await expect(settleDivergence(a.memory, take)).rejects.toMatchObject({ code: "not_found" });
    });

    test("a machine without commits of its own just goes along", async () => {
      using place = world();
      const b = await place.machine("b");
      await replaced(place, "unrelated");
      expect(await pullMemory(b.memory, quick)).toMatchObject({ status: "updated" });
      expect(Object.keys(await b.files())).toEqual(["a.md", "b.md", "r.md"]);
    });
  });

  test("uncommitted changes are not pushed; a pull leaves them, and refuses where they are in the way", async () => {
    using place = world();
    const { a, b } = await diverged(place, { "a.md": "a\n" }, { "b.md": "b\n" }, { "a.md": "theirs\n" });
    writeFileSync(join(a.memory.dir, "draft.md"), "not yet\n");
    expect(await syncAfterTurn(a.memory, quick)).toMatchObject({
      status: "dirty",
      summary: "1 file has uncommitted changes.",
    });
    expect((await pullMemory(a.memory, quick)).status).toBe("updated");
    expect((await a.files())["draft.md"]).toBe("not yet\n");
    expect((await a.files())["a.md"]).toBe("theirs\n");
    await b.commit({ "a.md": "again\n" });
    await syncAfterTurn(b.memory, quick);
    writeFileSync(join(a.memory.dir, "a.md"), "by hand\n");
    const before = await a.head();
    expect(await pullMemory(a.memory, quick)).toMatchObject({
      status: "dirty",
      summary: expect.stringContaining("a.md"),
    });
    expect(await a.head()).toBe(before);
    expect((await a.files())["a.md"]).toBe("by hand\n");
  });

  test("what real git has half done is told and left", async () => {
    using place = world();
    const a = await place.machine("a");
    await a.commit({ "x.md": "old\n" });
    git(a.memory.dir, ["checkout", "-qb", "other"]);
    await a.commit({ "x.md": "that\n" });
    git(a.memory.dir, ["checkout", "-q", "main"]);
    await a.commit({ "x.md": "this\n" });
    git(a.memory.dir, ["merge", "other"], { ok: false });
    expect(await syncAfterTurn(a.memory, quick)).toMatchObject({
      status: "conflict",
      summary: "A merge is half done: x.md.",
    });
    expect(await pullMemory(a.memory, quick)).toMatchObject({ status: "conflict" });
  });

  test("no remote, no memory, no such server, no connection", async () => {
    using place = world();
    const alone = await place.machine("alone", { remote: false });
    await alone.commit({ "a.md": "a\n" });
    expect(await syncAfterTurn(alone.memory)).toMatchObject({ status: "skipped", localOnly: true });
    writeFileSync(join(alone.memory.dir, "b.md"), "b\n");
    expect(await syncAfterTurn(alone.memory)).toMatchObject({ status: "dirty", localOnly: true });
    expect(await syncAfterTurn({ ...alone.memory, repository: null })).toMatchObject({ status: "skipped" });

    const old = await place.machine("old", { kind: "letta" });
    await old.commit({ "a.md": "a\n" });
    place.server.intercept = () => new Response("", { status: 405 });
    expect(await pullMemory(old.memory, quick)).toMatchObject({ status: "local_only" });
    expect(await syncAfterTurn(old.memory, quick)).toMatchObject({ status: "skipped", localOnly: true });
    const own = await place.machine("own");
    await own.commit({ "a.md": "a\n" });
    expect(await pullMemory(own.memory, quick)).toMatchObject({ status: "failed" });
    place.server.intercept = () => new Response("", { status: 401 });
    expect(await syncAfterTurn(own.memory, quick)).toMatchObject({
      status: "push_failed",
      summary: expect.stringContaining("does not accept the token"),
      hint: expect.any(String),
    });
    place.server[Symbol.dispose]();
    expect(await syncAfterTurn(own.memory, quick)).toMatchObject({ status: "push_failed" });
    expect(await own.files()).toEqual({ "a.md": "a\n" });
  });

  test("a push whose answer was lost is found to have arrived", async () => {
    using place = world();
    const a = await place.machine("a");
    await a.commit({ "a.md": "a\n" });
    place.server.alter = async (request, response) => {
      if (request.method !== "POST") return response;
      await response.arrayBuffer();
      return new Response("", { status: 502 });
    };
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("push_failed");
    expect(git(place.server.dir, ["rev-parse", "main"]).trim()).toBe(await a.head());
    place.server.alter = null;
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("pushed");
    expect((await syncAfterTurn(a.memory, quick)).status).toBe("clean");
  });

  test("at start: waiting for it, beside the first turn, or not at all", async () => {
    using place = world();
    const a = await place.machine("a");
    await a.commit({ "a.md": "a\n" });
    await syncAfterTurn(a.memory, quick);
    const b = await place.machine("b");
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    place.server.intercept = async () => {
      resolve();
      await gate.promise;
      return undefined;
    };
    const results: PullResult["status"][] = [];
    const onResult = ({ status }: PullResult) => void results.push(status);
    await pullAtStart(b.memory, "skip", { ...quick, onResult });
    expect(results).toEqual([]);
    const done = Promise.withResolvers<void>();
    const last = (result: PullResult): void => {
      onResult(result);
      done.resolve();
    };
    await pullAtStart(b.memory, "background", { ...quick, onResult: last });
    await asked;
    expect(results).toEqual([]);
    gate.resolve();
    await done.promise;
    await pullAtStart(b.memory, "blocking", { ...quick, onResult });
    expect(results).toEqual(["current", "current"]);
  });

  test("a sync that is told to stop stops, and leaves everything as it was", async () => {
    using place = world();
    const a = await place.machine("a");
    await a.commit({ "a.md": "a\n" });
    const controller = new AbortController();
    place.server.intercept = () => {
      controller.abort(new Error("stopped"));
      return new Promise(() => {});
    };
    await expect(syncAfterTurn(a.memory, { ...quick, signal: controller.signal })).rejects.toThrow("stopped");
    expect(complaints(a.memory.dir)).toBe("");
  });

  test("another remote: what was known of the first one is forgotten, and real git sees the new one", async () => {
    using place = world();
    const { a } = await diverged(place, { "x.md": "old\n" }, { "x.md": "this\n" }, { "x.md": "that\n" });
    const repo = a.memory.repository;
    await setOrigin(repo, place.server.url, HARNESS);
    expect((await pullMemory(a.memory, quick)).status).toBe("conflict");
    expect(git(a.memory.dir, ["rev-list", "--count", "--left-right", "main...main@{upstream}"])).toBe("1\t1\n");
    await expect(setOrigin(repo, "file:///srv/m.git", HARNESS)).rejects.toMatchObject({ code: "usage" });
    expect(originOf(repo)).toBe(place.server.url);

    using other = serveGit(place.path, { token: TOKEN, name: "other.git" });
    await setOrigin(repo, other.url, HARNESS);
    expect(git(a.memory.dir, ["remote", "get-url", "origin"]).trim()).toBe(other.url);
    expect(await refsOf(a, "refs/")).toEqual(["refs/heads/main"]);
    const choice = (await chooseRemote({
      agentId: "agent-1",
      origin: originOf(repo),
      server: null,
      tokenFor: () => null,
    }))!;
    expect(choice.headers).toEqual({});
    const headers = { authorization: `Basic ${Buffer.from(`letta:${TOKEN}`).toString("base64")}` };
    const transport = await openRemote({ ...choice, headers }, { env: {}, objectsDir: "" });
    const memory = { ...a.memory, remote: { transport, kind: "own" as const } };
    expect((await syncAfterTurn(memory, quick)).status).toBe("pushed");
    expect(git(other.dir, ["rev-parse", "main"]).trim()).toBe(await a.head());

    await setOrigin(repo, null, HARNESS);
    expect(originOf(repo)).toBeNull();
    expect(git(a.memory.dir, ["remote"])).toBe("");
  });

  test.each([
    ["a way out", "100644", ".."],
    ["git's own folder", "100644", ".git"],
    ["git's own folder on another system", "100644", ".GIT"],
    ["the same on a third", "100644", "git~1"],
    ["a name twice", "100644", "a.md\n"],
  ])("a remote with %s in its tree changes nothing here", async (_, mode, name) => {
    using place = world();
    const a = await place.machine("a");
    await a.commit({ "a.md": "a\n" });
    await syncAfterTurn(a.memory, quick);
    const [before, files] = [await a.head(), await a.files()];
    const { dir } = place.server;
    const blob = git(dir, ["hash-object", "-w", "--stdin"], { input: "evil\n" }).trim();
    const entry = (text: string): Buffer => Buffer.concat([Buffer.from(`${mode} ${text}\0`), Buffer.from(blob, "hex")]);
    const twice = name.endsWith("\n");
    writeFileSync(
      join(place.path, "tree"),
      Buffer.concat([entry(name.trim()), ...(twice ? [entry(name.trim())] : [])]),
    );
    const literally = ["hash-object", "-w", "-t", "tree", "--literally", join(place.path, "tree")];
    const tree = git(dir, literally).trim();
    const commit = git(dir, ["commit-tree", tree, "-p", before, "-m", "evil"]).trim();
    git(dir, ["update-ref", "refs/heads/main", commit]);
    expect(await pullMemory(a.memory, quick)).toMatchObject({
      status: "failed",
      summary: expect.stringContaining("cannot be used"),
    });
    expect(await a.head()).toBe(before);
    expect(await a.files()).toEqual(files);
    expect(a.memory.repository.objects.has(commit)).toBe(false);
    expect(complaints(a.memory.dir)).toBe("");
  });

  test("two syncs at once both end up with everything", async () => {
    using place = world();
    const { a } = await diverged(place, { "a.md": "a\n" }, { "b.md": "b\n" }, { "c.md": "c\n" });
    const results = await Promise.all([syncAfterTurn(a.memory, quick), syncAfterTurn(a.memory, quick)]);
    for (const { status } of results) expect(["pushed", "clean"]).toContain(status);
    expect(Object.keys(await a.files())).toEqual(["a.md", "b.md", "c.md"]);
    expect(git(place.server.dir, ["rev-parse", "main"]).trim()).toBe(await a.head());
    expect(complaints(a.memory.dir)).toBe("");
  });
});
