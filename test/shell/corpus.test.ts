import { afterAll, beforeAll, expect, test } from "bun:test";
import { brief, type PermissionWorld, worldPool } from "../support/permission-world.ts";
import { CORPUS_FILES, furnish, placeNames, readCorpus, readEveryday } from "../support/shell-corpus.ts";

const worlds = worldPool();
afterAll(worlds.dispose);
let world: PermissionWorld;
beforeAll(async () => {
  world = await worlds.make({ files: CORPUS_FILES });
  furnish(world);
});

test.each(readCorpus().map((line) => [line.expected, line.command, line.why, line] as const))(
  "%s: %j (%s)",
  async (expected, command, _, { rules }) => {
    const { shell } = await world.reopen({
      allowedTools: rules.filter(({ effect }) => effect === "allow").map(({ rule }) => rule),
      disallowedTools: rules.filter(({ effect }) => effect === "deny").map(({ rule }) => rule),
    });
    expect(brief(await shell(placeNames(command, world)))).toBe(expected);
  },
);

test.each(readEveryday().map(({ expected, command, why }) => [expected, command, why] as const))(
  "every day: %s: %j (%s)",
  async (expected, command) => expect(brief(await world.shell(placeNames(command, world)))).toBe(expected),
);

test("nearly all harmless commands of every day pass without a question", () => {
  const lines = readEveryday();
  const allowed = lines.filter(({ expected }) => expected === "allow");
  expect(lines.length).toBeGreaterThanOrEqual(200);
  expect(allowed.length / lines.length).toBeGreaterThanOrEqual(0.95);
});

test.each([
  ["a long line", "ls ".repeat(34_000)],
  ["parentheses", "(".repeat(10_000) + ")".repeat(10_000)],
  ["substitutions", "$(".repeat(8_000)],
  ["substitutions in quotes", '"$('.repeat(5_000)],
  ["backquotes", "`".repeat(16_000)],
  ["braces", "$\u007b".repeat(8_000)],
  ["arithmetic", "$((".repeat(5_000)],
  ["NULs", "ls \u0000".repeat(20_000)],
  ["lone surrogates", "\ud800".repeat(50_000)],
  ["wrappers", "sudo ".repeat(20_000)],
  ["short wrappers", "sudo ".repeat(3_200)],
  ["shells", "bash -c 'bash -c ".repeat(900)],
  ["actions of find", `find ${"-exec a ".repeat(2_000)}`],
  ["here-documents", "cat <<a\n".repeat(2_000)],
  ["redirects", ">a".repeat(8_000)],
  ["globs", "cat ".concat("*?".repeat(8_000))],
  ["many globs", "cat ".concat("*/* ".repeat(4_000))],
  ["functions", "f()".repeat(5_000)],
  ["words", "cat ".concat("a/b ".repeat(4_000))],
  ["many words", "touch ".concat("a/b ".repeat(25_000))],
  ["arrays", "a=(".repeat(5_000)],
  ["quotes", "'a'\"b\"".repeat(16_000)],
  ["evaluations", "eval '".repeat(2_500)],
  ["evaluations without quotes", "eval ".repeat(20_000)],
  ["evaluations that fit", "eval ".repeat(3_200)],
  ["one long word", "a".repeat(100_000)],
  ["one long word of dots", "user.".repeat(3_200)],
  ["revisions", `git show ${"a..".repeat(5_000)}`],
  ["revisions in braces", `git show ${"a@{1}".repeat(3_000)}`],
  ["beginnings of fork bombs", ":(){".repeat(4_000)],
  ["expansions of braces", `echo ${"{a,b}".repeat(3_000)}`],
  ["arithmetic", "$((1+".repeat(3_000)],
  ["cases", "case a in a) ".repeat(1_200)],
  ["assignments", "A=1 ".repeat(10_000)],
  ["arrays in subscripts", "A[1]=2 ".repeat(2_000)],
  ["definitions", "f() { a; }; ".repeat(1_300)],
  ["aliases", "alias a=b; ".repeat(1_400)],
  ["continued lines", "\\\n".repeat(8_000)],
  ["continued words", "a \\\n".repeat(4_000)],
  ["here-strings", "a <<< b\n".repeat(2_000)],
  ["process substitutions", "<(".repeat(8_000)],
  ["letters with marks", "cat ".concat("e\u0301/".repeat(5_000))],
] as const)("hostile input: %s", async (_, command) => {
  const { shell } = await world.reopen({ disallowedTools: ["Bash(rm:*)", "Read(.env)", "Edit(secret/**)"] });
  const verdict = await shell(command);
  // The whole trace, too, is worked out without an exception.
  expect(verdict.trace.length).toBeGreaterThan(0);
});
