// A confined command and the agent's memory: its own notes it may write, what git would run from them it may not.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runLetta } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { headless } from "../support/protocols.ts";
import { sandboxWorld, workingBackends } from "../support/sandbox-world.ts";

/** In a file, which no rule about commands looks into. */
const SCRIPT = `
cd "$MEMORY_DIR" || exit 1
printf -- '---\\ndescription: d\\n---\\n' > system/notes.md && echo wrote
echo evil > .git/hooks/pre-commit || echo no hook
echo evil >> .git/config || echo no config
mkdir .git/hooks2 && mv .git/hooks .git/old || echo hooks stay
cat ../../other/memory.md || echo others are hidden
echo evil > ../evil || echo nothing beside it
echo "name <$AGENT_NAME>"
git add system/notes.md && git -c user.name=a -c user.email=b commit -qm note && git log --format=%s -1
true`;

const backends = await workingBackends();

describe.skipIf(backends.length === 0).each(backends)("under $name", ({ name, path: PATH }) => {
  test("the own memory is writable, its hooks and settings are not", async () => {
    using world = sandboxWorld({ "work/try.sh": SCRIPT });
    await using server = await startModelServer([
      { text: "hello" },
      { toolCalls: [{ id: "a", name: "Bash", args: { command: "sh try.sh" } }] },
      { text: "done" },
    ]);
    const run = (...args: string[]) => {
      const { args: all, env } = headless(server.url, args);
      return runLetta(all, { home: world, env: { ...env, PATH } });
    };
    await run("hi");
    const ran = await run("--sandbox", "workspace", "--yolo", "go");
    expect(ran.exitCode).toBe(0);
    const output = server.requests[2]!.toolResults[0]!.text;
    const told = /Memory directory \(MEMORY_DIR\): (\S+)/.exec(
      server.requests[0]!.messages.map(({ text }) => text).join(),
    );
    const memory = told![1]!;
    const lines = output.split("\n").filter((line) => !/denied|Read-only|cannot|No such/i.test(line));
    expect(lines.slice(0, 7)).toEqual([
      "wrote",
      "no hook",
      "no config",
      "hooks stay",
      "others are hidden",
      "nothing beside it",
      "name <Letta>",
    ]);
    // Landlock grants whole folders: git's own, with hooks in it, is none of them.
    if (name === "bwrap" && Bun.which("git")) expect(lines[7]).toBe("note");
    expect(readFileSync(join(memory, ".git/hooks/pre-commit"), "utf8")).not.toContain("evil");
    expect(readFileSync(join(memory, ".git/config"), "utf8")).not.toContain("evil");
  });
});
