import { expect, test } from "bun:test";
import { parsePlain } from "@/shell/plain-words.ts";

test.each([
  ["ls -la", [["ls", "-la"]]],
  ["git log --format=%H HEAD~1 main^", [["git", "log", "--format=%H", "HEAD~1", "main^"]]],
  [`echo "a b" 'c $d \`e\`' f\\ g`, [["echo", "a b", "c $d `e`", "f g"]]],
  [`echo "say \\"hi\\" \\\\"`, [["echo", 'say "hi" \\']]],
  ["r'm' \\-rf x", [["rm", "-rf", "x"]]],
  ["a && b || c; d | e", [["a"], ["b"], ["c"], ["d"], ["e"]]],
  ["ls;", [["ls"]]],
  [
    "npm test 2>&1 | tail -5",
    [
      ["npm", "test"],
      ["tail", "-5"],
    ],
  ],
  ["ls >/dev/null; x 2>/dev/null", [["ls"], ["x"]]],
  ["cat 読む.txt", [["cat", "読む.txt"]]],
  ["  ls  ", [["ls"]]],
  ["echo ''", [["echo", ""]]],
])("%s is plain", (command, commands) => expect(parsePlain(command)).toEqual({ ok: true, commands }));

// Every class of text that a shell reads differently from what a person sees (spec 03 §9.7).
test.each([
  ...["", " ", ";", "ls &&", "&& ls", "ls || ", "| ls", "ls ;; x", "ls |& x", "ls & rm -rf src", "ls &", "''", '"" x'],
  ...["diff a b >/dev/null&rm -rf src", "cat <(touch x)", "tee >(sh)", "cat </etc/passwd", "cat <<EOF", "cat <<< x"],
  ...["echo x > f", "echo x >> f", "echo x >| f", "echo x &> f", "echo x <> f", "echo x >&1f", "echo x 2>&1f"],
  ...["echo >/dev/null/../f", "echo > /dev/nullx", "exec 3>f", "2>&1 ls", "ls >&f"],
  ...[
    "echo $'\\'' ; touch x #'",
    'echo $"x"',
    "echo $HOME",
    "echo $\u007bx}",
    "echo $(id)",
    "echo `id`",
    "echo $((1))",
  ],
  ...["echo $[1]", 'echo "$(id)"', 'echo "`id`"', 'echo "$x"', 'echo "a!b"', 'echo "a\\n"', "cat$IFS/etc/passwd"],
  ...["ls # '\ntouch x # '", "ls\nrm x", "ls\\\nx", "ls \\\n", "ls # x", "ls\rx", "ls\r", "a\u0000b", "a\u0007b"],
  ...["ls\u00a0x", "ls\u200bx", "ls\u2028x", "ls \u202ex", "ls \u2066x", "\ufeffls", "ls \ud800", "ｌs", "ls ＆ x"],
  ...[
    "echo 'open",
    'echo "open',
    "echo \\",
    "{cat,/etc/passwd}",
    "cat {a,b}",
    "ls *.ts",
    "ls ?",
    "ls [a]",
    "ls *(e:'id':)",
  ],
  ...[
    "FOO=1 ls",
    "PATH+=:x ls",
    "a[0]=1 ls",
    "=curl x",
    "ls =curl",
    "~/bin/x",
    "cat ~/.ssh/id_rsa",
    "cat ~root/x",
    "^a^b",
    "!ls",
    "! ls",
  ],
  ...[
    "(ls)",
    "{ ls; }",
    "if true; then ls; fi",
    "for x in a; do ls; done",
    "while true; do ls; done",
    "case x in esac",
  ],
  ...["function ls { x; }", "ls() { x; }", "time ls", "coproc ls", "[[ a ]]", "select x in a; do b; done"],
  "a".repeat(16_385),
  Array(65).fill("ls").join(";"),
])("%j is opaque", (command) => expect(parsePlain(command).ok).toBe(false));

test("what it accepts is what bash, and sh, run", () => {
  const random = seeded(7);
  const lines: string[] = [];
  const pieces = [
    "a",
    "B9",
    "-x",
    "'q r'",
    '"d e"',
    "\\ ",
    "\\$",
    "--k=v",
    "é",
    "x~1",
    "y^",
    "@",
    "%",
    "'$h'",
    ":",
    ",",
    '"\\""',
    "+",
  ];
  for (let round = 0; round < 300; round++) {
    const words = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
      Array.from({ length: 1 + Math.floor(random() * 3) }, () => pieces[Math.floor(random() * pieces.length)]).join(""),
    );
    lines.push(`show ${words.join(" ")}`);
  }
  const accepted = lines.map((line) => ({ line, parsed: parsePlain(line) })).filter(({ parsed }) => parsed.ok);
  expect(accepted.length).toBeGreaterThan(200);
  const script = `show() { printf '<%s>' "$@"; echo; }\n${accepted.map(({ line }) => line).join("\n")}\n`;
  const expected = accepted.map(({ parsed }) =>
    parsed.ok
      ? parsed.commands[0]!.slice(1)
          .map((word) => `<${word}>`)
          .join("")
      : "",
  );
  for (const shell of ["bash", "sh"]) {
    const { stdout } = Bun.spawnSync([shell], { stdin: new Blob([script]) });
    expect(stdout.toString().trimEnd().split("\n")).toEqual(expected);
  }
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
