import { expect, test } from "bun:test";
import * as v from "valibot";
import { type AnyTool, defineTool } from "@/tools/define-tool.ts";
import { createToolRegistry } from "@/tools/registry.ts";

const tool = (name: string, interactive = false): AnyTool =>
  defineTool({ name, description: name, args: v.strictObject({}), interactive, run: async () => name });
const names = (tools: { name: string }[]): string[] => tools.map(({ name }) => name);

test("selects in a stable order and names what it does not know", () => {
  const registry = createToolRegistry([tool("A"), tool("Ask", true), tool("B")]);
  expect(names(registry.select({ interactive: true }).tools)).toEqual(["A", "Ask", "B"]);
  expect(names(registry.select({ interactive: false }).tools)).toEqual(["A", "B"]);
  expect(registry.select({ interactive: true, only: [] })).toEqual({ tools: [], unknown: [] });
  const { tools, unknown } = registry.select({ interactive: false, only: ["B", "A", "Ask", "Nope"] });
  expect([names(tools), unknown]).toEqual([["A", "B"], ["Nope"]]);
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
