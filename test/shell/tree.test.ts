// What ours calls plain against tree-sitter's grammar of bash: it must see the same simple commands, and nothing else.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { parseShell } from "@/shell/parser.ts";
import { toPlain } from "@/shell/plain.ts";
import { type PermissionWorld, worldPool } from "../support/permission-world.ts";
import { CORPUS_FILES, furnish, placeNames, readCorpus, readEveryday } from "../support/shell-corpus.ts";
import { commandLine, PROGRAMS, seeded } from "../support/shell-grammar.ts";
import { createTreeOracle, type TreeReading } from "../support/tree-oracle.ts";

const worlds = worldPool();
afterAll(worlds.dispose);
let world: PermissionWorld;
let read: (text: string) => TreeReading;
beforeAll(async () => {
  world = await worlds.make({ files: CORPUS_FILES });
  furnish(world);
  read = await createTreeOracle();
});

function ours(text: string): TreeReading | null {
  const plain = toPlain(parseShell(text));
  if (!plain.ok || plain.odd !== "") return null;
  const commands = plain.items.flatMap(({ timed, commands }) =>
    commands.map(({ words }, index) => [...(timed && index === 0 ? ["time"] : []), ...words.map(({ text }) => text)]),
  );
  return { commands, other: [] };
}

/** Git is told which repository it is in. */
const PLACE = /\bGIT_DIR=\S+ (?:GIT_COMMON_DIR=\S+ )?(?:GIT_WORK_TREE=\S+ )?/g;

test("what passes without a question, as it was written and as it runs", async () => {
  const lines = [...readCorpus().filter(({ rules }) => rules.length === 0), ...readEveryday()];
  let compared = 0;
  for (const { command, expected } of lines) {
    if (expected !== "allow") continue;
    const text = placeNames(command, world);
    const verdict = await world.shell(text);
    const run = verdict.behavior === "allow" ? verdict.run?.command : undefined;
    for (const each of run === undefined ? [text] : [text, run.replace(PLACE, "")]) {
      expect<unknown>([each, read(each)]).toEqual([each, ours(each)]);
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(600);
});

/** What its grammar takes for an error or for something else, and shells do not (fuzz.test.ts): an escaped blank, an
 *  escape that begins a line, a here-string behind another redirect. */
const TREE_LOSES = /\\ |\n\s*\\|[<>].*<<</;

test("generated text", () => {
  const random = seeded(4_711);
  const differ: unknown[] = [];
  let compared = 0;
  for (let count = 0; count < 20_000; count++) {
    const text = commandLine(random, 0.12);
    const reading = ours(text);
    if (!reading?.commands.every(([name]) => PROGRAMS.includes(name!)) || TREE_LOSES.test(text)) continue;
    compared += 1;
    const [mine, theirs] = [reading, read(text)].map(joined);
    if (!Bun.deepEquals(mine, theirs)) differ.push({ text, mine, theirs });
  }
  expect(differ).toEqual([]);
  expect(compared).toBeGreaterThan(2_000);
}, 60_000);

/** Where a quoted or escaped piece follows another one, tree-sitter takes one word for two: its words are only compared
 *  by what they say together. That ours splits them as shells do, fuzz.test.ts shows. */
function joined({ commands, other }: TreeReading): unknown {
  return { commands: commands.map(([name, ...words]) => [name, words.join("").replaceAll(" ", "")]), other };
}
