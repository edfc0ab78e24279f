// What the bundled skills teach must be true of this program: every `letta …` they show is taken out of them and read by
// the program's own parsers; skills, files and slash commands they point to must exist.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseGlobalFlags } from "@/commands/parse-flags.ts";
import { findCommand, loadCommand } from "@/commands/registry.ts";
import { type AnyCommand, commandsOf, runCommand } from "@/commands/run-command.ts";
import { findCommand as findSlashCommand } from "@/frontends/repl/commands/registry.ts";
import { codeOf } from "@/lib/errors.ts";
import { fieldValue, parseMarkdown } from "@/memory/frontmatter.ts";
import { parseShell } from "@/shell/parser.ts";
import { scanShell } from "@/shell/scan.ts";
import { readEnv } from "@/store/env.ts";

const ROOT = join(import.meta.dir, "../../skills");
const SKILLS = readdirSync(ROOT).toSorted();
/** All of a skill's Markdown, by path relative to skills/. */
const TEXTS = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".md"))
  .toSorted()
  .map((path): [path: string, text: string] => [path, readFileSync(join(ROOT, path), "utf8")]);

/** What a text shows as an example of something the reader makes. */
const EXAMPLES = new Set([
  ...["releasing-packages", "searching-linear", "searching-SERVICE"],
  ...["creating-skills/references/errors.md", "creating-skills/scripts/check.ts"],
  "converting-mcps-to-skills/scripts/open-issues.ts",
  ...["/name", "/NAME", "/review", "/git:log", "/mcp", "/sse"],
]);
const KEYS = ["name", "description", "when_to_use", "argument-hint", "disable-model-invocation", "user-invocable"];

interface Code {
  text: string;
  /** Of a block; a span in a sentence may name a command without its arguments. */
  whole: boolean;
}

/** Spans, indented and fenced blocks; of blocks the lines, continued ones joined. */
function codeOfMarkdown(text: string): Code[] {
  const code: Code[] = [];
  let fenced = false;
  let prose = "";
  for (const line of text.replaceAll("\\\n", " ").split("\n")) {
    if (/^\s*```/.test(line)) fenced = !fenced;
    else if (fenced || /^ {4}/.test(line)) code.push({ text: line.trim(), whole: true });
    else prose += `${line}\n`;
  }
  for (const [, , span] of prose.matchAll(/(?<!`)(`+)(?!`) ?([\s\S]*?[^`]) ?\1(?!`)/g))
    code.push({ text: span!.replaceAll(/\s+/g, " ").trim(), whole: false });
  return code;
}

/** Every start of letta the shell would make. */
function lettaCalls({ text }: Code): string[][] {
  if (!/\bletta\b/.test(text)) return [];
  // Placeholders are no redirections, comments no words.
  const shell = text.replaceAll(/<([A-Za-z_]+)>/g, "$1").replace(/\s#\s.*$/, "");
  return scanShell(shell, parseShell(shell))
    .commands.map(({ argv }) => argv)
    .filter(([program]) => program === "letta" || program?.endsWith("/letta"))
    .map((argv) => argv.slice(1));
}

/** The same commands, read as strictly, doing nothing. */
async function idle(command: AnyCommand): Promise<AnyCommand> {
  const subCommands: Record<string, AnyCommand> = {};
  for (const [name, sub] of await commandsOf(command)) subCommands[name] = await idle(sub);
  const { run } = command;
  return { ...command, ...(Object.keys(subCommands).length > 0 && { subCommands }), ...(run && { run: () => 0 }) };
}

/** Null when the program understands it, else what it would say. */
async function refusal(argv: string[], { whole }: Pick<Code, "whole">): Promise<string | null> {
  const io = { stdout() {}, stderr() {}, isTty: false, width: 80, color: false, closed: false };
  const context = { cwd: "/", env: readEnv({}), io };
  try {
    const [first] = argv;
    if (first === undefined) return null;
    if (first.startsWith("-")) {
      parseGlobalFlags(argv);
      return null;
    }
    const found = findCommand(first);
    if (!found) return `there is no command ${first}`;
    const command = await loadCommand(found);
    // Help is asked for real: it looks for the command it explains.
    await runCommand([found.name], found.name === "help" ? command : await idle(command), argv.slice(1), context);
    return null;
  } catch (error) {
    const { message } = error as Error;
    return codeOf(error) === "usage" && !whole && / is missing/.test(message) ? null : message;
  }
}

const CALLS = TEXTS.flatMap(([path, text]) =>
  codeOfMarkdown(text).flatMap((code) => lettaCalls(code).map((argv) => ({ path, argv, whole: code.whole }))),
);

describe("what they show of letta", () => {
  test("is understood by letta", async () => {
    const refused: string[] = [];
    for (const { path, argv, whole } of CALLS) {
      const reason = await refusal(argv, { whole });
      if (reason !== null) refused.push(`${path}: letta ${argv.join(" ")}: ${reason}`);
    }
    expect(refused).toEqual([]);
  });

  test("is found: no mention escapes the check above", () => {
    expect(CALLS.length).toBeGreaterThan(120);
    const missed = TEXTS.flatMap(([path, text]) =>
      codeOfMarkdown(text)
        .filter((code) => /^(?:\S+=\S+ )?letta [a-z-]/.test(code.text) && lettaCalls(code).length === 0)
        .map((code) => `${path}: ${code.text}`),
    );
    expect(missed).toEqual([]);
  });

  test.each([
    ["letta memory statsu", true, 'unknown command "memory statsu"'],
    ["letta memory status --frobnicate", true, "unknown option --frobnicate"],
    ["cd x && letta -p --colour red hi", true, "unknown option --colour"],
    ["letta cron list", false, "there is no command cron"],
    ["letta script", false, null],
    ["letta script", true, "FILE is missing"],
    ["letta help memory frob", true, 'there is no command "memory frob"'],
    ["timeout 20m letta agents list --tags a,b --match-all-tags | head", true, null],
  ] as const)("the check sees through %p", async (text, whole, expected) => {
    const [argv] = lettaCalls({ text, whole });
    const reason = await refusal(argv!, { whole });
    if (expected === null) expect(reason).toBeNull();
    else expect(reason).toContain(expected);
  });

  test("slash commands and options of scripts exist", () => {
    const unknown: string[] = [];
    for (const [path, text] of TEXTS) {
      for (const { text: code, whole } of codeOfMarkdown(text)) {
        const slash = /^\/[a-z][\w:-]*$/i.exec(code)?.[0];
        if (!whole && slash && !EXAMPLES.has(slash) && !findSlashCommand(slash.slice(1)))
          unknown.push(`${path}: ${slash}`);
        const script = /scripts\/([\w-]+\.ts)/.exec(code)?.[1];
        const source = script && join(ROOT, path.split("/")[0]!, "scripts", script);
        if (!source || !existsSync(source)) continue;
        const known = readFileSync(source, "utf8");
        for (const [option] of code.split(" -- ")[0]!.matchAll(/--[a-z][a-z-]+/g))
          if (!new RegExp(`${option}(?![a-z-])`).test(known)) unknown.push(`${path}: ${script} ${option}`);
      }
    }
    expect(unknown).toEqual([]);
  });
});

test("what they point to exists", () => {
  const missing: string[] = [];
  const exists = (name: string) => EXAMPLES.has(name) || existsSync(join(ROOT, name));
  for (const [path, text] of TEXTS) {
    const id = path.split("/")[0]!;
    for (const [, file] of text.matchAll(/<SKILL_DIR>\/([\w./-]*\w)/g))
      if (!exists(`${id}/${file}`)) missing.push(`${path}: ${file}`);
    for (const { text: code, whole } of codeOfMarkdown(text))
      if (!whole && (/^[a-z]+ing(?:-[a-z]+)+$/.test(code) || SKILLS.includes(code)) && !exists(code))
        missing.push(`${path}: ${code}`);
  }
  expect(missing).toEqual([]);
});

test("no file lies there that no text names", () => {
  const lonely = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter((path) => {
    const [id, folder, name] = path.split("/");
    if (folder !== "references" || name === undefined) return false;
    return !readFileSync(join(ROOT, id!, "SKILL.md"), "utf8").includes(`<SKILL_DIR>/references/${name}`);
  });
  expect(lonely).toEqual([]);
});

describe.each(SKILLS)("%s", (id) => {
  const file = parseMarkdown(readFileSync(join(ROOT, id, "SKILL.md"), "utf8"));
  const value = (key: string) => String(fieldValue(file, key) ?? "");

  test("has the head of the open format, and says when", () => {
    expect(file.head).toBe("closed");
    expect(file.strayLines).toEqual([]);
    expect(file.fields.filter(({ lenient, key }) => lenient || !KEYS.includes(key))).toEqual([]);
    expect(value("name")).toBe(id);
    expect(id).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    // The verb of a third person: Finds, Writes, …
    expect(value("description")).toMatch(/^[A-Z][a-z]+s\b.*\.$/);
    expect(value("when_to_use")).toMatch(/\.$/);
    // It is in every request.
    expect(value("description").length + value("when_to_use").length).toBeLessThanOrEqual(300);
  });

  test("is short, under a heading", () => {
    expect(file.body.split("\n").length).toBeLessThan(120);
    expect(file.body).toMatch(/^\n?# /);
  });

  test("holds nothing that would be filled in by mistake", () => {
    // Teaching about placeholders is for references/, which are read as they are.
    expect(file.body.match(/\$ARGUMENTS|\$[1-9]|\$\{CLAUDE_SKILL_DIR\}/g)).toBeNull();
    for (const [, path] of file.body.matchAll(/<SKILL_DIR>(\/[\w./-]*\w)?/g)) {
      expect(path).toBeDefined();
      expect(existsSync(join(ROOT, id, path!))).toBe(true);
    }
  });
});
