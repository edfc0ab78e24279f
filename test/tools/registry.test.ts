import { expect, test } from "bun:test";
import * as v from "valibot";
import { builtinTools } from "@/tools/builtin.ts";
import { type AnyTool, defineTool } from "@/tools/define-tool.ts";
import { createToolRegistry, type ToolSelection } from "@/tools/registry.ts";
import type { ToolsetNames } from "@/tools/toolsets.ts";

const tool = (
  name: string,
  { interactive = false, toolsets }: { interactive?: boolean; toolsets?: ToolsetNames } = {},
) =>
  defineTool({
    name,
    ...(toolsets && { toolsets }),
    description: name,
    args: v.strictObject({}),
    interactive,
    run: async () => name,
  }) as AnyTool;
const names = (tools: { name: string }[]): string[] => tools.map(({ name }) => name);

test("selects in a stable order and names what it does not know", () => {
  const registry = createToolRegistry([tool("A"), tool("Ask", { interactive: true }), tool("B")]);
  const toolset = "default";
  expect(names(registry.select({ toolset, interactive: true }).tools)).toEqual(["A", "Ask", "B"]);
  expect(names(registry.select({ toolset, interactive: false }).tools)).toEqual(["A", "B"]);
  expect(registry.select({ toolset, interactive: true, only: [] })).toEqual({ tools: [], unknown: [] });
  const { tools, unknown } = registry.select({ toolset, interactive: false, only: ["B", "A", "Ask", "Nope"] });
  expect([names(tools), unknown]).toEqual([["A", "B"], ["Nope"]]);
});

test("a set has its own members under its own names", () => {
  const shared = tool("Shared", { toolsets: { default: "Shared", codex_snake: "shared" } });
  const codex = tool("Patch", { toolsets: { codex: "Patch", codex_snake: "patch" } });
  const { toolsets: _, ...brought } = tool("Brought");
  const registry = createToolRegistry([shared, codex, tool("Unlisted", { toolsets: {} }), brought]);
  const inSet = (toolset: "default" | "codex" | "codex_snake" | "gemini" | "none", only?: string[]) =>
    names(registry.select({ toolset, interactive: true, ...(only && { only }) }).tools);
  expect(inSet("default")).toEqual(["Shared", "Brought"]);
  expect(inSet("codex")).toEqual(["Patch", "Brought"]);
  expect(inSet("codex_snake")).toEqual(["shared", "patch", "Brought"]);
  expect(inSet("none")).toEqual(["Brought"]);
  // By name from every set; a member keeps the name it has in the set, others get the name that was asked for.
  expect(inSet("codex_snake", ["Shared", "Patch", "Unlisted"])).toEqual(["shared", "patch", "Unlisted"]);
  expect(inSet("default", ["patch"])).toEqual(["patch"]);
  expect(registry.find("patch")).toBe(codex);
});

test("under another name a tool is still the same, and says that name", async () => {
  const registry = createToolRegistry([tool("Patch", { toolsets: { codex_snake: "patch" } })]);
  const [patch] = registry.select({ toolset: "codex_snake", interactive: true }).tools;
  expect(patch!.description).toBe("Patch");
  expect(patch!.parameters).toMatchObject({ type: "object" });
  expect(() => patch!.parse({ x: 1 })).toThrow(/^patch: unknown argument "x"/);
});

test("a request may want another set, tools beside it, and only some of them", () => {
  const shell = tool("Shell", { toolsets: { default: "Shell", codex: "exec" } });
  const patch = tool("Patch", { toolsets: { codex: "Patch", codex_snake: "patch" } });
  const ask = tool("Ask", { interactive: true });
  const watch = defineTool({ ...tool("Watch"), args: v.strictObject({}), resident: true, toolsets: {} }) as AnyTool;
  const { toolsets: _, ...brought } = tool("Brought");
  const registry = createToolRegistry([shell, patch, ask, watch, tool("Unlisted", { toolsets: {} }), brought]);
  const select = (selection: Partial<ToolSelection>) =>
    names(registry.select({ toolset: "default", interactive: true, ...selection }).tools);
  expect(select({ include: ["patch", "Unlisted", "Shell", "Nope"] })).toEqual([
    "Shell",
    "patch",
    "Ask",
    "Unlisted",
    "Brought",
  ]);
  expect(select({ only: ["Shell"], include: ["exec"] })).toEqual(["Shell"]);
  expect(select({ toolset: "codex", include: ["Unlisted"] })).toEqual(["exec", "Patch", "Unlisted", "Brought"]);
  expect(select({ allowlist: ["Brought", "exec", "patch", "Nope"] })).toEqual(["Shell", "patch", "Brought"]);
  expect(select({ allowlist: [], include: ["Patch"] })).toEqual([]);
  expect(select({ include: ["Watch"], interactive: false })).toEqual(["Shell", "Brought"]);
  expect(select({ include: ["Watch"], interactive: false, resident: true })).toEqual(["Shell", "Watch", "Brought"]);
  const understood = (selection: Partial<ToolSelection>) =>
    registry.understand("exec", { toolset: "default", interactive: true, ...selection })?.name;
  expect([understood({}), understood({ allowlist: ["Shell"] })]).toEqual(["exec", undefined]);
});

test("names of another family's set are understood, unless tools were chosen by name", () => {
  const shell = tool("Shell", { toolsets: { default: "Bash", codex: "exec" } });
  const ask = tool("Ask", { interactive: true, toolsets: { default: "Ask" } });
  const registry = createToolRegistry([shell, ask, tool("Unlisted", { toolsets: {} })]);
  const understand = (name: string, selection: Partial<ToolSelection> = {}) =>
    registry.understand(name, { toolset: "codex", interactive: false, ...selection })?.name;
  expect(understand("Bash")).toBe("Bash");
  expect(["Shell", "Ask", "Unlisted", "Nope"].map((name) => understand(name))).toEqual(Array(4).fill(undefined));
  expect(understand("Ask", { interactive: true })).toBe("Ask");
  expect(understand("Bash", { only: ["exec"] })).toBeUndefined();
  expect(understand("Bash", { toolset: "none" })).toBeUndefined();
});

test("no two built-in tools have the same name in a set", () => {
  for (const toolset of ["default", "codex", "codex_snake", "gemini", "gemini_snake"] as const) {
    const inSet = builtinTools().flatMap((each) => each.toolsets?.[toolset] ?? []);
    expect(new Set(inSet).size).toBe(inSet.length);
  }
});

test("a registered tool replaces in place, and goes away again", () => {
  const registry = createToolRegistry([tool("A"), tool("B")]);
  const [mine, other] = [tool("A"), tool("C")];
  const removeMine = registry.register(mine);
  const removeOther = registry.register(other);
  expect(names(registry.list())).toEqual(["A", "B", "C"]);
  expect(registry.find("A")).toBe(mine);
  removeMine();
  removeOther();
  removeOther();
  expect(registry.find("A")).not.toBe(mine);
  expect(names(registry.list())).toEqual(["A", "B"]);
});
