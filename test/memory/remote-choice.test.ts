import { describe, expect, test } from "bun:test";
import { chooseRemote, currentUrl, type MemoryServer, remoteTokenName } from "@/memory/remote-choice.ts";

const server: MemoryServer = { base: "https://api.letta.com", token: "sk-let-1", hosted: false };
const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
const tokens = new Map([["https://git.example.com", "ghp_1"]]);
const choose = (origin: string | null, of: MemoryServer | null = server) =>
  chooseRemote({ agentId: "agent-1", origin, server: of, tokenFor: (at) => tokens.get(at) ?? null });

test("an agent of a server has a remote from birth; one of this machine only when its user names one", async () => {
  expect(await choose(null)).toEqual({
    kind: "letta",
    place: {
      kind: "http",
      url: "https://api.letta.com/v1/git/agent-1/state.git",
      origin: "https://api.letta.com",
      username: null,
    },
    headers: { authorization: basic("letta:sk-let-1") },
  });
  expect((await choose(null, { ...server, hosted: true }))?.headers["x-letta-memfs-backend"]).toBe("hosted");
  expect(await choose(null, null)).toBeNull();
  expect(await choose(" ", null)).toBeNull();
});

describe("the server's token goes to the server's own address of this memory only", () => {
  test.each([
    "https://git.example.net/ann/memory.git",
    "https://api.letta.com.example.net/v1/git/agent-1/other.git",
    "https://api.letta.com:444/x.git",
    "https://api.letta.com@git.example.net/v1/git/agent-2/state.git",
    "https://api.letta.com/v1/git/agent-2/state.git",
  ])("not to %s", async (origin) => {
    expect(await choose(origin)).toMatchObject({ kind: "own", headers: {} });
  });
});

test("a user's own remote gets the token of its origin, under the name the address has", async () => {
  expect((await choose("https://git.example.com/m.git", null))?.headers).toEqual({
    authorization: basic("x-access-token:ghp_1"),
  });
  expect((await choose("https://ann@git.example.com/m.git", null))?.headers).toEqual({
    authorization: basic("ann:ghp_1"),
  });
  expect((await choose("https://git.example.com:8443/m.git", null))?.headers).toEqual({});
  expect(await choose("git@git.example.com:m.git", null)).toEqual({
    kind: "own",
    place: { kind: "ssh", url: "git@git.example.com:m.git" },
    headers: {},
  });
  expect(remoteTokenName("https://git.example.com")).toBe("MEMORY_REMOTE_GIT_EXAMPLE_COM_D1B1F2DE");
});

test("unencrypted only on this machine, or where the user said the server is", async () => {
  await expect(choose("http://git.example.com/m.git", null)).rejects.toMatchObject({ code: "usage" });
  expect(await choose("http://localhost:3000/m.git", null)).toMatchObject({ kind: "own" });
  expect(await choose(null, { ...server, base: "http://letta.lan:8283" })).toMatchObject({ kind: "letta" });
});

test.each([
  ["https://old.example.com/v1/git/agent-1/state.git", "https://api.letta.com/v1/git/agent-1/state.git"],
  ["http://localhost:9/v1/git/agent-1", "https://api.letta.com/v1/git/agent-1/state.git"],
  ["https://api.letta.com/v1/git/", "https://api.letta.com/v1/git/agent-1/state.git"],
  ["https://git.example.com/ann/memory.git", "https://git.example.com/ann/memory.git"],
  ["git@host:m.git", "git@host:m.git"],
])("former addresses are put right: %s", (origin, url) => {
  expect(currentUrl({ agentId: "agent-1", origin, server })).toBe(url);
});
