// Against real `git http-backend`; skipped where git is not installed.

import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHttpTransport, type HttpTransportOptions } from "@/store/git/http-transport.ts";
import { parseRemoteUrl, type RemotePlace, type Transport } from "@/store/git/remote.ts";
import { initRepository } from "@/store/git/repository.ts";
import { tempDir } from "../../support/binary.ts";
import { cutConnections, type GitHttpServer, serveGit } from "../../support/git-http-server.ts";
import { ANN, changes, git, hasGit, tempRepo } from "../../support/git-repos.ts";

const MAIN = "refs/heads/main";
const TOKEN = "sk-let-secret";

function transport(url: string, options: Partial<HttpTransportOptions> = {}): Transport {
  const headers = { authorization: `Basic ${Buffer.from(`letta:${TOKEN}`).toString("base64")}` };
  const place = parseRemoteUrl(url) as RemotePlace & { kind: "http" };
  return createHttpTransport(place, { headers, pause: async () => {}, ...options });
}

/** A commit at the remote, made by real git. */
function commitAtRemote(server: GitHttpServer, files: Record<string, string>, { fresh = false } = {}): string {
  using clone = tempDir("letta-clone-");
  const dir = join(clone.path, "work");
  git(clone.path, ["clone", "-q", server.dir, "work"]);
  git(dir, ["checkout", "-q", ...(fresh ? ["--orphan"] : ["-B"]), fresh ? "fresh" : "main"]);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  git(dir, ["add", "-A"]);
  git(dir, ["commit", "-q", "-m", "from another machine"]);
  git(dir, ["push", "-q", "--force", "origin", "HEAD:main"]);
  return git(dir, ["rev-parse", "HEAD"]).trim();
}

describe.skipIf(!hasGit)("smart HTTP (skipped without git: the server is git's own)", () => {
  test("an empty remote has no branch; a push makes it, and real git sees the same commits", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const remote = transport(server.url);
    const { repo } = temp;
    expect(await remote.tip(MAIN)).toBeNull();
    expect(await remote.fetch(repo.objects, MAIN)).toBeNull();
    await repo.commitChanges(changes({ "system/a.md": "a\n" }), { message: "one", author: ANN });
    await repo.commitChanges(changes({ "system/b.md": "b\n" }), { message: "two", author: ANN });
    const head = (await repo.resolve("HEAD"))!;
    expect(await remote.push(repo.objects, MAIN, { from: null, to: head })).toEqual({ status: "pushed" });
    expect(git(server.dir, ["rev-parse", "main"]).trim()).toBe(head);
    expect(git(server.dir, ["fsck", "--strict", "--no-progress"])).toBe("");
    expect(git(server.dir, ["log", "--format=%s", "main"])).toBe("two\none\n");
    expect(await remote.tip(MAIN)).toBe(head);
    // What is there already is not sent again.
    server.requests.length = 0;
    expect(await remote.push(repo.objects, MAIN, { from: head, to: head })).toEqual({ status: "pushed" });
    expect(await remote.fetch(repo.objects, MAIN)).toBe(head);
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "GET"]);
  });

  test("a fetch brings everything below the branch, and only the news the next time", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const remote = transport(server.url);
    const { repo, dir } = temp;
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`d${at % 7}/f${at}.md`, `text ${at}\n`.repeat(50)]),
    );
    const first = commitAtRemote(server, files);
    expect(await remote.fetch(repo.objects, MAIN)).toBe(first);
    await repo.fastForward(first, { reason: "pull", by: ANN });
    expect((await repo.listFiles("HEAD")).length).toBe(60);
    const second = commitAtRemote(server, { "d0/f0.md": `changed\n${"text 0\n".repeat(50)}` });
    let answer = 0;
    server.alter = async (request, response) => {
      const body = await response.arrayBuffer();
      if (request.method === "POST") answer = body.byteLength;
      return new Response(body, response);
    };
    expect(await remote.fetch(repo.objects, MAIN, { have: first })).toBe(second);
    expect(answer).toBeGreaterThan(0);
    expect(answer).toBeLessThan(2000);
    expect(git(dir, ["fsck", "--strict", "--no-progress", "--no-dangling"])).toBe("");
    expect(git(dir, ["show", `${second}:d0/f0.md`])).toStartWith("changed\ntext 0\n");
  });

  test("a push meets a branch that has moved, and says where it is", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const remote = transport(server.url);
    const { repo } = temp;
    const first = commitAtRemote(server, { "a.md": "a" });
    await remote.fetch(repo.objects, MAIN);
    await repo.fastForward(first, { reason: "pull", by: ANN });
    await repo.commitChanges(changes({ "b.md": "b" }), { message: "mine", author: ANN });
    const mine = (await repo.resolve("HEAD"))!;
    const second = commitAtRemote(server, { "a.md": "theirs" });
    const change = { from: first, to: mine };
    expect(await remote.push(repo.objects, MAIN, change)).toEqual({ status: "moved", tip: second });
    expect(git(server.dir, ["rev-parse", "main"]).trim()).toBe(second);
  });

  test("a branch that moves between the question and the push is not overwritten", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const { repo } = temp;
    const remote = transport(server.url);
    const first = commitAtRemote(server, { "a.md": "a" });
    await remote.fetch(repo.objects, MAIN);
    await repo.fastForward(first, { reason: "pull", by: ANN });
    await repo.commitChanges(changes({ "b.md": "b" }), { message: "mine", author: ANN });
    const mine = (await repo.resolve("HEAD"))!;
    let second = "";
    server.intercept = (request) => {
      if (request.method === "POST" && second === "") second = commitAtRemote(server, { "a.md": "theirs" });
      return undefined;
    };
    const change = { from: first, to: mine };
    expect(await remote.push(repo.objects, MAIN, change)).toEqual({ status: "moved", tip: second });
    expect(git(server.dir, ["rev-parse", "main"]).trim()).toBe(second);
  });

  test("a remote that does not want it says why", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    writeFileSync(join(server.dir, "hooks/update"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const { repo } = temp;
    await repo.commitChanges(changes({ "b.md": "b" }), { message: "mine", author: ANN });
    const to = (await repo.resolve("HEAD"))!;
    expect(await transport(server.url).push(repo.objects, MAIN, { from: null, to })).toEqual({
      status: "refused",
      reason: "hook declined",
    });
  });

  test.each([
    [401, "auth", 1],
    [403, "auth", 1],
    [404, "not_found", 1],
    [405, "not_found", 1],
    [429, "rate_limit", 3],
    [500, "network", 1],
    [503, "network", 3],
    [522, "network", 3],
  ] as const)("HTTP %d is %s, asked %d times", async (status, code, times) => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    server.intercept = () => new Response("<html>no</html>", { status });
    const remote = transport(server.url);
    for (const action of [
      () => remote.tip(MAIN),
      () => remote.fetch(temp.repo.objects, MAIN),
      () => remote.push(temp.repo.objects, MAIN, { from: null, to: "0".repeat(40) }),
    ]) {
      server.requests.length = 0;
      const error = await action().catch((error: unknown) => error);
      expect(error).toMatchObject({ name: "RemoteError", code, status });
      expect(String(error)).not.toContain(TOKEN);
      expect(server.requests.length).toBe(times);
    }
  });

  test("a server that fails for a moment is asked again", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const head = commitAtRemote(server, { "a.md": "a" });
    const seen = new Map<string, number>();
    server.intercept = (request) => {
      const times = (seen.get(request.method) ?? 0) + 1;
      seen.set(request.method, times);
      return times < 3 ? new Response("", { status: 503 }) : undefined;
    };
    expect(await transport(server.url).fetch(temp.repo.objects, MAIN)).toBe(head);
    expect([...seen.values()]).toEqual([3, 3]);
  });

  test("the wrong token, and none", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: "another" });
    await expect(transport(server.url).tip(MAIN)).rejects.toMatchObject({
      code: "auth",
      message: expect.stringContaining("does not accept"),
    });
    await expect(transport(server.url, { headers: {} }).tip(MAIN)).rejects.toMatchObject({
      code: "auth",
      message: expect.stringContaining("asks for a token"),
    });
  });

  test("credentials do not follow a redirect to another origin; what is public there still works", async () => {
    using temp = await tempRepo();
    using front = serveGit(temp.path, { token: TOKEN, name: "front.git" });
    using other = serveGit(temp.path, { name: "state.git" });
    const head = commitAtRemote(other, { "a.md": "a" });
    front.intercept = (request) => {
      const { search } = new URL(request.url);
      return new Response("", { status: 302, headers: { location: `${other.url}/info/refs${search}` } });
    };
    expect(await transport(front.url).fetch(temp.repo.objects, MAIN)).toBe(head);
    expect(front.requests.map(({ authorization }) => authorization !== null)).toEqual([true]);
    expect(other.requests.map(({ method, authorization }) => [method, authorization])).toEqual([
      ["GET", null],
      ["POST", null],
    ]);
    // There and back again: the credentials belong to the origin, not to the first request.
    const back = (request: Request) =>
      new Response("", { status: 307, headers: { location: `${front.url}/info/refs${new URL(request.url).search}` } });
    let sent = 0;
    front.intercept = (request) =>
      sent++ === 0
        ? new Response("", {
            status: 302,
            headers: { location: `${other.url}/info/refs${new URL(request.url).search}` },
          })
        : undefined;
    other.intercept = back;
    other.requests.length = 0;
    expect(await transport(front.url).tip(MAIN)).toBeNull();
    expect(other.requests.map(({ authorization }) => authorization)).toEqual([null]);
  });

  test.each([
    ["another scheme", "ftp://127.0.0.1/x"],
    ["a file", "file:///etc/passwd"],
    ["itself", "/state.git/info/refs?service=git-upload-pack"],
  ])("a redirect to %s is not followed for ever", async (_, location) => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    server.intercept = () => new Response("", { status: 302, headers: { location } });
    await expect(transport(server.url).tip(MAIN)).rejects.toMatchObject({ name: "RemoteError", code: "network" });
  });

  test("what was sent is not sent on to somewhere else", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    using other = serveGit(temp.path, { name: "other.git" });
    await temp.repo.commitChanges(changes({ "b.md": "b" }), { message: "mine", author: ANN });
    const to = (await temp.repo.resolve("HEAD"))!;
    server.intercept = (request) =>
      request.method === "POST"
        ? new Response("", { status: 307, headers: { location: `${other.url}/git-receive-pack` } })
        : undefined;
    await expect(transport(server.url).push(temp.repo.objects, MAIN, { from: null, to })).rejects.toMatchObject({
      code: "network",
    });
    expect(other.requests).toEqual([]);
  });

  test("a connection cut at any byte brings all or nothing, and never hangs", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const head = commitAtRemote(server, { "a.md": "a\n", "d/b.md": "b\n" });
    using proxy = cutConnections(server.origin);
    const url = server.url.replace(server.origin, proxy.origin);
    let failures = 0;
    for (let after = 0; ; after += 61) {
      using fresh = tempDir("letta-cut-");
      const repo = await initRepository(join(fresh.path, "memory"), { branch: "main" });
      Object.assign(proxy, { after, cuts: 0 });
      const result = await transport(url)
        .fetch(repo.objects, MAIN)
        .catch((error: unknown) => error);
      // The list and the pack come through one connection; cut in the pack, they are asked for on two.
      if (result === head) expect(git(repo.dir, ["fsck", "--strict", "--no-progress", head])).toBe("");
      else {
        expect({ after, result }).toMatchObject({ after, result: { name: "RemoteError" } });
        expect(git(repo.dir, ["count-objects", "-v"])).toContain("count: 0\nsize: 0\nin-pack: 0\n");
        failures++;
      }
      if (proxy.cuts === 0) break;
    }
    expect(failures).toBeGreaterThan(3);
  }, 60_000);

  test("an answer that is damaged on the way is not kept", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    commitAtRemote(server, { "a.md": "a\n", "d/b.md": "b\n" });
    const { length } = await answerOf(server);
    for (let at = 0; at < length; at += 23) {
      server.alter = async (request, response) => {
        if (request.method !== "POST") return response;
        const bytes = new Uint8Array(await response.arrayBuffer());
        bytes[at] = bytes[at]! ^ 0x20;
        return new Response(bytes, response);
      };
      using fresh = tempDir("letta-damage-");
      const repo = await initRepository(join(fresh.path, "memory"), { branch: "main" });
      const result = await transport(server.url)
        .fetch(repo.objects, MAIN)
        .catch((error: unknown) => error);
      if (typeof result === "string") continue; // It hit the progress text.
      expect({ at, result }).toMatchObject({ at, result: { name: "RemoteError" } });
      expect(git(repo.dir, ["count-objects"])).toStartWith("0 objects");
    }
  }, 60_000);

  test.each([
    ["a web page", "<!doctype html><title>Sign in</title>"],
    ["nothing", ""],
    ["an endless line", "ffff"],
    ["a complaint", "003eERR access denied or repository not exported: /state.git\n0000"],
  ])("%s instead of git is an error", async (_, body) => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    server.intercept = () =>
      new Response(body, { headers: { "content-type": "application/x-git-upload-pack-advertisement" } });
    const error = await transport(server.url)
      .tip(MAIN)
      .catch((error: unknown) => error);
    expect(error).toMatchObject({ name: "RemoteError" });
    if (body.includes("denied")) expect(String(error)).toContain("says: access denied");
  });

  test("an answer without end is refused at the limit", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const chunk = new Uint8Array(64 * 1024);
    server.intercept = () => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(chunk) }));
    await expect(transport(server.url, { maxBytes: 1024 * 1024 }).tip(MAIN)).rejects.toMatchObject({ code: "limit" });
  });

  test("a server that never answers is given up, or left when told so", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    server.intercept = () => {
      resolve();
      return new Promise(() => {});
    };
    await expect(transport(server.url, { timeoutMs: 30 }).tip(MAIN)).rejects.toMatchObject({
      code: "network",
      retryable: true,
    });
    const controller = new AbortController();
    const waiting = transport(server.url).tip(MAIN, { signal: controller.signal });
    await asked;
    controller.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
  });

  test("nobody at the address", async () => {
    using temp = await tempRepo();
    const server = serveGit(temp.path, { token: TOKEN });
    server[Symbol.dispose]();
    await expect(transport(server.url).tip(MAIN)).rejects.toMatchObject({ code: "network", retryable: true });
  });

  test("the repository's own settings lead nobody anywhere", async () => {
    using temp = await tempRepo();
    using server = serveGit(temp.path, { token: TOKEN });
    using other = serveGit(temp.path, { name: "other.git" });
    const head = commitAtRemote(server, { "a.md": "a" });
    await temp.repo.setConfig({
      "http.corsProxy": other.origin,
      "remote.origin.url": other.url,
      "remote.origin.pushurl": other.url,
      [`url.${other.origin}/.insteadOf`]: `${server.origin}/`,
    });
    expect(await transport(server.url).fetch(temp.repo.objects, MAIN)).toBe(head);
    expect(other.requests).toEqual([]);
  });
});

async function answerOf(server: GitHttpServer): Promise<Uint8Array> {
  let bytes = new Uint8Array();
  server.alter = async (request, response) => {
    const body = new Uint8Array(await response.arrayBuffer());
    if (request.method === "POST") bytes = body;
    return new Response(body, response);
  };
  using fresh = tempDir("letta-answer-");
  const repo = await initRepository(join(fresh.path, "memory"), { branch: "main" });
  await transport(server.url).fetch(repo.objects, MAIN);
  return bytes;
}
