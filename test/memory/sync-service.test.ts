// The memories of a process and their remotes: what is waited for and for how long, what is said and how often. Skipped
// where git is missing: the server is git's own.

import { afterEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { remoteTokenName } from "@/memory/remote-choice.ts";
import { setOrigin } from "@/memory/remote-settings.ts";
import { type AgentMemory, openMemory } from "@/memory/service.ts";
import { createMemorySync, type MemorySyncOptions, type SyncNews } from "@/memory/sync-service.ts";
import type { ClientState } from "@/store/client-state.ts";
import { type TempDir, tempDir } from "../support/binary.ts";
import { serveGit } from "../support/git-http-server.ts";
import { ANN, changes, git, hasGit } from "../support/git-repos.ts";

const AGENT = "agent-1";
const TOKEN = "sesame-open";
const opened: Disposable[] = [];
afterEach(() => {
  for (const item of opened.splice(0).reverse()) item[Symbol.dispose]();
});

function room() {
  const folder: TempDir = tempDir("letta-sync-");
  opened.push(folder);
  const server = serveGit(folder.path, { token: TOKEN });
  opened.push(server);
  const state = new Map<string, unknown>();
  const clientState: ClientState = {
    find: (key, name) => state.get(`${key} ${name}`),
    set: (key, name, value) => void state.set(`${key} ${name}`, value),
  };
  const memory = openMemory({
    paths: { agents: join(folder.path, "agents") },
    agent: { id: AGENT, name: "Ada" },
    git: () => import("@/store/git/repository.ts"),
    seed: () => ({ "system/persona.md": "---\ndescription: me\n---\nI am.\n" }),
  });
  const open = (patch: Partial<MemorySyncOptions> = {}) => {
    const sync = createMemorySync({
      memoryOf: async () => memory,
      env: { all: {} },
      agentSecrets: { find: async (_, name) => (name === remoteTokenName(server.origin) ? TOKEN : null) },
      clientState,
      sync: { pause: async () => {}, random: () => 0 },
      ...patch,
    });
    const news: SyncNews[] = [];
    sync.onNews((item) => void news.push(item));
    return { sync, news, before: () => sync.beforeTurn(AGENT, new AbortController().signal) };
  };
  const connect = async () => {
    await setOrigin(await memory.ensure(), server.url.replace("://", "://letta@"), ANN);
  };
  return { server, memory, open, connect, path: folder.path };
}

const commit = async (memory: AgentMemory, path: string) =>
  (await memory.ensure()).commitChanges(changes({ [path]: "x\n" }), { message: path, author: ANN });
const remoteHead = (dir: string) => git(dir, ["log", "-1", "--format=%s", "main"]).trim();
/** The server does not answer until told to. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { wait: () => promise, open: () => resolve(undefined) };
}

describe.skipIf(!hasGit)("memory sync of a process", () => {
  test("turns are pushed one after the other, those that ended meanwhile together", async () => {
    const { server, memory, open, connect } = room();
    await connect();
    const { sync, news, before } = open();
    await before();
    const hold = gate();
    server.intercept = hold.wait;
    await commit(memory, "a.md");
    sync.afterTurn(AGENT);
    await commit(memory, "b.md");
    sync.afterTurn(AGENT);
    sync.afterTurn(AGENT);
    server.requests.length = 0;
    hold.open();
    await sync.close();
    expect(remoteHead(server.dir)).toBe("b.md");
    const pushes = server.requests.filter(({ method, path }) => method === "POST" && path.endsWith("receive-pack"));
    // The first may have begun before the second commit; the second sees to everything after it.
    expect(pushes.length).toBeLessThanOrEqual(2);
    expect(news).toEqual([]);
    // After its end nothing begins.
    await commit(memory, "c.md");
    sync.afterTurn(AGENT);
    await sync.close();
    expect(remoteHead(server.dir)).toBe("b.md");
  });

  test.each([
    ["blocking", 1],
    ["background", 0],
    ["skip", 0],
  ] as const)("%s: the first turn waits for the remote, not for ever; later turns do not ask", async (start, waits) => {
    const { server, open, connect } = room();
    await connect();
    const hold = gate();
    server.intercept = hold.wait;
    const { sync, news, before } = open({ start, startWaitMs: 200 });
    await before();
    expect(news).toHaveLength(waits);
    if (waits) expect(news[0]!.text).toContain("going on with what is here");
    await before();
    hold.open();
    await sync.close();
    const fetched = server.requests.filter(({ path }) => path.includes("git-upload-pack")).length;
    expect(fetched > 0).toBe(start !== "skip");
  });

  test("the end does not wait for ever for a remote that is silent", async () => {
    const { server, memory, open, connect } = room();
    await connect();
    const { sync, news } = open({ start: "skip", exitWaitMs: 100 });
    const hold = gate();
    server.intercept = hold.wait;
    await commit(memory, "a.md");
    sync.afterTurn(AGENT);
    await sync.close();
    expect(news.map(({ level, text }) => `${level} ${text}`)).toEqual([
      "info Memory: still talking to the remote…",
      "warning Memory: the remote did not answer in time. It is tried again with the next turn.",
    ]);
    hold.open();
  });

  test("who is told to stop leaves at once and says nothing", async () => {
    const { server, memory, open, connect } = room();
    await connect();
    const { sync, news } = open({ start: "skip", exitWaitMs: 60_000 });
    const hold = gate();
    server.intercept = hold.wait;
    await commit(memory, "a.md");
    sync.afterTurn(AGENT);
    sync.stop();
    await sync.close();
    expect(news).toEqual([]);
    hold.open();
  });

  test("the same trouble is one line until it is over", async () => {
    const { server, memory, open, connect } = room();
    await connect();
    await commit(memory, "a.md");
    const { sync, news } = open({ start: "skip" });
    const fail = async () => {
      const asked = Promise.withResolvers<void>();
      server.intercept = () => {
        asked.resolve();
        return new Response("no", { status: 403 });
      };
      sync.afterTurn(AGENT);
      await asked.promise;
    };
    const succeed = async () => {
      const pushed = Promise.withResolvers<void>();
      server.intercept = null;
      server.alter = (request, response) => {
        if (request.method === "POST" && request.url.endsWith("/git-receive-pack")) pushed.resolve();
        return response;
      };
      sync.afterTurn(AGENT);
      await pushed.promise;
    };
    await fail();
    await fail();
    expect(sync.takeNotes(AGENT)).toHaveLength(1);
    expect(sync.takeNotes(AGENT)).toEqual([]);
    await succeed();
    await commit(memory, "b.md");
    await fail();
    await sync.close();
    expect(news.map(({ level }) => level)).toEqual(["warning", "warning"]);
    expect(news[0]!.text).toStartWith("Memory: 127.0.0.1");
    expect(sync.takeNotes(AGENT)).toHaveLength(1);
  });

  test("what a process left uncommitted is a note in the next, unless it was settled in between", async () => {
    const { memory, open } = room();
    await memory.ensure();
    writeFileSync(join(memory.places.memory, "x.md"), "x");
    const first = open();
    first.sync.afterTurn(AGENT);
    await first.sync.close();
    expect(first.news).toMatchObject([{ level: "warning", text: "Memory: 1 file has uncommitted changes." }]);
    const second = open();
    await second.before();
    expect(second.sync.takeNotes(AGENT)).toHaveLength(1);
    expect(second.news).toEqual([]);
    await second.sync.close();
    await (await memory.ensure()).commitPaths([], { message: "x", author: ANN });
    for (const process of [open(), open()]) {
      await process.before();
      expect(process.sync.takeNotes(AGENT)).toEqual([]);
    }
  });

  test("at the end a repository of many small packs is tidied", async () => {
    const { memory, open } = room();
    const repository = await memory.ensure();
    for (let pack = 0; pack < 31; pack++) {
      for (let i = 0; i < 100; i++) repository.objects.put("blob", Buffer.from(`object ${pack} ${i}`));
      await repository.objects.flush();
    }
    const before = await repository.footprint();
    expect(before.untidy).toBe(true);
    const { sync, before: turn } = open();
    await turn();
    await sync.close();
    const after = await repository.footprint();
    expect(after.untidy).toBe(false);
    expect(after.bytes).toBeGreaterThan(0);
    expect(after.bytes).toBeLessThan(before.bytes);
  });

  test("an address we do not talk to is said, and fails nothing", async () => {
    const { memory, open } = room();
    const { sync, news, before } = open();
    await (await memory.ensure()).setConfig({ "remote.origin.url": "ftp://example.com/x.git" });
    await before();
    sync.afterTurn(AGENT);
    await sync.close();
    expect(news).toHaveLength(1);
    expect(news[0]).toMatchObject({ level: "warning", text: expect.stringContaining("neither HTTPS nor SSH") });
  });
});
