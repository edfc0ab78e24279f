import { expect, test } from "bun:test";
import { join } from "node:path";
import { parseDefinition } from "@/subagents/definition.ts";

const head = (text: string) => `---\nname: x\ndescription: d\n${text}---\nDo it.\n`;
const DEFAULTS = {
  name: "x",
  description: "d",
  tools: null,
  model: "inherit",
  skills: [],
  fork: false,
  background: true,
  launchProfile: "default" as const,
  prompt: "Do it.",
};

test.each([
  ["defaults", head(""), {}],
  ["tools with commas", head("tools: Bash, Edit\n"), { tools: ["Bash", "Edit"] }],
  ["tools as a list", head("tools:\n  - Bash\n  - Edit\n"), { tools: ["Bash", "Edit"] }],
  ["tools as a flow list", head("tools: [Bash, Edit] # two\n"), { tools: ["Bash", "Edit"] }],
  ["all tools", head("tools: all\n"), {}],
  ["quotes", head('model: "anthropic/x"\n'), { model: "anthropic/x" }],
  ["CRLF and a byte order mark", `\ufeff${head("fork: true\n").replaceAll("\n", "\r\n")}`, { fork: true }],
])("%s", (_, text, expected) => expect(parseDefinition(text, "x.md")).toEqual({ ...DEFAULTS, ...expected }));

test.each([
  ["no head", "Do it.", /x.md: it does not begin with a head/],
  ["no YAML", "---\nname: [\n---\n", /x.md: its head is no YAML/],
  ["a bad name", "---\nname: X y\ndescription: d\n---\n", /x.md: .*name/],
  ["no description", "---\nname: x\n---\n", /x.md: .*description/],
  // Never "everything" by accident.
  ["tools that are none", head("tools:\n  Bash: true\n"), /x.md: .*tools/],
  ["an unknown profile", head("launchProfile: root\n"), /x.md: .*launchProfile/],
])("refused: %s", (_, text, message) => expect(() => parseDefinition(text, "x.md")).toThrow(message));

test("the built-in reflection names exactly its tools", async () => {
  const text = await Bun.file(join(import.meta.dir, "../../agents/reflection.md")).text();
  const { prompt, ...definition } = parseDefinition(text, "reflection.md");
  const { prompt: _, ...defaults } = DEFAULTS;
  expect(definition).toEqual({
    ...defaults,
    name: "reflection",
    description: expect.any(String),
    tools: ["Bash", "Read", "Write", "Edit"],
    launchProfile: "memory-subagent",
  });
  expect(prompt).toContain("Your tools are exactly `Bash`, `Read`, `Write` and `Edit`.");
  // It leaves most of the budget of a start to the memory.
  expect(prompt.length).toBeLessThan(10_000);
});
