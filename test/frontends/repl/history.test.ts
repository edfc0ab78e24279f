import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHistory, isSecret } from "@/frontends/repl/history.ts";

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "letta-history-"));
  file = join(directory, "deep", "history.jsonl");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function loaded(project = "/p"): readonly string[] {
  const history = createHistory(file, project);
  history.load();
  return history.entries;
}

test("entries survive, per project, readable by their owner only", () => {
  createHistory(file, "/p").add("one");
  createHistory(file, "/q").add("other project");
  createHistory(file, "/p").add("two\nlines");
  expect(loaded()).toEqual(["one", "two\nlines"]);
  expect(loaded("/q")).toEqual(["other project"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("consecutive duplicates are dropped, also those of two terminals", () => {
  const history = createHistory(file, "/p");
  for (const text of ["a", "a", "b", "a"]) history.add(text);
  createHistory(file, "/p").add("a");
  expect(loaded()).toEqual(["a", "b", "a"]);
});

test("two terminals lose nothing", () => {
  const [first, second] = [createHistory(file, "/p"), createHistory(file, "/p")];
  for (let index = 0; index < 50; index++) {
    first.add(`first ${index}`);
    second.add(`second ${index}`);
  }
  expect(loaded()).toHaveLength(100);
});

test("entries added before the file was read stay the newest", () => {
  createHistory(file, "/p").add("old");
  const history = createHistory(file, "/p");
  history.add("new");
  history.load();
  expect(history.entries.at(-1)).toBe("new");
});

test("a line a crash cut off is skipped and does not swallow the next one", () => {
  createHistory(file, "/p").add("before");
  appendFileSync(file, '{"text":"cut off');
  createHistory(file, "/p").add("after");
  appendFileSync(file, 'null\n[1]\n{"text":1,"project":"/p"}\n');
  expect(loaded()).toEqual(["before", "after"]);
});

test("the newest thousand are kept, and a grown file is written anew", () => {
  mkdirSync(join(directory, "deep"));
  const line = (index: number) => JSON.stringify({ text: `${index} ${"x".repeat(2000)}`, project: "/p" });
  writeFileSync(file, `${Array.from({ length: 2500 }, (_, index) => line(index)).join("\n")}\n`, { mode: 0o644 });
  expect(loaded()).toHaveLength(1000);
  expect(loaded()[0]?.startsWith("1500 ")).toBe(true);
  expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(1000);
});

test("a history that cannot be written is kept in memory", () => {
  const history = createHistory("/dev/null/history.jsonl", "/p");
  history.load();
  history.add("still works");
  expect(history.entries).toEqual(["still works"]);
});

test.each([
  ["/connect anthropic sk-ant-0123456789abcdef", true],
  ["/connect anthropic", false],
  ["!letta connect openai sk-abc", true],
  ["use sk-proj-0123456789abcdef0123", true],
  ["export API_KEY=abcdefgh1234", true],
  ["password: hunter2hunter2", true],
  ["what does the token count mean?", false],
  ["rename the secret santa page", false],
] as const)("%j holds a secret: %p", (text, secret) => {
  expect(isSecret(text)).toBe(secret);
  createHistory(file, "/p").add(text);
  expect(loaded()).toEqual(secret ? [] : [text]);
});
