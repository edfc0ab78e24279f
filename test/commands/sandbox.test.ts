import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { runSandboxDoctor } from "@/commands/sandbox.ts";
import { recordingIo, tempCore } from "./support.ts";

test("where nothing can be tried it says so and what to do", async () => {
  const io = recordingIo();
  const exitCode = await runSandboxDoctor(await tempCore({ PATH: "/nonexistent" }), { json: true }, io);
  const { data } = JSON.parse(io.out);
  expect(data.settings).toEqual({ mode: "workspace", source: "default", network: "off" });
  expect(exitCode).toBe(data.backend === null ? 1 : 0);
  for (const { name, works, reason } of data.backends) {
    expect({ name, hasReason: typeof reason === "string" }).toEqual({ name, hasReason: !works });
  }
});

test("what was found out before is forgotten", async () => {
  const core = await tempCore();
  const cache = join(core.paths.root, "sandbox-probe.json");
  await mkdir(core.paths.root, { recursive: true });
  writeFileSync(cache, "{}");
  await runSandboxDoctor(core, {}, recordingIo());
  expect(existsSync(cache)).toBe(false);
});
