import { expect, test } from "bun:test";
import { parseShell } from "@/shell/parser.ts";
import { isHarmlessRedirect, toPlain } from "@/shell/plain.ts";

/** Words of the commands of a text in the plain subset; why it is not, otherwise. */
function parsePlain(command: string): string[][] | string {
  const plain = toPlain(parseShell(command));
  if (!plain.ok) return plain.why;
  const commands = plain.items.flatMap((item) => item.commands);
  const literal = commands.every(({ words }) => words.every(({ kind }) => kind === "literal"));
  const redirects = commands.flatMap((part) => part.redirects);
  if (!literal || plain.odd !== "" || !redirects.every(isHarmlessRedirect)) return plain.odd || "a glob or redirect";
  return commands.map(({ words }) => words.map(({ text }) => text));
}

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
  ["2>&1 ls\nrm x", [["ls"], ["rm", "x"]]],
  ["time -p ls", [["ls"]]],
  ['grep "a\\.b\\n" x', [["grep", "a\\.b\\n", "x"]]],
  ["git log @{u}..HEAD", [["git", "log", "@{u}..HEAD"]]],
  ["echo ''", [["echo", ""]]],
])("%s is plain", (command, commands) => expect(parsePlain(command)).toEqual(commands));

// Every class of text that a shell reads differently from what a person sees (spec 03 §9.7).
test.each([
  ...["", " ", ";", "ls &&", "&& ls", "ls || ", "| ls", "ls ;; x", "ls |& x", "ls & rm -rf src", "ls &", "''", '"" x'],
  ...["diff a b >/dev/null&rm -rf src", "cat <(touch x)", "tee >(sh)", "cat </etc/passwd", "cat <<EOF", "cat <<< x"],
  ...["echo x > f", "echo x >> f", "echo x >| f", "echo x &> f", "echo x <> f", "echo x >&1f", "echo x 2>&1f"],
  ...["echo >/dev/null/../f", "echo > /dev/nullx", "exec 3>f", "ls >&f"],
  ...[
    "echo $'\\'' ; touch x #'",
    'echo $"x"',
    "echo $HOME",
    "echo $\u007bx}",
    "echo $(id)",
    "echo `id`",
    "echo $((1))",
  ],
  ...["echo $[1]", 'echo "$(id)"', 'echo "`id`"', 'echo "$x"', 'echo "a!b"', "cat$IFS/etc/passwd"],
  ...["ls # '\ntouch x # '", "ls\\\nx", "ls \\\n", "ls # x", "ls\rx", "ls\r", "a\u0000b", "a\u0007b"],
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
  ...["function ls { x; }", "ls() { x; }", "coproc ls", "[[ a ]]", "select x in a; do b; done"],
  "a".repeat(16_385),
  Array(65).fill("ls").join(";"),
])("%j is opaque", (command) => expect(parsePlain(command)).toBeString());
