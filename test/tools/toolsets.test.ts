import { expect, test } from "bun:test";
import { findToolsetChoice, resolveToolset } from "@/tools/toolsets.ts";

test.each([
  ["openai/gpt-6.1-sol", "codex"],
  ["openai-codex/gpt-6-codex", "codex"],
  ["chatgpt-plus-pro/gpt-6", "codex"],
  ["anthropic/claude-sonnet-5-5", "default"],
  ["gemini/gemini-pro-latest", "default"],
  ["openai-compatible/openai/gpt", "default"],
  ["groq/openai/gpt-oss-120b", "default"],
  [null, "default"],
] as const)("%p gets %s", (model, toolset) => {
  expect(resolveToolset(model, [])).toBe(toolset);
  expect(resolveToolset(model, [undefined, "auto", "gemini"])).toBe(toolset);
  expect(resolveToolset(model, [undefined, "gemini_snake", "none"])).toBe("gemini_snake");
});

test("names nobody knows are no choice", () => {
  expect(["codex_snake", "auto", "nope", undefined].map(findToolsetChoice)).toEqual([
    "codex_snake",
    "auto",
    undefined,
    undefined,
  ]);
});
