import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_FILES } from "@/memory/default-files.ts";
import { findPersonality } from "@/memory/presets.ts";
import { openMemory } from "@/memory/service.ts";
import { switchPersonality } from "@/memory/switch-personality.ts";

test("texts change, heads stay, and once is enough", async () => {
  const agents = mkdtempSync(join(tmpdir(), "letta-personality-"));
  try {
    const persona = DEFAULT_FILES["system/persona.md"]!.replace("---\n", "---\ntags: [mine]\nread_only: true\n");
    const memory = openMemory({
      paths: { agents },
      agent: { id: "agent-1", name: "Ada" },
      git: () => import("@/store/git/repository.ts"),
      seed: () => ({ ...DEFAULT_FILES, "system/persona.md": persona }),
    });
    const linus = findPersonality("linus")!;
    const commit = await switchPersonality(memory, linus);
    expect(commit?.paths).toEqual(["system/human.md", "system/persona.md"]);
    expect(await switchPersonality(memory, linus)).toBeNull();
    const text = Buffer.from((await (await memory.files()).read("system/persona.md"))!).toString();
    expect(text).toBe(linus.files["system/persona.md"]!.replace("---\n", "---\ntags: [mine]\nread_only: true\n"));
    const [last] = await Array.fromAsync((await memory.ensure()).log({ limit: 1 }));
    expect(last?.message).toBe("chore(personality): switch to Linus\n");
  } finally {
    rmSync(agents, { recursive: true, force: true });
  }
});
