import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runMemoryTokens } from "@/commands/memory-tokens.ts";
import { recordingIo, tempApp } from "./support.ts";

const FILES = {
  "system/persona.md": "x".repeat(401),
  "system/area/big.md": "é".repeat(2_000),
  "system/area/notes.txt": "not counted",
  "reference/other.md": "not counted",
};

async function world(vars: Record<string, string> = {}) {
  const app = await tempApp([], vars);
  const dir = join(app.cwd, "memory");
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  symlinkSync("/etc/passwd", join(dir, "system/link.md"));
  return { app, dir };
}

test("a quarter of the bytes under system/, largest first", async () => {
  const { app } = await world();
  const io = recordingIo();
  expect(await runMemoryTokens(app, { "memory-dir": "memory", format: "json" }, io)).toBe(0);
  expect(JSON.parse(io.out)).toEqual({
    total_tokens: 1_101,
    files: [
      { path: "system/area/big.md", tokens: 1_000 },
      { path: "system/persona.md", tokens: 101 },
    ],
  });
});

test("text, the largest ones, and the total alone", async () => {
  const { app } = await world();
  const shown = async (args: object) => {
    const io = recordingIo();
    await runMemoryTokens(app, { "memory-dir": "memory", format: "text", ...args }, io);
    return io.out;
  };
  expect(await shown({ top: "1" })).toBe(
    "TOKENS  FILE\n1,000   system/area/big.md\nAbout 1,101 tokens in every request\n",
  );
  expect(await shown({ quiet: true })).toBe("1101\n");
  writeFileSync(join(app.cwd, "memory/system/huge.md"), "x".repeat(120_000));
  expect(await shown({ top: "1" })).toEndWith("named instead of shown. Move details out of system/.\n");
});

test("where the memory is when no flag says it", async () => {
  const { app, dir } = await world();
  const quiet = { format: "text", quiet: true };
  const fromVariable = recordingIo();
  await runMemoryTokens({ ...app, env: { ...app.env, memoryDir: dir } }, quiet, fromVariable);
  expect(fromVariable.out).toBe("1101\n");
  const { id } = await app.backend.createAgent({ name: "Ada" });
  mkdirSync(join(app.paths.agents, id, "memory/system"), { recursive: true });
  writeFileSync(join(app.paths.agents, id, "memory/system/a.md"), "12345678");
  const ofAgent = recordingIo();
  await runMemoryTokens(app, { ...quiet, agent: "Ada" }, ofAgent);
  expect(ofAgent.out).toBe("2\n");
  await expect(runMemoryTokens(app, { ...quiet, "memory-dir": "nowhere" }, recordingIo())).rejects.toMatchObject({
    code: "storage",
    message: expect.stringContaining("no such file or directory"),
  });
});
