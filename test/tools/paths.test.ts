import { expect, test } from "bun:test";
import { displayPath, escapeControls, relativePath, resolveToolPath } from "@/tools/paths.ts";

const place = { cwd: "/w/project", home: "/home/u", env: { VAR: "/var/x", EMPTY: "", HOME: "/home/u" } };

test.each([
  ["a.ts", "/w/project/a.ts"],
  ["./a/../b.ts", "/w/project/b.ts"],
  ["../../etc/passwd", "/etc/passwd"],
  ["/abs//x/./y/", "/abs/x/y"],
  ["~", "/home/u"],
  ["~/.ssh/id", "/home/u/.ssh/id"],
  ["~other/x", "/w/project/~other/x"],
  ["a/~/b", "/w/project/a/~/b"],
  ["$VAR/y", "/var/x/y"],
  [`$${"{VAR}"}y`, "/var/xy"],
  ["$HOME/.letta", "/home/u/.letta"],
  ["$UNKNOWN/x", "/w/project/$UNKNOWN/x"],
  ["a$", "/w/project/a$"],
  ["-rf", "/w/project/-rf"],
  [" space ", "/w/project/ space "],
  ["", "/w/project"],
])("%p is %p", (path, resolved) => expect(resolveToolPath(path, place)).toBe(resolved));

test("a NUL is refused", () => expect(() => resolveToolPath("a\0b", place)).toThrow("NUL"));

test.each([
  ["/w/project/src/a.ts", "src/a.ts", "src/a.ts"],
  ["/w/project", ".", "."],
  ["src/a.ts", "src/a.ts", "src/a.ts"],
  ["/w/project2/a", "/w/project2/a", "/w/project2/a"],
  ["/home/u/notes", "/home/u/notes", "~/notes"],
  ["/w/project/new\nline\x1b[0m", "new\\nline\\x1b[0m", "new\\nline\\x1b[0m"],
])("%p is shown as %p and %p", (path, relative, display) => {
  expect(relativePath(path, "/w/project")).toBe(relative);
  expect(displayPath(path, "/w/project", "/home/u")).toBe(display);
});

test("control characters are spelled out", () => expect(escapeControls("a\tb\r\x7f")).toBe("a\\tb\\x0d\\x7f"));
