// The tools that edit memory, on a real one.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_FILES } from "@/memory/default-files.ts";
import { type AgentMemory, openMemory } from "@/memory/service.ts";
import type { AnyTool } from "@/tools/define-tool.ts";
import { memoryTool } from "@/tools/memory.ts";
import { memoryApplyPatchTool } from "@/tools/memory-apply-patch.ts";
import { openWorkbench, type Workbench } from "./support.ts";

let root: string;
let bench: Workbench;
let memory: AgentMemory;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "letta-memory-tool-"));
  bench = openWorkbench();
  memory = openMemory({
    paths: { agents: root },
    agent: { id: "agent-1", name: "Ada" },
    git: () => import("@/store/git/repository.ts"),
    seed: () => ({ ...DEFAULT_FILES }),
  });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});

const findMemory = async (id: string) => (id === "agent-1" ? memory : null);

async function run(args: Record<string, unknown>, agentId: string | null = "agent-1"): Promise<string> {
  const tool = "input" in args ? memoryApplyPatchTool(findMemory) : memoryTool(findMemory);
  return (await bench.call(tool as AnyTool, args, { agentId })).output;
}

const file = (path: string): string => readFileSync(join(memory.places.memory, path), "utf8");

describe("memory", () => {
  test("a life of a file", async () => {
    const reason = "because";
    const created = { command: "create", reason, file_path: "a", description: "d", file_text: "one two" };
    expect(await run(created)).toMatch(/^Memory create committed locally \([0-9a-f]{7}\)\.$/);
    await run({ command: "str_replace", reason, file_path: "a", old_string: " two", new_string: "" });
    await run({ command: "insert", reason, file_path: "a", insert_line: 1, insert_text: "zero" });
    await run({ command: "update_description", reason, file_path: "a", description: "e" });
    await run({ command: "rename", reason, old_path: "a", new_path: "b" });
    expect(file("b.md")).toBe("---\ndescription: e\n---\nzero\none\n");
    expect(await run({ command: "delete", reason, file_path: "b" })).toStartWith("Memory delete committed locally");
  });

  test("what is not as it should be is said beside the success", async () => {
    const text = "x".repeat(9_000);
    const output = await run({
      command: "create",
      reason: "r",
      file_path: "system/big",
      description: "d",
      file_text: text,
    });
    expect(output).toContain("system/big.md: warning: 9,024 bytes are a lot for a file under system/");
  });

  test.each([
    [{ command: "create", reason: "r", file_path: "x" }, "`create` needs `description`."],
    [{ command: "str_replace", reason: "r", file_path: "x", old_string: "y" }, "`str_replace` needs `new_string`."],
    [{ command: "rename", reason: "r", old_path: "x" }, "`rename` needs `new_path`."],
    [{ command: "delete", reason: "  ", file_path: "x" }, "`reason` is empty"],
    [{ command: "delete", reason: "r", file_path: "x" }, "There is no x in memory."],
    [{ command: "delete", reason: "r", file_path: "/etc/passwd" }, "it lies outside the memory"],
    [{ command: "delete", reason: "r", file_path: "system/persona" }, "cannot be without its persona"],
    [{ command: "erase", reason: "r" }, "command"],
    [{ command: "delete", reason: "r", path: "x" }, "path"],
  ])("%j is refused", async (args, message) => {
    await expect(run(args)).rejects.toMatchObject({ code: "tool", message: expect.stringContaining(message) });
  });

  test("an agent without a memory", async () => {
    const args = { command: "delete", reason: "r", file_path: "x" };
    await expect(run(args, "agent-2")).rejects.toThrow("This agent has no memory.");
    await expect(run(args, null)).rejects.toThrow("This agent has no memory.");
  });
});

test("memory_apply_patch is one commit", async () => {
  const input = ["*** Begin Patch", "*** Add File: p1", "+one", "*** Add File: p2", "+two", "*** End Patch"].join("\n");
  const before = await memory.head();
  expect(await run({ reason: "both", input })).toMatch(/^Memory patch committed locally \([0-9a-f]{7}\)\.$/);
  const [last] = await Array.fromAsync((await memory.ensure()).log({ limit: 1 }));
  expect({ message: last?.message, parents: last?.parents }).toEqual({ message: "both\n", parents: [before] });
  const half = input.replace("*** Add File: p1", "*** Add File: p3").replace("p2", "p1");
  await expect(run({ reason: "half", input: half })).rejects.toThrow("p1.md exists already");
  expect((await memory.files()).paths).not.toContain("p3.md");
});
