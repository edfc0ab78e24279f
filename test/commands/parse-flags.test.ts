import { expect, test } from "bun:test";
import { checkConflicts, parseGlobalFlags } from "@/commands/parse-flags.ts";
import { LettaError } from "@/lib/errors.ts";

function failure(run: () => unknown): { message: string; hint?: string } {
  try {
    run();
  } catch (error) {
    if (error instanceof LettaError && error.code === "usage") return { message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error("nothing was thrown");
}

test.each([
  [["-p", "hello", "world"], { prompt: true }, ["hello", "world"]],
  [["hello", "-p"], { prompt: true }, ["hello"]],
  [["-pm", "a/b", "x"], { prompt: true, model: "a/b" }, ["x"]],
  [["-ma/b"], { model: "a/b" }, []],
  [["-m=a/b"], { model: "a/b" }, []],
  [["--model=a=b"], { model: "a=b" }, []],
  [["--model", "a", "--model", "b"], { model: "b" }, []],
  [["--conv", "c1"], { conversation: "c1" }, []],
  [["--conv=c1"], { conversation: "c1" }, []],
  [["--run", "x"], { prompt: true }, ["x"]],
  [["--permission-mode", "bypassPermissions"], { "permission-mode": "unrestricted" }, []],
  [["--allowedTools", "Bash(git diff:*),Read(a,b)"], { allowedTools: ["Bash(git diff:*)", "Read(a,b)"] }, []],
  [["--tools", ""], { tools: [] }, []],
  [["--file", "a", "--file", "b"], { file: ["a", "b"] }, []],
  [["--timeout", "1h30m"], { timeout: 5_400_000 }, []],
  [["--max-cost", "$0.50"], { "max-cost": 0.5 }, []],
  [["-p", "--", "--help", "-x"], { prompt: true }, ["--help", "-x"]],
  [["-p", "- a list", "--verbose is broken", "-"], { prompt: true }, ["- a list", "--verbose is broken", "-"]],
  [
    ["--no-skills", "--no-extensions", "--memfs", "--memfs-startup", "blocking"],
    { "no-skills": true, "no-mods": true, memfs: true, "memfs-startup": "blocking" },
    [],
  ],
  [["--new-agent", "--personality", "letta-code"], { "new-agent": true, personality: "memo" }, []],
] as const)("%j", (argv, flags, positionals) => {
  expect(parseGlobalFlags([...argv])).toEqual({ flags, positionals: [...positionals] } as never);
});

test.each([
  [["--modle", "x"], "unknown option --modle", /Did you mean --model\?/],
  [["--outputformat=json"], "unknown option --outputformat", /--output-format/],
  [["-model", "x"], "unknown option -model", /two dashes: --model/],
  [["-X"], "unknown option -X", /letta --help/],
  [["-pX"], "unknown option -pX", undefined],
  [["--model"], "--model needs a value", undefined],
  [["--model", "--yolo"], "--model needs a value, but --yolo follows", /--model=--yolo/],
  [["--yolo=1"], "--yolo takes no value", undefined],
  [["--max-turns", "0"], '--max-turns needs a whole number of 1 or more, not "0"', undefined],
  [["--max-turns", "1e3"], '--max-turns needs a whole number of 1 or more, not "1e3"', undefined],
  [["--max-cost", "-1"], '--max-cost needs a number above 0, not "-1"', undefined],
  [["--timeout", "soon"], '--timeout needs a time such as 90s, 10m or 1h30m, not "soon"', undefined],
  [["--output-format", "yaml"], '--output-format must be one of text, json, stream-json, not "yaml"', undefined],
  [
    ["--output-format", "jsn"],
    '--output-format must be one of text, json, stream-json, not "jsn"',
    /Did you mean json\?/,
  ],
  [
    ["--reflection-trigger", "daily"],
    '--reflection-trigger must be one of off, step-count, compaction-event, not "daily"',
    undefined,
  ],
  [
    ["--personality", "linux"],
    '--personality must be one of memo, tutorial, blank, linus, kawaii, not "linux"',
    /Did you mean linus\?/,
  ],
  [["--agent", " "], "--agent needs a value that is not empty", undefined],
] as const)("%j is refused", (argv, message, hint) => {
  const error = failure(() => parseGlobalFlags([...argv]));
  expect(error.message).toBe(message);
  if (hint) expect(error.hint).toMatch(hint);
});

test.each([
  [
    ["--conv", "c1", "--agent", "a1"],
    "headless",
    "--conversation does not go with --agent: a conversation has only one agent",
  ],
  [["--conv", "default"], "headless", "--conv default needs --agent"],
  [["--conv", "agent-1", "--agent", "agent-2"], "headless", "--conv agent-1 does not go with --agent agent-2"],
  [["--ephemeral", "--name", "x"], "headless", "--ephemeral does not go with --name"],
  [["--new", "--resume"], "interactive", "--new does not go with --resume"],
  [["--resume"], "headless", "--resume needs a terminal and does not go with -p"],
  [["--max-turns", "3"], "interactive", "--max-turns works only with -p"],
  [["--continue"], "interactive", "--continue works only with -p"],
  [["--continue", "--new"], "headless", "--continue does not go with --new"],
  [["--name", "a", "--agent", "b"], "headless", "--name does not go with --agent"],
  [["--save"], "headless", "--save needs --model or --system or --system-custom"],
  [["--stdin", "--no-stdin"], "headless", "--stdin does not go with --no-stdin"],
  [["--record", "a", "--replay", "b"], "headless", "--record does not go with --replay"],
] as const)("%j in %s mode is refused", (argv, mode, message) => {
  expect(failure(() => checkConflicts(parseGlobalFlags([...argv]).flags, mode)).message).toBe(message);
});

test.each([
  [["--conv", "default", "--agent", "agent-1"]],
  [["--conv", "default", "--new-agent"]],
  [["--conv", "agent-1", "--agent", "agent-1"]],
  [["--agent", "agent-1", "--new"]],
  [["--model", "a/b", "--save"]],
])("%j goes together", (argv) => {
  expect(() => checkConflicts(parseGlobalFlags(argv).flags, "headless")).not.toThrow();
});

test("rules are checked before anything is opened", () => {
  const { flags } = parseGlobalFlags(["--allowedTools", "Bash(git diff:*), Edit(src/**)", "--disallowedTools=Bash"]);
  expect(flags).toEqual({ allowedTools: ["Bash(git diff:*)", "Edit(src/**)"], disallowedTools: ["Bash(:*)"] });
  expect(() => parseGlobalFlags(["--disallowedTools", "Bash(rm"])).toThrow("not a permission rule: Bash(rm");
});
