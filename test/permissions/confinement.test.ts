// What a sandbox makes unnecessary to ask, and what it does not.

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { PermissionMode } from "@/permissions/types.ts";
import { brief, worldPool } from "../support/permission-world.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

const BOTH = { shell: true, edits: true };

test.each([
  ["a confined command", "python3 build.py", BOTH, "allow"],
  ["one nobody understands", "eval $X > $Y", BOTH, "allow"],
  ["a sandbox that does not allow by itself", "python3 build.py", { shell: false, edits: true }, "ask"],
  ["a hook", "echo x > .git/hooks/pre-commit", BOTH, "ask!"],
  ["everything", "rm -rf /", BOTH, "ask!"],
] as const)("%s: %s", async (_, command, confinement, expected) => {
  const world = await worlds.make({}, { confinement });
  expect(brief(await world.shell(command))).toBe(expected);
});

test.each([
  ["Edit", "src/a.ts", "allow"],
  ["Write", "/elsewhere/a", "ask"],
  ["Write", ".git/config", "ask!"],
  ["Read", "/elsewhere/a", "ask"],
] as const)("%s %s: %s", async (family, path, expected) => {
  const world = await worlds.make({}, { confinement: BOTH });
  expect(brief(await world.file(family, path))).toBe(expected);
});

test("deny and ask rules still count", async () => {
  const user = { permissions: { deny: ["Bash(git push:*)", "Edit(docs/**)"], ask: ["Bash(npm test)"] } };
  const world = await worlds.make({ user }, { confinement: BOTH });
  expect(brief(await world.shell("git push origin"))).toBe("deny");
  expect(brief(await world.shell("npm test"))).toBe("ask");
  expect(brief(await world.file("Edit", "docs/a.md"))).toBe("deny");
});

test.each(["strict", "plan"] as const satisfies PermissionMode[])("%s mode asks as before", async (mode) => {
  const world = await worlds.make({}, { confinement: BOTH, mode });
  expect(brief(await world.shell("python3 build.py"))).not.toBe("allow");
  expect(brief(await world.file("Edit", "src/a.ts"))).not.toBe("allow");
});

test.each(["standard", "unrestricted"] as const)(
  "leaving the sandbox is asked in %s mode, whatever rules say",
  async (mode) => {
    const user = { permissions: { allow: ["Bash(curl:*)"] } };
    const world = await worlds.make({ user }, { confinement: BOTH, mode });
    const verdict = await world.checker.check("Bash", [
      { kind: "shell", command: "curl example.com", cwd: join(world.project), unconfined: true },
    ]);
    expect(verdict).toMatchObject({ behavior: "ask", always: false, suggestions: [], reason: { by: "sandbox" } });
    expect(verdict.behavior === "ask" && verdict.allowFlag).toStartWith("--sandbox off");
  },
);
