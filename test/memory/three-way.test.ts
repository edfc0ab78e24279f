import { describe, expect, test } from "bun:test";
import { mergeMemoryFile } from "@/memory/merge-markdown.ts";
import {
  assertDecisionsMeet,
  conflictText,
  type Decisions,
  describeConflict,
  findConflictMarker,
  resolverOf,
} from "@/memory/three-way.ts";
import { type MergeSides, mergeTrees } from "@/store/git/merge-trees.ts";
import type { MergeConflict } from "@/store/git/types.ts";
import { memoryObjects } from "../support/memory-objects.ts";

const objects = memoryObjects();
const labels = { ours: "this machine", theirs: "remote" };

async function sides(base: string, ours: string, theirs: string): Promise<MergeSides> {
  const tree = (human: string): Promise<string> => objects.tree({ "system/human.md": human, "notes.md": "n\n" });
  return { base: await tree(base), ours: await tree(ours), theirs: await tree(theirs) };
}

async function conflictsOf(trees: MergeSides): Promise<MergeConflict[]> {
  const outcome = await mergeTrees(objects, trees, mergeMemoryFile);
  if (outcome.status === "merged") throw new Error("no conflict");
  return outcome.conflicts;
}

test("an editor gets the whole file, the dispute between markers with what was there before", async () => {
  const trees = await sides("a\r\nold\r\nz\r\n", "a\r\nthis\r\nz\r\n", "a\r\nthat\r\nz\r\n");
  const [conflict] = await conflictsOf(trees);
  expect(describeConflict(conflict!)).toBe("system/human.md: both sides changed the same lines");
  const text = await conflictText(objects, conflict!, labels);
  expect(Buffer.from(text!).toString().split("\r\n")).toEqual([
    ...["a", "<<<<<<< this machine", "this", "||||||| before", "old", "=======", "that", ">>>>>>> remote", "z", ""],
  ]);
  expect(findConflictMarker(text!)).toBe(2);
});

describe("the merge with decisions", () => {
  test.each<[string, Decisions, string]>([
    ["one file", { files: new Map([["system/human.md", { take: "theirs" as const }]]) }, "that\n"],
    ["the rest", { files: new Map(), rest: "ours" }, "this\n"],
    [
      "a file's own text before the rest",
      { files: new Map([["system/human.md", { content: Buffer.from("both\n") }]]), rest: "ours" },
      "both\n",
    ],
  ])("%s", async (_, decisions, human) => {
    const trees = await sides("old\n", "this\n", "that\n");
    assertDecisionsMeet(await conflictsOf(trees), decisions);
    const outcome = await mergeTrees(objects, trees, mergeMemoryFile, resolverOf(decisions));
    if (outcome.status === "conflict") throw new Error("still a conflict");
    expect(await objects.files(outcome.tree)).toEqual({ "system/human.md": human, "notes.md": "n\n" });
  });

  test("a decision about a file without a conflict is a mistake, and says where the conflicts are", async () => {
    const conflicts = await conflictsOf(await sides("old\n", "this\n", "that\n"));
    expect(() => assertDecisionsMeet(conflicts, { files: new Map([["human.md", { take: "ours" }]]) })).toThrow(
      expect.objectContaining({ code: "not_found", hint: "There are conflicts in: system/human.md." }),
    );
  });
});

test.each<[string, number | null]>([
  ["a\n>>>>>>> remote\n", 2],
  ["a\n||||||| before\n", 2],
  ["Heading\n=======\n<<<<<<<< eight\n", null],
])("the markers left in %j: %p", (text, line) => {
  expect(findConflictMarker(Buffer.from(text))).toBe(line);
});

test("what is no text has no markers", async () => {
  const [conflict] = await conflictsOf(await sides("\0a", "\0b", "\0c"));
  expect(conflict!.kind).toBe("binary");
  expect(await conflictText(objects, conflict!, labels)).toBeNull();
});
