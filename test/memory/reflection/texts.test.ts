import { expect, test } from "bun:test";
import { STARTUP_TOKENS } from "@/memory/reflection/limits.ts";
import { findDamage, measureLoss } from "@/memory/reflection/loss.ts";
import { type DreamPrompt, renderDreamPrompt, renderSnapshot } from "@/memory/reflection/prompt.ts";
import { commitMessage, mergeMessage, parseReport } from "@/memory/reflection/report.ts";
import { scratchReason } from "@/memory/reflection/scratch.ts";

const prompt: DreamPrompt = {
  transcriptPath: "/t/payload.json",
  memoryDir: "/m",
  isManifest: false,
  tree: "/memory/\n└── notes.md (what was noted)",
  system: [{ path: "system/human.md", content: "---\ndescription: who\n---\nAnn\n" }],
};
const tokens = (persona: string, text: string) => Math.ceil(`${persona}\n${text}`.length / 4);

test("the first message names places, wish and earlier attempt, and shows the memory", () => {
  const text = renderDreamPrompt("persona", {
    ...prompt,
    isManifest: true,
    instruction: "names of people",
    earlier: { id: "20260504-x", reason: "both sides changed system/human.md", summary: "Ann likes tea", diff: "+tea" },
  });
  expect(text).toBe(`Look back on a manifest of several conversations and update the memory.

Transcript: /t/payload.json (in the shell: $TRANSCRIPT_PATH)
Memory: /m (in the shell: $MEMORY_DIR)

The person asked for this reflection and wants you to attend to the following first:
<focus>
names of people
</focus>

An earlier reflection on this (20260504-x) did not reach the memory: both sides changed system/human.md. What it wanted to change is below. Keep what is still right, on top of the memory as it is now, and avoid what stopped it.
<earlier_attempt>
Ann likes tea

+tea
</earlier_attempt>

<parent_memory>
<memory_filesystem>
/memory/
└── notes.md (what was noted)
</memory_filesystem>
<memory>
<path>$MEMORY_DIR/system/human.md</path>
---
description: who
---
Ann
</memory>
</parent_memory>
`);
});

test("the budget of a start is kept step by step, and the persona is never cut", () => {
  const big = { ...prompt, system: [{ path: "system/a.md", content: "a".repeat(39_000) }] };
  const whole = renderDreamPrompt("p".repeat(4_000), big);
  expect(whole).toContain("a".repeat(39_000));
  const onlyTree = renderDreamPrompt("p".repeat(40_000), big);
  expect(onlyTree).toContain("notes.md (what was noted)");
  expect(onlyTree).not.toContain("aaaa");
  const onlyNotice = renderDreamPrompt("p".repeat(50_000), { ...big, tree: "t".repeat(15_000) });
  expect(onlyNotice).toContain("<parent_memory>\nWhat you see of the memory was shortened");
  expect(onlyNotice).not.toContain("tttt");
  const persona = "p".repeat(50_000);
  const cut = renderDreamPrompt(persona, { ...big, instruction: "i".repeat(30_000) });
  expect(cut).not.toContain("<parent_memory>");
  expect(cut).toEndWith("Read the files below $MEMORY_DIR yourself before you change anything.\n");
  for (const [length, text] of [
    [4_000, whole],
    [40_000, onlyTree],
    [50_000, onlyNotice],
    [50_000, cut],
  ] as const) {
    expect(tokens("p".repeat(length), text)).toBeLessThanOrEqual(STARTUP_TOKENS);
  }
});

test("files that do not fit are cut, left out, then counted", () => {
  const file = (name: string, length: number) => ({ path: `system/${name}.md`, content: name.repeat(length) });
  const text = renderSnapshot(
    "tree",
    [file("a", 2_000), file("b", 3_000), file("c", 2_000), file("d", 900), file("e", 9)],
    4_000,
  );
  expect(text.length).toBeLessThan(4_100);
  expect(text).toContain("a".repeat(2_000));
  expect(text).toMatch(/b{1000,2000}\n\[cut here, 3,000 characters in all: read the file\]/);
  expect(text).not.toContain("cc");
  expect(text).toMatch(/\[\d more files? under \$MEMORY_DIR\/system\]|\[left out: read the file\]/);
});

test.each([
  ["feat: Ann prefers tea\n\nSummary: x", { type: "feat", subject: "Ann prefers tea", body: "Summary: x" }],
  [
    "Done.\n```\nfix(reflection): wrong port.\nSummary: 5432\n```",
    { type: "fix", subject: "wrong port", body: "Summary: 5432" },
  ],
  ["**chore: tidy 🔮", { type: "chore", subject: "tidy", body: "" }],
  ["I looked and found nothing.", { type: "chore", subject: "update memory", body: "I looked and found nothing." }],
  [null, { type: "chore", subject: "update memory", body: "" }],
  [`feat: ${"long ".repeat(40)}`, { type: "feat", subject: `${"long ".repeat(10)}…`, body: "" }],
] as const)("report %p", (text, expected) => expect(parseReport(text)).toEqual(expected));

test("the commit says what was looked back on, and cannot be made to lie about its origin", () => {
  const report = parseReport("fix: the port is 5433\nSummary: moved\nAgent-ID: somebody-else");
  const message = commitMessage(report, {
    dreamId: "20260504-1",
    parentAgentId: "agent-1",
    reviewed: ["conversation conv-1, m1 to m9"],
    notes: ["left out dump.bin: 2.0 MB is too large for a memory"],
  });
  expect(message).toBe(`fix(reflection): the port is 5433 🔮

Reviewed: conversation conv-1, m1 to m9

Summary: moved
> Agent-ID: somebody-else

Note: left out dump.bin: 2.0 MB is too large for a memory

Generated-By: Letta Code
Parent-Agent-ID: agent-1
Reflection-ID: 20260504-1
`);
  expect(mergeMessage(message, { dreamId: "20260504-1", parentAgentId: "agent-1" })).toStartWith(
    "merge(reflection): the port is 5433 🔮\n\nGenerated-By",
  );
  expect(mergeMessage("fix!: \n", { dreamId: "d", parentAgentId: "a" })).toStartWith(
    "merge(reflection): reflection memory updates\n",
  );
});

test.each([
  ["system/human.md", 100, null],
  ["notes.MD", 100, null],
  ["skills/pdf/extract.py", 100, null],
  ["memory/skills/pdf/data.json", 100, null],
  ["reference/assets/logo.png", 100, null],
  ["dump.json", 100, "neither Markdown nor part of skills/ or assets/"],
  ["system/.tmp/x.md", 100, "scratch by its name"],
  ["system/human.md.orig", 100, "scratch by its name"],
  ["system/.human.md.swp", 100, "scratch by its name"],
  ["system/human.md", 2 * 1024 * 1024, "2.0 MB is too large for a memory"],
  ["skills/x/model.bin", 2 * 1024 * 1024, "2.0 MB is too large for a memory"],
] as const)("%s of %d bytes: %s", (path, bytes, expected) => expect(scratchReason(path, bytes)).toBe(expected));

const lines = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name} fact number ${i}`).join("\n");
const before = [
  { path: "system/persona.md", text: "I am Letta, and I remember." },
  { path: "system/human.md", text: lines("human", 40) },
  { path: "system/rules.md", text: lines("rule", 40) },
  { path: "reference/build.md", text: lines("build", 70) },
];
const rules = { persona: "system/persona.md", readOnly: ["system/rules.md"], bodyOf: (text: string) => text };
const after = (changes: Record<string, string | null>) =>
  [
    ...before,
    ...Object.keys(changes)
      .filter((path) => !before.some((file) => file.path === path))
      .map((path) => ({ path, text: "" })),
  ].flatMap(({ path, text }) => {
    const change = changes[path];
    return change === null ? [] : [{ path, text: change ?? text }];
  });

test.each([
  ["nothing changed", {}, []],
  ["a sentence corrected", { "system/human.md": lines("human", 39) }, []],
  ["moved to another tier", { "system/human.md": null, "reference/human.md": lines("human", 40) }, []],
  ["as another list", { "system/human.md": lines("human", 40).replace(/^/gm, "  * ") }, []],
  [
    "half deleted",
    { "system/human.md": null, "reference/build.md": null },
    [
      "50 % of the text of system/ would be gone",
      "2 of 4 files of the memory would be gone",
      "67 % of the text of the memory would be gone",
    ],
  ],
  [
    "overwritten with as much of something else",
    { "system/human.md": lines("nonsense", 80) },
    ["49 % of the text of system/ would be gone"],
  ],
  ["persona deleted", { "system/persona.md": null }, ["system/persona.md would be empty"]],
  ["persona emptied", { "system/persona.md": "\n" }, ["system/persona.md would be empty"]],
  [
    "read-only changed",
    { "system/rules.md": `${lines("rule", 40)}\nx` },
    ["system/rules.md is read-only and would change"],
  ],
] as const)("damage: %s", (_, changes, expected) => {
  const found = findDamage(before, after(changes), rules);
  expect(found.map((reason) => reason.replace(/^\d+ %/, "N %"))).toEqual(
    expected.map((reason) => reason.replace(/^\d+ %/, "N %")),
  );
});

test("a small memory may be rewritten, and a line that was there twice and is there once is lost once", () => {
  expect(
    findDamage([{ path: "system/human.md", text: "unknown" }], [{ path: "system/human.md", text: "Ann" }], {
      ...rules,
      readOnly: [],
    }),
  ).toEqual([]);
  const twice = [{ path: "a.md", text: "same\nsame" }];
  expect(measureLoss(twice, [{ path: "a.md", text: "same" }])).toEqual([
    { path: "a.md", bytes: 10, lost: 5, isMissing: false },
  ]);
});
