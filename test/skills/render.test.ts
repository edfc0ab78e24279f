import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderSkill, wrapSkill } from "@/skills/render.ts";
import { type TempDir, tempDir } from "../support/binary.ts";

let dir: TempDir;
beforeEach(() => {
  dir = tempDir();
});
afterEach(() => dir[Symbol.dispose]());

const HEAD = "---\nname: fix\n---\n";

function render(body: string, args = "", argumentHint: string | null = null) {
  const { text, unusedArgs } = renderSkill({ id: "fix", folder: dir.path, argumentHint }, HEAD + body, args);
  return { body: text.slice(`<fix>\n${HEAD}`.length, -"</fix>".length).trimEnd(), unusedArgs };
}

test.each([
  ["the whole line", "Fix $ARGUMENTS now", "issue 42", "Fix issue 42 now", ""],
  ["words", "Move $1 to $2, not $3.", `"a b" c`, "Move a b to c, not .", ""],
  ["what is filled in is not looked at again", "Say $ARGUMENTS", "$1 and $ARGUMENTS", "Say $1 and $ARGUMENTS", ""],
  ["no place for them", "Fix it", " issue 42 ", "Fix it", "issue 42"],
  ["none given", "Fix $ARGUMENTS", "", "Fix", ""],
  ["not a word of ours", "Cost: $12 and $ARGUMENTSX", "x", "Cost: $12 and $ARGUMENTSX", "x"],
  ["a dollar in code is a dollar", "Run `awk '{print $1}'` on $1", "f.txt", "Run `awk '{print $1}'` on f.txt", ""],
  ["nor in a fence", "```sh\necho $1\n```", "x", "```sh\necho $1\n```", "x"],
  [
    "a backslash keeps one as it stands",
    "Write \\$ARGUMENTS or \\$1, not $1; `\\$2`",
    "x",
    "Write $ARGUMENTS or $1, not x; `\\$2`",
    "",
  ],
  ["prose stays as it is without arguments", "Give it $1", "", "Give it $1", ""],
])("arguments: %s", (_, body, args, expected, unused) => {
  expect(render(body, args)).toEqual({ body: expected, unusedArgs: unused });
});

test("a skill that names its arguments means them everywhere", () => {
  expect(render("```sh\necho $1\n```", "x", "[word]").body).toBe("```sh\necho x\n```");
  expect(render("Run `f $1`.", "", "[word]").body).toBe("Run `f `.");
});

test("a backslash keeps the folder's place as it stands", () => {
  expect(render("\\<SKILL_DIR>/a is <SKILL_DIR>/a").body).toBe(`<SKILL_DIR>/a is ${dir.path}/a`);
});

test("its folder is filled in, and named when there is more in it", () => {
  expect(render("<SKILL_DIR>/a and $" + "{CLAUDE_SKILL_DIR}/b").body).toBe(`${dir.path}/a and ${dir.path}/b`);
  writeFileSync(join(dir.path, "SKILL.md"), "");
  expect(render("Body").body).toBe("Body");
  writeFileSync(join(dir.path, "helper.ts"), "");
  const { text } = renderSkill({ id: "fix", folder: dir.path, argumentHint: null }, `${HEAD}Body\n`, "");
  expect(text).toBe(`<fix>\n# Skill Directory: ${dir.path}\n\n${HEAD}Body\n</fix>`);
});

test.each([
  ["deploy", "<deploy>\nx\n</deploy>"],
  ["web.2_a-b", "<web.2_a-b>\nx\n</web.2_a-b>"],
  ["web/scraper", '<skill name="web/scraper">\nx\n</skill>'],
  ["2fa", '<skill name="2fa">\nx\n</skill>'],
  ['a"<b>&', '<skill name="a&quot;&lt;b&gt;&amp;">\nx\n</skill>'],
])("the tag of %s", (id, expected) => expect(wrapSkill(id, "x")).toBe(expected));
