import { expect, test } from "bun:test";
import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { builtinTools } from "@/tools/builtin.ts";
import { defineTool } from "@/tools/define-tool.ts";
import { createToolRegistry } from "@/tools/registry.ts";
import { TOOLSETS } from "@/tools/toolsets.ts";
import { expectGolden } from "../support/golden.ts";

const sample = defineTool({
  name: "Sample",
  description: "A sample.\n",
  args: v.strictObject({
    file_path: v.string(),
    offset: v.optional(v.number()),
    all: v.optional(v.boolean(), false),
    edits: v.optional(v.array(v.strictObject({ old_string: v.string() }))),
  }),
  run: async () => "done",
});

test.each([
  ["as it is", { file_path: "a" }, { file_path: "a", all: false }],
  ["a number sent as text", { file_path: "a", offset: " 12 " }, { file_path: "a", offset: 12, all: false }],
  ["a boolean sent as text", { file_path: "a", all: "True" }, { file_path: "a", all: true }],
  ["a number for a text", { file_path: 7 }, { file_path: "7", all: false }],
  ["null for not given", { file_path: "a", offset: null }, { file_path: "a", all: false }],
])("parse takes %s", (_, args, parsed) => expect(sample.parse(args)).toEqual(parsed as never));

test.each([
  [
    "an unknown key",
    { path: "a", file_path: "b" },
    'Sample: unknown argument "path". Did you mean "file_path"? Valid: file_path, offset, all, edits.',
  ],
  ["a missing key", { offset: 1 }, 'Sample: missing required argument "file_path".\nReceived: offset.'],
  ["a required null", { file_path: null }, 'Sample: missing required argument "file_path".\nReceived: file_path.'],
  [
    "nothing at all",
    {},
    'Sample: missing required argument "file_path".\nNo arguments arrived: they were probably lost in transit. Do not resend an identical call.',
  ],
  [
    "text that is no number",
    { file_path: "a", offset: "x" },
    'Sample: argument "offset": Invalid type: Expected number but received "x".',
  ],
  [
    "an unknown key inside",
    { file_path: "a", edits: [{ old_string: "x", old_strin: "y" }] },
    'Sample: unknown argument "edits.0.old_strin". Did you mean "old_string"? Valid: old_string.',
  ],
  ["something else than an object", [1], "Sample: arguments must be a JSON object."],
])("parse refuses %s", (_, args, message) => expect(() => sample.parse(args)).toThrow(new ToolError(message)));

test("defaults: a barrier that asks, titled by its first text", () => {
  const args = sample.parse({ file_path: "src/a.ts" });
  const context = { cwd: "/w", services: undefined as never };
  expect(sample.description).toBe("A sample.");
  expect(sample.targets(args, context)).toEqual([
    { kind: "tool", name: "Sample", args: { file_path: "src/a.ts", all: false } },
  ]);
  expect(sample.resource(args, context)).toEqual({ kind: "barrier" });
  expect(sample.title(args, "/w")).toBe("src/a.ts");
});

/** Those for a memory, too. */
const ALL_TOOLS = builtinTools({ findMemory: async () => null });

test("what the model sees of the built-in tools is reviewed, and small", () => {
  const shown = ALL_TOOLS.map(({ name, toolsets, description, parameters }) => ({
    name,
    toolsets,
    description,
    parameters,
  }));
  expectGolden("tool-schemas.json", `${JSON.stringify(shown, null, 2)}\n`);
});

test.each(TOOLSETS)("the %s set is small", (toolset) => {
  const { tools } = createToolRegistry(ALL_TOOLS).select({ toolset, interactive: true });
  const sent = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  expect(JSON.stringify(sent).length).toBeLessThan(12 * 1024);
});
