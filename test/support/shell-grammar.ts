// Generates shell text: mostly ordinary, with pieces now and then that shells treat in special ways.

/** Names of commands; as programs on PATH they may be stubs. */
export const PROGRAMS = ["pp", "qq", "rr"];

const HARMLESS = ["a", "B9", "-x", "--k=v", "'q r'", '"d e"', "\\ ", "\\;", "é", "x~1", "@", "%", ":", "'\\'", '"\\""'];
const RISKY = [
  ..."' \" \\ ` $ # ! ~ ^ = * ? [ ] { } ( ) < > & | ; $( $(( )) $\u007b <( >( $' $\" $\u007bx\u007d $x $IFS \u007ba,b} @{u} '' \"\" \\\\ \\' #a ~/a".split(
    " ",
  ),
  "\n",
  "\t",
  "\\\n",
  "$(qq z)",
  "`rr y`",
  '"$(pp w)"',
  '"a\\.b"',
  '"\\$x"',
  "$'\\x41'",
  "x=1",
  "x=",
  "\u00a0",
];
const JOINTS = [" && ", " || ", "; ", " | ", "\n", ";", "|", "&&", " & ", " |& ", " ;\n "];
const TAILS = [
  "",
  "",
  "",
  "",
  " 2>&1",
  " >/dev/null",
  " > f",
  " 2>/dev/null",
  " < f",
  " >&2",
  " <<< x",
  " # c",
  " <<E\nqq z\nE\n",
];

/** Up to three commands. `risk`: how many of the pieces are special, from 0 to 1. */
export function commandLine(random: () => number, risk: number): string {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!;
  const word = () =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(random() < risk ? RISKY : HARMLESS)).join("");
  const command = () => {
    const words = Array.from({ length: Math.floor(random() * 4) }, word);
    return [pick(PROGRAMS), ...words].join(random() < 0.1 ? "\t" : " ") + pick(TAILS);
  };
  let text = command();
  for (let more = Math.floor(random() * 3); more > 0; more--) text += pick(JOINTS) + command();
  return text;
}

export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
