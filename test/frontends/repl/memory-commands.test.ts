// Slash commands about memory, on a real memory and a real store of agents behind a scripted engine.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCommand } from "@/frontends/repl/commands/registry.ts";
import { createHistory } from "@/frontends/repl/history.ts";
import { listFolder, treeLines } from "@/frontends/repl/memory-browser.ts";
import { sayMemoryChanges, sayMemoryState } from "@/frontends/repl/memory-notes.ts";
import { shownText } from "@/frontends/repl/prompt-message.ts";
import { ReplSession } from "@/frontends/repl/session.ts";
import { createTheme } from "@/frontends/repl/theme.ts";
import type { Ui } from "@/frontends/repl/ui.ts";
import { createMemories } from "@/memory/memories.ts";
import { openAgentSecrets } from "@/store/agent-secrets.ts";
import { AGENT, conversation, scriptedApp } from "./scripted-app.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "letta-repl-memory-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const note = (text: string) => `---\ndescription: about ${text}\n---\n${text}\n`;

async function open({ answers = [] as string[], interactive = true } = {}) {
  const printed: string[] = [];
  const inputs: string[] = [];
  const lists: string[][] = [];
  const ui: Ui = {
    interactive,
    theme: createTheme(false),
    columns: () => 80,
    print: (lines) => void printed.push(...lines),
    append: (text) => void printed.push(text),
    drain: async () => {},
    async choose(choice) {
      lists.push(choice.items.map(({ label, hint }) => (hint ? `${label} · ${hint}` : label)));
      const label = answers.shift();
      const item = choice.items.find((candidate) => candidate.label === label);
      return item ? { values: [item.value] } : null;
    },
    askLine: async () => answers.shift() ?? null,
    setInput: (text) => void inputs.push(text),
    bell() {},
    clear() {},
    refresh() {},
    start() {},
    stop() {},
  };
  const scripted = scriptedApp({ home });
  const { app } = scripted;
  const memories = createMemories({ paths: app.paths, git: () => import("@/store/git/repository.ts") });
  const agentSecrets = openAgentSecrets({ env: app.env, paths: app.paths, keychain: null });
  Object.assign(app, { memories, agentSecrets });
  const session = new ReplSession({
    app,
    ui,
    history: createHistory(app.paths.history, "/p"),
    agent: { ...AGENT },
    conversation: conversation("conv-1"),
    model: AGENT.model,
    now: () => 1_750_000_000_000,
  });
  const memory = memories.find(AGENT)!;
  await memory.ensure();
  const run = async (line: string): Promise<string> => {
    printed.length = 0;
    const [, name = "", args = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(line) ?? [];
    await findCommand(name)!.run(args, session);
    return printed.filter((text) => text !== "").join("\n");
  };
  const write = (path: string, text: string) => writeFileSync(join(memory.places.memory, path), text);
  return { run, session, memory, printed, inputs, lists, write, ...scripted };
}

test("folders come first, system before the others, and dot-files stay hidden", () => {
  const paths = ["zoo.md", "alpha/b.md", "system/x.md", "system/deep/y.md", ".gitignore", "alpha/.hidden/z.md"];
  expect(listFolder(paths, "").map(({ path, files }) => [path, files])).toEqual([
    ["system", 2],
    ["alpha", 1],
    ["zoo.md", 1],
  ]);
  expect(listFolder(paths, "system").map(({ name, isFolder }) => [name, isFolder])).toEqual([
    ["deep", true],
    ["x.md", false],
  ]);
  expect(treeLines(paths, "")).toEqual(["system/", "  deep/", "    y.md", "  x.md", "alpha/", "  b.md", "zoo.md"]);
});

test("/memory goes through folders to a file, page by page, and back", async () => {
  const world = await open({ answers: ["reference/", "long.md", "More", "Done"] });
  const text = Array.from({ length: 60 }, (_, line) => `line ${line}`).join("\n");
  await world.memory.create({ file: "reference/long", description: "a long one", text }, { reason: "x" });
  const shown = await world.run("/memory");
  expect(world.lists[0]).toEqual(["system/ · 2 files", "reference/ · 1 file"]);
  expect(world.lists[1]).toEqual([".. · back", "long.md · a long one"]);
  expect(world.lists[2]?.[0]).toStartWith("More · 2");
  expect(shown).toContain("reference/long.md about");
  expect(shown).toContain("line 59");
});

test("/memory without a person to choose is the whole tree; with a path, the file", async () => {
  const world = await open({ interactive: false });
  expect(await world.run("/memory")).toBe("system/\n  human.md\n  persona.md");
  world.write("draft.md", note("x"));
  expect(await world.run("/memory")).toStartWith("1 file has uncommitted changes: /memfs status");
  expect(await world.run("/memory system/human")).toContain("description: ");
  expect(await world.run("/memory nowhere")).toBe("nowhere is no file of this memory.");
});

test("/memory log and undo", async () => {
  const world = await open({ answers: ["Yes"] });
  await world.memory.create({ file: "a", description: "a", text: "x" }, { reason: "because" });
  expect(await world.run("/memory log")).toContain("because");
  expect(await world.run("/memory undo")).toContain('Took back "because" of Memo in 1 file: a.md');
  expect(world.lists).toEqual([["Yes", "No"]]);
  expect(existsSync(join(world.memory.places.memory, "a.md"))).toBe(false);
});

test("/palace writes the page and says where, when nobody could see it", async () => {
  const world = await open();
  const shown = (await world.run("/palace")).replaceAll("\n", "");
  const path = join(home, ".letta", "viewers", `memory-${AGENT.id}.html`);
  expect(shown).toContain(path);
  expect(readFileSync(path, "utf8")).toContain("Memory of Memo");
});

test("/memfs says what is unfinished, and sets a memory aside", async () => {
  const world = await open({ answers: ["No", "Yes"] });
  expect(await world.run("/memfs")).toContain("none: on this machine only");
  await world.memory.create({ file: "a", description: "a", text: "x" }, { reason: "because" });
  expect(await world.run("/memfs reset")).toBe("Nothing was changed.");
  const said = (await world.run("/memfs reset")).replaceAll("\n", " ");
  expect(said).toMatch(/letta memory restore --from memory-backup-\d{8}-\d{6} --force/);
  expect((await world.session.app.memories!.find(AGENT)!.files()).paths).not.toContain("a.md");
  expect(await world.run("/memfs sync")).toContain("on this machine only");
  await expect(world.run("/memfs off")).rejects.toMatchObject({ code: "usage" });
});

test("/memory-repository sets, shows and forgets a remote", async () => {
  const world = await open({ answers: ["sesame"] });
  expect(await world.run("/memory-repository")).toContain("on this machine only");
  // Nobody listens there: the remote is set all the same, and the push says what is wrong.
  await world.run("/memory-repository set http://127.0.0.1:1/x.git");
  expect(await world.run("/memory-repository status")).toBe("http://127.0.0.1:1/x.git, with the token kept for it");
  expect(await world.run("/memory-repository unset")).toContain("No longer kept at http://127.0.0.1:1/x.git.");
  expect(world.session.app.agentSecrets.names(AGENT.id)).toEqual([]);
  await expect(async () => world.run("/memory-repository set")).toThrow();
});

test("a request about memory goes out as what was typed, with a note that names the memory", async () => {
  const world = await open();
  await world.run("/remember she likes tea");
  await world.run("/init");
  await world.run("/doctor");
  const sent = world.session.queue.list().map(({ content }) => content);
  expect(sent.map(shownText)).toEqual(["/remember she likes tea", "/init", "/doctor"]);
  const notes = sent.map((content) => (Array.isArray(content) && content[0]?.type === "text" ? content[0].text : ""));
  for (const text of notes) {
    expect(text).toStartWith("<system-reminder>\n");
    expect(text).toContain(world.memory.places.memory);
    expect(text).not.toMatch(/\{[A-Z_]+\}/);
  }
  expect(notes[0]).toContain("It is in their message below.");
  expect(notes[1]).toContain("- Git repository: no");
  expect(notes[2]).toContain("system/ has 2 files of about");
  expect(world.session.view().queue()).toEqual(["/remember she likes tea", "/init", "/doctor"]);
});

test("what cannot be sent comes back as it was typed", async () => {
  const world = await open();
  world.session.model = "";
  await world.run("/remember tea");
  expect(world.inputs).toEqual(["/remember tea"]);
});

test("after a turn that changed memory its commits are named", async () => {
  const world = await open();
  const head = await world.memory.head();
  await sayMemoryChanges(world.session, head);
  expect(world.printed).toEqual([]);
  for (const name of ["a", "b", "c", "d"])
    await world.memory.create({ file: name, description: name, text: "x" }, { reason: `why ${name}` });
  await sayMemoryChanges(world.session, head);
  const shown = world.printed.filter((line) => line !== "").map((line) => line.replace(/[0-9a-f]{7}/, "OID"));
  expect(shown).toEqual([
    "  memory OID why d (d.md)",
    "  memory OID why c (c.md)",
    "  memory OID why b (b.md)",
    "  and 1 commit more: /memory log",
    "  /memory undo takes the last one back",
  ]);
});

test("a sitting begins with what is unfinished in memory", async () => {
  const world = await open();
  await sayMemoryState(world.session);
  expect(world.printed).toEqual([]);
  world.write("draft.md", note("x"));
  await sayMemoryState(world.session);
  expect(world.printed.join("\n")).toContain("Memory: 1 file has uncommitted changes (/memfs status).");
});
