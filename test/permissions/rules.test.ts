import { expect, test } from "bun:test";
import { expandBraces, matchPath } from "@/permissions/glob.ts";
import { formatRule, parseMode, parseRule, parseRuleList } from "@/permissions/rules.ts";

test.each([
  ["Bash", "Bash"],
  ["Bash()", "Bash"],
  ["shell(npm test)", "Bash(npm test)"],
  [" run_shell_command( ls ) ", "Bash(ls)"],
  ["Bash(echo (a) b)", "Bash(echo (a) b)"],
  ["Bash(a\nb)", "Bash(a\nb)"],
  ["MultiEdit(src/**)", "Edit(src/**)"],
  ["apply_patch(x)", "Edit(x)"],
  ["LS(x)", "ListDir(x)"],
  ["agent(recall)", "Task(recall)"],
  ["mcp__srv__*", "mcp__srv__*"],
  ["TodoWrite", "TodoWrite"],
])("%j is %s", (text, expected) => expect(formatRule(parseRule(text)!)).toBe(expected));

test.each(["", "(x)", "Bash(", "Bash)", "a b", "Bash(x) y"])("%j is no rule", (text) =>
  expect(parseRule(text)).toBeNull(),
);

test.each([
  ["Bash(git diff:*),Read(src/**)", ["Bash(git diff:*)", "Read(src/**)"]],
  ["Bash, Read ,WebFetch", ["Bash(:*)", "Read(**)", "WebFetch"]],
  ["Bash(echo a,b),Bash(x (y,z))", ["Bash(echo a,b)", "Bash(x (y,z))"]],
  ["", []],
  [" , ", []],
])("the list %j", (text, expected) => expect(parseRuleList(text)).toEqual(expected));

test("a list names the entry that is wrong", () =>
  expect(() => parseRuleList("Bash,Read(")).toThrow("not a permission rule: Read("));

test.each([
  ["default", "standard"],
  ["bypassPermissions", "unrestricted"],
  ["fullAccess", "unrestricted"],
  ["plan", "plan"],
])("mode %s is %s", (text, mode) => expect(String(parseMode(text))).toBe(mode));

test("an unknown mode lists the known ones", () => {
  expect(() => parseMode("yolo")).toThrow(
    expect.objectContaining({ code: "usage", hint: "Modes: standard, acceptEdits, strict, plan, unrestricted" }),
  );
});

test.each([
  ["/a/*.ts", "/a/b.ts", true],
  ["/a/*.ts", "/a/.b.ts", true],
  ["/a/*.ts", "/a/b/c.ts", false],
  ["/a/**/c.ts", "/a/c.ts", true],
  ["/a/**/c.ts", "/a/b/d/c.ts", true],
  ["/a/**", "/a/b", true],
  ["/a/**", "/a", false],
  ["/a", "/a/b/c", true],
  ["/a", "/ab", false],
  ["/**/.env", "/x/y/.env", true],
  ["/a/?", "/a/bb", false],
  ["/a/[a-c]x", "/a/bx", true],
  ["/a/[!a-c]x", "/a/bx", false],
  ["/a/[x", "/a/[x", true],
  ["/a/\\*", "/a/*", true],
  ["/a/\\*", "/a/b", false],
  ["/a/b*d*", "/a/bcdcd", true],
] as const)("%s matches %s: %p", (pattern, path, expected) => expect(matchPath(pattern, path)).toBe(expected));

test("braces are written out, within reason", () => {
  expect(expandBraces("a{b,c}{d,e}")?.sort()).toEqual(["abd", "abe", "acd", "ace"]);
  expect(expandBraces("{a,b}".repeat(8))).toBeNull();
});

test("a pattern made to be slow is not", () => {
  const pattern = `/${"a*".repeat(500)}b`;
  expect(matchPath(pattern, `/${"a".repeat(4_000)}`)).toBe(false);
  expect(matchPath("/**".repeat(200), `/${"a/".repeat(2_000)}`)).toBe(true);
});
