import { expect, test } from "bun:test";
import { parseReflect } from "@/frontends/repl/commands/reflect.ts";
import { describeChoice, parseChange } from "@/frontends/repl/commands/sleeptime.ts";
import { REFLECTION_DEFAULTS } from "@/memory/reflection/settings.ts";

const here = { ref: { agentId: "a", conversationId: "here" } };

test.each([
  ["", { from: { conversations: ["here"] } }],
  ["--auto", { from: { auto: true, current: "here" } }],
  ["--recent 3 --instruction names of people", { from: { recent: 3 }, instruction: "names of people" }],
  ["--conversation c1 c2", { from: { conversations: ["c1", "c2"], reason: "named" } }],
  [
    "--conversation c1 --conversation c2 -- what -- went wrong",
    { from: { conversations: ["c1", "c2"], reason: "named" }, instruction: "what -- went wrong" },
  ],
  ["-- tea", { from: { conversations: ["here"] }, instruction: "tea" }],
  ["--instruction=tea", { from: { conversations: ["here"] }, instruction: "tea" }],
] as const)("/reflect %s", (args, expected) => expect(parseReflect(args, here)).toEqual(expected as never));

test.each(["tea", "--recent", "--recent x", "--auto now", "--conversation", "--instruction", "--yesterday"])(
  "/reflect %s is refused",
  (args) => expect(() => parseReflect(args, here)).toThrow(/^Usage: \/reflect/),
);

test.each([
  ["off", { trigger: "off" }, "it looks back only when asked (/reflect)"],
  [
    "40 review",
    { trigger: "step-count", stepCount: 40, merge: "review" },
    "it looks back after 40 replies, and you decide about the result (/dreams)",
  ],
  [
    "compaction explicit",
    { trigger: "compaction-event", merge: "explicit" },
    "it looks back after a compaction, and the agent itself looks at the result first",
  ],
] as const)("/sleeptime %s", (args, change, text) => {
  expect(parseChange(args.split(" "))).toEqual(change);
  expect(describeChoice({ ...REFLECTION_DEFAULTS, ...change })).toBe(text);
});

test("/sleeptime refuses what it does not know", () => expect(() => parseChange(["0"])).toThrow(/not "0"/));
