import { expect, onTestFinished, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Backend } from "@/sandbox/launch.ts";
import { createSandbox, type SandboxOptions } from "@/sandbox/sandbox.ts";
import type { SandboxChoice } from "@/sandbox/settings.ts";

const BWRAP: Backend = { name: "bwrap", path: "/usr/bin/bwrap" };
const CHOICE: SandboxChoice = {
  mode: "workspace",
  source: "default",
  network: "off",
  writableRoots: [],
  denyRead: [],
  failIfUnavailable: false,
  autoAllowShell: false,
};

function make(choice: Partial<SandboxChoice> = {}, options: Partial<SandboxOptions> = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "letta-sandbox-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const name of ["home/.letta/local", "work/.git"]) mkdirSync(join(root, name), { recursive: true });
  const work = join(root, "work");
  let failures = 0;
  const sandbox = createSandbox({
    choice: { ...CHOICE, ...choice },
    backend: BWRAP,
    place: {
      workspace: [work],
      home: join(root, "home"),
      lettaRoot: join(root, "home/.letta"),
      localStore: join(root, "home/.letta/local"),
    },
    current: () => ({ readable: [], denyRead: [], deniesRead: null, guarded: [] }),
    tmpdir: root,
    contained: false,
    onSetupFailure: () => {
      failures += 1;
    },
    ...options,
  });
  return { sandbox, root, work, failures: () => failures, command: { argv: ["/bin/true"], cwd: work } };
}

test.each([
  ["by default a confined command asks", {}, false, { autoAllow: false, contained: false }],
  ["settings may say it need not", { autoAllowShell: true }, false, { autoAllow: true, contained: false }],
  ["but not with a network", { autoAllowShell: true, network: "on" }, false, { autoAllow: false, contained: false }],
  ["a contained run allows both", {}, true, { autoAllow: true, contained: true }],
] as const)("%s", (_, choice, contained, expected) => {
  expect(make(choice, { contained }).sandbox).toMatchObject({ active: true, ...expected });
});

test("a contained run in the home directory allows nothing", () => {
  const { root } = make();
  const place = { workspace: [root], home: root, lettaRoot: root, localStore: root };
  expect(make({}, { contained: true, place }).sandbox).toMatchObject({
    active: true,
    autoAllow: false,
    contained: false,
  });
});

test("without a backend commands run as always, or not at all", () => {
  const open = make({}, { backend: null, reason: "none here", contained: true });
  expect(open.sandbox).toMatchObject({ active: false, autoAllow: false, contained: false });
  expect(open.sandbox.confine(open.command)).toBeNull();
  const closed = make({ failIfUnavailable: true }, { backend: null, reason: "none here" });
  expect(() => closed.sandbox.confine(closed.command)).toThrow("sandbox setup failed: none here");
});

test("absent names are held while any command needs them", () => {
  const { sandbox, work, command } = make();
  const [one, two] = [sandbox.confine(command), sandbox.confine(command)];
  expect(readdirSync(work)).toContain(".letta");
  expect([statSync(join(work, ".vscode")).isDirectory(), statSync(join(work, ".git/config.worktree")).size]).toEqual([
    true,
    0,
  ]);
  one?.release();
  expect(existsSync(join(work, ".letta"))).toBe(true);
  two?.release();
  expect(readdirSync(work)).toEqual([".git"]);
  expect(existsSync(join(work, ".git/config.worktree"))).toBe(false);
});

test("a held directory somebody outside uses becomes an ordinary one", () => {
  const { sandbox, work, command } = make();
  const confined = sandbox.confine(command);
  const letta = join(work, ".letta");
  chmodSync(letta, 0o755);
  writeFileSync(join(letta, "settings.local.json"), "{}");
  chmodSync(letta, 0o555);
  confined?.release();
  expect([statSync(letta).mode & 0o777, readdirSync(letta)]).toEqual([0o755, ["settings.local.json"]]);
});

test("what a killed run left is taken away, and what somebody uses stays", () => {
  const { sandbox, root, work, command } = make();
  const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0];
  const ended = Bun.spawnSync(["true"]).pid;
  const tmp = (pid: number, where = namespace) => join(root, `letta-sandbox-${where}-${pid}-x`);
  const [abandoned, used, elsewhere] = [tmp(ended), tmp(process.pid), tmp(ended, "1")];
  for (const path of [abandoned, used, elsewhere]) mkdirSync(join(path, "in"), { recursive: true });
  for (const name of [".vscode", ".letta"]) mkdirSync(join(work, name));
  writeFileSync(join(work, ".letta/settings.local.json"), "{}");
  writeFileSync(join(work, ".git/config.worktree"), "", { mode: 0o444 });
  for (const name of [".vscode", ".letta"]) chmodSync(join(work, name), 0o555);
  sandbox.confine(command)?.release();
  sandbox.close();
  expect([abandoned, used, elsewhere].map((path) => existsSync(path))).toEqual([false, true, true]);
  expect([readdirSync(work).sort(), readdirSync(join(work, ".git"))]).toEqual([[".git", ".letta"], []]);
  expect(statSync(join(work, ".letta")).mode & 0o777).toBe(0o755);
});

test("what was put under a held name stays, and so does an empty directory of somebody else", () => {
  const { sandbox, work, command } = make();
  mkdirSync(join(work, ".letta"));
  const confined = sandbox.confine(command);
  rmSync(join(work, ".envrc"), { recursive: true });
  writeFileSync(join(work, ".envrc"), "mine");
  confined?.release();
  expect(readdirSync(work).sort()).toEqual([".envrc", ".git", ".letta"]);
});

test("a file git would take its configuration from is taken away again", () => {
  const { sandbox, work, command } = make();
  const confined = sandbox.confine(command);
  writeFileSync(join(work, ".git/commondir"), "../evil");
  confined?.release();
  expect(existsSync(join(work, ".git/commondir"))).toBe(false);
});

test("a sandbox that cannot be set up is an error and is tried anew", () => {
  const { sandbox, command, failures } = make();
  const confined = sandbox.confine(command);
  expect(() => confined?.explain({ exitCode: 1, output: "bwrap: no permissions to create a new namespace" })).toThrow(
    "sandbox setup failed: no permissions",
  );
  confined?.release();
  expect(failures()).toBe(1);
});

test("the private directory for temporary files goes at the end", () => {
  const { sandbox, root, command } = make();
  sandbox.confine(command)?.release();
  expect(readdirSync(root).filter((name) => name.startsWith("letta-sandbox-"))).toHaveLength(1);
  sandbox.close();
  expect(readdirSync(root).filter((name) => name.startsWith("letta-sandbox-"))).toHaveLength(0);
});
