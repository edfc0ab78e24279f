import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPrompt, fencedBlock, type PromptSources } from "@/frontends/headless/prompt.ts";
import type { PipedInput } from "@/frontends/headless/stdin.ts";

let cwd = "";
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "letta-prompt-"));
  writeFileSync(join(cwd, "a.txt"), "alpha\n");
  writeFileSync(join(cwd, "p.md"), "from a file\n");
  writeFileSync(join(cwd, "dot.png"), new Uint8Array([1, 2, 3]));
  writeFileSync(join(cwd, "bin"), new Uint8Array([0, 1]));
});
afterAll(() => rmSync(cwd, { recursive: true }));

const PIPED: PipedInput = { text: "", truncated: false, abandoned: false };

async function build(sources: Partial<PromptSources>, piped: Partial<PipedInput> = {}) {
  const notes: string[] = [];
  const content = await buildPrompt({
    prompt: "",
    files: [],
    cwd,
    readStdin: async () => ({ ...PIPED, ...piped }),
    note: (text) => notes.push(text),
    ...sources,
  });
  return { content, notes };
}

test.each([
  ["the prompt alone", { prompt: "hi" }, {}, "hi"],
  ["stdin alone is the prompt", {}, { text: "  hi there\n" }, "hi there"],
  ["both", { prompt: "review" }, { text: "diff\n" }, "review\n\nFrom stdin:\n```\ndiff\n```"],
  ["white space on stdin is nothing", { prompt: "hi" }, { text: " \n" }, "hi"],
  ["a prompt file", { promptFile: "p.md" }, {}, "from a file"],
  ["an attached file", { prompt: "read", files: ["a.txt"] }, {}, "read\n\nFile a.txt:\n```\nalpha\n```"],
  ["cut stdin", { prompt: "x" }, { text: "y", truncated: true }, "x\n\nFrom stdin (cut after 1024 KB):\n```\ny\n```"],
] as const)("%s", async (_, sources, piped, expected) => {
  expect((await build({ ...sources, files: [...("files" in sources ? sources.files : [])] }, piped)).content).toBe(
    expected,
  );
});

test("an image goes as an image", async () => {
  expect((await build({ prompt: "what is this", files: ["dot.png"] })).content).toEqual([
    { type: "text", text: "what is this" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: "AQID" } },
  ]);
});

test.each([
  ["nothing at all", {}, {}, "No prompt provided"],
  ["a silent pipe", {}, { abandoned: true }, "No prompt provided"],
  ["a missing file", { files: ["nope"] }, {}, "cannot read nope: no such file or directory"],
  ["a binary file", { files: ["bin"] }, {}, "bin is not UTF-8 text"],
] as const)("%s is refused", async (_, sources, piped, message) => {
  const files = "files" in sources ? [...sources.files] : [];
  expect(build({ ...sources, files }, piped)).rejects.toThrow(message);
});

test("a device without end is too large, a pipe is read", async () => {
  expect(build({ promptFile: "/dev/zero" })).rejects.toThrow("/dev/zero is too large to attach (more than 1024 KB)");
  await Bun.spawn(["mkfifo", join(cwd, "pipe")]).exited;
  const writer = Bun.spawn(["sh", "-c", `echo through a pipe > "$0"`, join(cwd, "pipe")]);
  expect((await build({ promptFile: "pipe" })).content).toBe("through a pipe");
  await writer.exited;
});

test("a pipe that was left is mentioned", async () => {
  expect((await build({ prompt: "x" }, { abandoned: true })).notes).toEqual([
    "nothing arrived on stdin for 3 s; going on without it (--stdin waits)",
  ]);
});

test("a fence is longer than the fences inside", () => {
  expect(fencedBlock("Text:", "```\ncode\n```")).toBe("Text:\n````\n```\ncode\n```\n````");
});
