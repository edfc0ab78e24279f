// Generated shell text against real shells. Two kinds of mistake matter, and both mean that we are the laxer side: text
// we call plain that runs with other words than we read, and a command that ran although our scan did not list it.

import { afterAll, expect, test } from "bun:test";
import type { ListItem } from "@/shell/ast.ts";
import { parseShell } from "@/shell/parser.ts";
import { isHarmlessRedirect, type Plain, type PlainItem, toPlain } from "@/shell/plain.ts";
import { quoteIfNeeded } from "@/shell/quote.ts";
import { scanShell } from "@/shell/scan.ts";
import { commandLine, PROGRAMS, seeded } from "../support/shell-grammar.ts";
import { byText, createShellOracle } from "../support/shell-oracle.ts";

const oracle = createShellOracle(PROGRAMS);
afterAll(oracle.dispose);

const FRAMES = [
  (text: string) => text,
  (text: string) => text,
  (text: string) => text,
  (text: string) => `(${text})`,
  (text: string) => `{ ${text}; }`,
  (text: string) => `if pp; then ${text}; fi`,
  (text: string) => `for i in 1; do ${text}; done`,
  (text: string) => `case a in a) ${text};; esac`,
  (text: string) => `f() { ${text}; }; f`,
  (text: string) => `! ${text}`,
  (text: string) => `pp $(${text})`,
  (text: string) => `pp "$(${text})"`,
  (text: string) => `pp \`${text}\``,
  (text: string) => `time ${text}`,
  (text: string) => `pp <(${text})`,
  (text: string) => `eval ${text}`,
];

test("what is plain runs with the words we read, in every shell", () => {
  const random = seeded(20_260_101);
  const texts = unique(2_500, () => commandLine(random, 0.12));
  const accepted = texts.flatMap((text) => {
    const plain = toPlain(parseShell(text));
    return plain.ok && plain.odd === "" && onlyStubs(plain) ? [{ text, plain }] : [];
  });
  expect(accepted.length).toBeGreaterThan(300);
  const sample = accepted.slice(0, 400);
  const expected = sample.map(({ plain }) => programsRun(plain.items));
  expect(compare(sample, oracle.run(sample.map(({ text }) => text)), expected)).toEqual([]);
  // Only the quoted form runs without a question; every shell must agree on it.
  const quoted = sample.map(({ plain }) => requote(plain.items));
  const shells = (["bash", "sh", "zsh"] as const).filter((shell) => Bun.which(shell) !== null);
  for (const shell of shells)
    expect(compare(sample, oracle.run(quoted.slice(0, 150), shell), expected.slice(0, 150))).toEqual([]);
}, 60_000);

test("every command that ran is in the scan, or the scan says it is not certain", () => {
  const random = seeded(7_777);
  const texts = unique(500, () => {
    const frame = FRAMES[Math.floor(random() * FRAMES.length)]!;
    return frame(commandLine(random, 0.3));
  });
  const missed = oracle.run(texts).flatMap((ran, index) => {
    const text = texts[index]!;
    const { commands, dynamic, ...scan } = scanShell(text, parseShell(text));
    if (dynamic) return [];
    const uncertain = scan.uncertain || scan.globs.length > 0;
    const names = new Set(commands.map(({ argv }) => argv[0]));
    const listed = new Set(commands.map(({ argv }) => argv.join("\u0000")));
    return ran
      .filter((argv) =>
        uncertain ? !names.has(argv[0]) && !text.includes(argv[0]!) : !listed.has(argv.join("\u0000")),
      )
      .map((argv) => ({ text, argv }));
  });
  expect(missed).toEqual([]);
}, 60_000);

function unique(count: number, make: () => string): string[] {
  const texts = new Set<string>();
  for (let tries = 0; tries < count * 4 && texts.size < count; tries++) texts.add(make());
  return [...texts];
}

/** Only stubs (others fail), only literal words, and no files. */
function onlyStubs(plain: Extract<Plain, { ok: true }>): boolean {
  return plain.items.every(({ commands }) =>
    commands.every(
      ({ words, redirects }) =>
        PROGRAMS.includes(words[0]!.text) &&
        words.every(({ kind, text }) => kind === "literal" && !text.includes("\u0000")) &&
        redirects.every((redirect) => redirect.operator === "<<<" || isHarmlessRedirect(redirect)),
    ),
  );
}

/** All stubs succeed: what stands behind `||` does not run. */
function programsRun(items: PlainItem[]): string[][] {
  const ran: string[][] = [];
  let skip: ListItem["operator"] = "";
  for (const { commands, operator } of items) {
    if (skip !== "||") for (const { words } of commands) ran.push(words.map(({ text }) => text));
    // `a || b && c`: c runs, as the list up to b has succeeded.
    skip = operator === "||" ? "||" : "";
  }
  return ran.sort(byText);
}

function requote(items: PlainItem[]): string {
  return items
    .map(({ commands, operator }) => {
      const parts = commands.map(({ words }) =>
        words.map(({ text }, at) => (at === 0 ? quoteIfNeeded(text) : `'${text.replaceAll("'", "'\\''")}'`)).join(" "),
      );
      return `${parts.join(" | ")} ${operator}`;
    })
    .join(" ");
}

function compare(sample: { text: string }[], ran: string[][][], expected: string[][][]) {
  return ran.flatMap((argvs, index) =>
    Bun.deepEquals(argvs, expected[index]) ? [] : [{ text: sample[index]!.text, ran: argvs, read: expected[index] }],
  );
}
