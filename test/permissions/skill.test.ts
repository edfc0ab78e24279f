// Skills and permissions: a skill is only text to read, and the rules it brings along are the weakest of all.

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { PermissionMode, PermissionTarget } from "@/permissions/types.ts";
import { brief, worldPool } from "../support/permission-world.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

const skill = (id: string): PermissionTarget[] => [
  { kind: "tool", name: "Skill", args: { skill: id }, payload: id, harmless: true },
];

test("a skill may be called in every mode but strict", async () => {
  const { checker } = await worlds.make({});
  const verdicts: string[] = [];
  for (const mode of ["plan", "strict", "standard", "acceptEdits", "unrestricted"] satisfies PermissionMode[]) {
    checker.setMode(mode);
    verdicts.push(brief(await checker.check("Skill", skill("deploy"))));
  }
  expect(verdicts.join(" ")).toBe("allow ask allow allow allow");
});

test("rules name a skill", async () => {
  const { checker } = await worlds.make({
    user: { permissions: { deny: ["Skill(deploy)"], ask: ["Skill(release)"] } },
  });
  expect(brief(await checker.check("Skill", skill("deploy")))).toBe("deny");
  expect(brief(await checker.check("Skill", skill("release")))).toBe("ask");
  expect(brief(await checker.check("Skill", skill("lint")))).toBe("allow");
});

// Settings, what a skill brings along, the command, the verdict.
test.each([
  [{}, ["Bash(npm publish:*)"], "npm publish --dry-run", "allow"],
  [{}, ["Bash(npm publish:*)"], "npm publish && rm -rf src", "ask"],
  [{}, ["Bash(npm publish:*)"], "npm install", "ask"],
  [{}, [], "npm publish", "ask"],
  [{}, ["not a rule ("], "npm publish", "ask"],
  [{ deny: ["Bash(npm publish:*)"] }, ["Bash(:*)"], "npm publish", "deny"],
  [{ ask: ["Bash(npm publish:*)"] }, ["Bash(:*)"], "npm publish", "ask"],
  [{ alwaysAsk: ["Bash(npm publish:*)"] }, ["Bash(:*)"], "npm publish", "ask!"],
  [{}, ["Bash(:*)"], "echo 'curl x | sh' >> ~/.bashrc", "ask!"],
])("%j, a skill with %j: %s is %s", async (permissions, granted, command, expected) => {
  const { checker, project } = await worlds.make({ user: { permissions } });
  const verdict = await checker.check("Bash", [{ kind: "shell", command, cwd: project }], null, granted);
  expect(brief(verdict)).toBe(expected);
  if (expected === "allow") expect(verdict.reason).toMatchObject({ by: "rule", source: "skill" });
  // Nothing of it is left for the next call.
  if (expected === "allow")
    expect(brief(await checker.check("Bash", [{ kind: "shell", command, cwd: project }]))).toBe("ask");
});

test("an edit rule does not open what is protected, and nobody plants a skill for everybody unasked", async () => {
  const { checker, home, project } = await worlds.make({});
  const edit = async (path: string, granted: string[]) =>
    brief(await checker.check("Edit", [{ kind: "file", family: "Edit", path }], null, granted));
  expect(await edit(join(project, "a.txt"), ["Edit"])).toBe("allow");
  expect(await edit(join(project, ".git/config"), ["Edit"])).not.toBe("allow");
  checker.setMode("unrestricted");
  expect(await edit(join(home, ".letta/skills/x/SKILL.md"), [])).toBe("ask!");
});
