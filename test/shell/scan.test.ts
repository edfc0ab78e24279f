import { expect, test } from "bun:test";
import { parseShell } from "@/shell/parser.ts";
import { scanShell } from "@/shell/scan.ts";

test.each([
  ["sudo rm x", "rm x"],
  ["env -u A B=1 rm x", "rm x"],
  ["timeout 5 bash -c 'rm x'", "rm x"],
  ["bash -lc 'cd y && rm x'", "rm x"],
  ["echo $(rm x)", "rm x"],
  ["echo `rm x`", "rm x"],
  [`echo "$(rm x)"`, "rm x"],
  ["(rm x)", "rm x"],
  ["if true; then rm x; fi", "rm x"],
  ["ls & rm x", "rm x"],
  ["ls\nrm x", "rm x"],
  ["\\rm x", "rm x"],
  ["r'm' x", "rm x"],
  ["A=1 rm x", "rm x"],
  ["find . -exec rm x ';'", "rm x"],
  ["find . | xargs -n 1 rm x", "rm x"],
  ["busybox rm x", "rm x"],
  ["nohup nice -n 5 rm x", "rm x"],
  ["eval 'rm x'", "rm x"],
  ["f() { rm x; }", "rm x"],
  ["function f { rm x; }; f", "rm x"],
  ["case a in b) rm x;; esac", "rm x"],
  ["for i in $(rm x); do ls; done", "rm x"],
  ["while read l; do rm x; done < f", "rm x"],
  ['echo "$\u007ba:-$(rm x)}"', "rm x"],
  ["echo $((1 + $(rm x)))", "rm x"],
  ["diff <(rm x) b", "rm x"],
  ["a=(1 $(rm x))", "rm x"],
  ["a[$(rm x)]=1", "rm x"],
  ["cat <<EOF\n$(rm x)\nEOF", "rm x"],
  ["cat <<'EOF' | sh\nrm x\nEOF", "rm x"],
  ["bash <<< 'rm x'", "rm x"],
  ["echo 'rm x' | sh", "rm x"],
  ['ls > "$(rm x)"', "rm x"],
  ["coproc rm x", "rm x"],
  ["trap 'rm x' EXIT", "rm x"],
  ["sudo bash -c \"bash -c 'rm x'\"", "rm x"],
  ["$'\\x72m' x", "rm x"],
  ["time rm x", "rm x"],
  ["! rm x", "rm x"],
  ["echo 'open; rm x", "echo open; rm x"],
])("%s may run %s", (command, inner) => {
  const found = scanShell(command, parseShell(command)).commands.map(({ argv }) => argv.join(" "));
  expect(found.some((text) => text === inner || text.startsWith(`${inner} `))).toBe(true);
});

test("targets of redirects are seen in any spelling", () => {
  const writes = (command: string) => scanShell(command, parseShell(command)).commands.flatMap((loose) => loose.writes);
  expect(writes("echo x > a")).toEqual(["a"]);
  expect(writes("echo x 2>>a.log >|b")).toEqual(["a.log", "b"]);
  expect(writes("x &>'c d'")).toEqual(["c d"]);
  expect(writes("cat < in")).toEqual([]);
});

test("text in quotes is no command once the grammar is understood", () => {
  const scan = scanShell('git commit -m "fix (rm x)"', parseShell('git commit -m "fix (rm x)"'));
  expect(scan.commands).toEqual([{ argv: ["git", "commit", "-m", "fix (rm x)"], writes: [] }]);
  expect([scan.dynamic, scan.uncertain]).toEqual([false, false]);
});

test.each([
  ["ls", false, false],
  ["ls $x", false, true],
  ["$x y", true, true],
  ["r*m x", true, false],
  ["echo 'open", false, true],
  [`sudo ${"a ".repeat(70)}`, true, false],
  ["x".repeat(70_000), true, true],
])("%#: names known only at run time: %p, words: %p", (command, dynamic, uncertain) => {
  const scan = scanShell(command, parseShell(command));
  expect([scan.dynamic, scan.uncertain]).toEqual([dynamic, uncertain]);
});
