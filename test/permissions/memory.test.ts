// What an agent may do with its own memory, and that it is nobody else's.

import { afterAll, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import type { PermissionMode, PermissionTarget } from "@/permissions/types.ts";
import { brief, worldPool } from "../support/permission-world.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

const MODES: PermissionMode[] = ["plan", "strict", "standard", "acceptEdits", "unrestricted"];
const FILES = {
  "home/.letta/agents/agent-1/memory/system/human.md": "",
  "home/.letta/agents/agent-2/memory/x.md": "",
};

async function world() {
  const made = await worlds.make({ files: FILES });
  const agents = join(made.home, ".letta/agents");
  symlinkSync(join(agents, "agent-2"), join(agents, "agent-1/memory/other"));
  return made.reopen({
    memoryOf: (id) => [join(agents, id, "memory"), join(agents, id, "memory-worktrees")],
  });
}

// Columns: plan, strict, standard, acceptEdits, unrestricted.
test.each([
  ["Read", "agent-1/memory/system/human.md", "allow ask allow allow allow"],
  ["Grep", "agent-1/memory", "allow ask allow allow allow"],
  ["Read", "agent-1/memory/.git/config", "allow ask allow allow allow"],
  ["Read", "agent-1/memory/.env", "ask ask ask ask allow"],
  ["Edit", "agent-1/memory/system/human.md", "deny ask allow allow allow"],
  ["Write", "agent-1/memory/new/file.md", "deny ask allow allow allow"],
  ["Write", "agent-1/memory-worktrees/x/system/human.md", "deny ask allow allow allow"],
  ["Write", "agent-1/memory/mods/index.ts", "deny ask ask ask allow"],
  ["Write", "agent-1/memory/.git/hooks/pre-commit", "deny deny deny deny deny"],
  ["Write", "agent-1/memory/sub/.GIT/config", "deny deny deny deny deny"],
  ["Write", "agent-1/memory-worktrees/x/.git", "deny deny deny deny deny"],
  ["Write", "agent-1/memory/../memory.lock", "deny deny deny deny deny"],
  ["Read", "agent-1/secrets", "deny deny deny deny deny"],
  ["Read", "agent-1/memory/other/memory/x.md", "deny deny deny deny deny"],
  ["Write", "agent-2/memory/x.md", "deny deny deny deny deny"],
  ["Read", "agent-2/memory/x.md", "deny deny deny deny deny"],
  ["Grep", ".", "deny deny deny deny deny"],
] as const)("%s %s", async (family, path, expected) => {
  const { checker, home } = await world();
  const target: PermissionTarget = { kind: "file", family, path: join(home, ".letta/agents", path) };
  const verdicts = [];
  for (const mode of MODES) {
    checker.setMode(mode);
    verdicts.push(brief(await checker.check(family, [target], "agent-1")));
  }
  expect(verdicts.join(" ")).toBe(expected);
});

// The same columns.
test.each([
  ["letta memory log -n 3", "allow ask allow allow allow"],
  ["letta memory commit -m why", "deny ask allow allow allow"],
  ["letta memory log && letta memory undo -y", "deny ask allow allow allow"],
  ["bash -c 'letta memory undo'", "deny ask allow allow allow"],
  ["letta memory undo && rm x", "deny ask ask ask allow"],
  ["letta memory push", "deny ask ask ask allow"],
] as const)("%s", async (command, expected) => {
  const { checker, project: cwd } = await world();
  const verdicts = [];
  for (const mode of MODES) {
    checker.setMode(mode);
    verdicts.push(brief(await checker.check("Bash", [{ kind: "shell", command, cwd }], "agent-1")));
  }
  expect(verdicts.join(" ")).toBe(expected);
});

test("without an agent it is nobody's", async () => {
  const { checker, home } = await world();
  const path = join(home, ".letta/agents/agent-1/memory/system/human.md");
  expect(brief(await checker.check("Read", [{ kind: "file", family: "Read", path }]))).toBe("deny");
});

test("commands may read it, too", async () => {
  const { checker, home, project } = await world();
  const check = async (path: string) => {
    const command = `cat ${join(home, ".letta/agents", path)}`;
    return brief(await checker.check("Bash", [{ kind: "shell", command, cwd: project }], "agent-1"));
  };
  expect(await check("agent-1/memory/system/human.md")).toBe("allow");
  expect(await check("agent-2/memory/x.md")).toBe("ask");
});

test("a deny rule of the person counts", async () => {
  const made = await worlds.make({
    files: FILES,
    user: { permissions: { deny: ["memory", "Edit(~/.letta/agents/**)"] } },
  });
  const { checker, home } = await made.reopen({ memoryOf: (id) => [join(made.home, ".letta/agents", id, "memory")] });
  const path = join(home, ".letta/agents/agent-1/memory/system/human.md");
  expect(brief(await checker.check("Edit", [{ kind: "file", family: "Edit", path }], "agent-1"))).toBe("deny");
  const call: PermissionTarget = { kind: "tool", name: "memory", args: {}, memory: true };
  expect(brief(await checker.check("memory", [call], "agent-1"))).toBe("deny");
});

test("the memory tools need no answer, except where nothing may change", async () => {
  const { checker } = await world();
  const call: PermissionTarget = { kind: "tool", name: "memory", args: {}, memory: true };
  const verdicts = [];
  for (const mode of MODES) {
    checker.setMode(mode);
    verdicts.push(brief(await checker.check("memory", [call], "agent-1")));
  }
  expect(verdicts.join(" ")).toBe("deny ask allow allow allow");
});
