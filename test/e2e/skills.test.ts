// Skills as people and models meet them: one line in the list, the whole text when one is called.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { jsonLines, runLetta, spawnLetta, type TempHome, tempHome } from "../support/binary.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { CHAT, headless, PROTOCOLS } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

/** Models with a window that holds long texts. */
const ANTHROPIC = PROTOCOLS[0]!;

/** Longer than anything a tool may return. */
const LONG = Array.from({ length: 4_500 }, (_, line) => `Step ${line}: to be followed to the letter, always.`).join(
  "\n",
);

function write(home: TempHome, path: string, head: string, body = "Body.\n"): string {
  const text = `---\n${head}\n---\n${body}`;
  const file = join(home.path, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return text;
}

const callSkill = (skill: string, args?: string) => ({
  id: `call-${skill}`,
  name: "Skill",
  args: { skill, ...(args && { args }) },
});

/** The lines of the list a request carries. */
function listedIn(server: ModelServer, index: number): string[] {
  const system =
    server.requests[index]!.messages.find(({ role }) => role === "system")?.text ?? server.requests[index]!.system;
  const block = /<available_skills>\n([\s\S]*?)\n<\/available_skills>/.exec(system ?? "")?.[1] ?? "";
  return block.split("\n").filter((line) => line.startsWith("- "));
}

const userTexts = (server: ModelServer, index: number): string[] =>
  server.requests[index]!.messages.filter(({ role }) => role === "user").map(({ text }) => text);

describe.each([
  ["default", ANTHROPIC],
  ["codex", PROTOCOLS[1]!],
  ["gemini", PROTOCOLS[3]!],
] as const)("%s tools", (toolset, setup) => {
  test("one line in the list; after a call the whole text in a user message", async () => {
    using home = tempHome();
    const text = write(home, ".letta/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.", `${LONG}\nEND\n`);
    await using server = await startModelServer([{ toolCalls: [callSkill("deploy")] }, { text: "done" }]);
    const { args, env } = headless(
      server.url,
      ["--no-bundled-skills", "--output-format", "stream-json", "go"],
      setup,
      toolset,
    );
    const { stdout, exitCode } = await runLetta(args, { home, env });
    expect(listedIn(server, 0)).toEqual(["- deploy (Ships it.)"]);
    expect(server.requests[1]!.toolResults.map(({ text: result }) => result)).toEqual(["Launching skill: deploy"]);
    const whole = `<deploy>\n${text}</deploy>`;
    expect(whole.length).toBeGreaterThan(200_000);
    expect(userTexts(server, 1).at(-1)).toBe(whole);
    const shown = jsonLines(stdout).filter(({ message_type }) => message_type === "user_message");
    expect(shown).toMatchObject([{ type: "message", content: [{ type: "text", text: whole }] }]);
    expect(exitCode).toBe(0);
  });
});

test("in the terminal: called by the model and as a slash command", async () => {
  using home = tempHome();
  const text = write(home, ".letta/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.", `${LONG}\n`);
  await using server = await startModelServer([
    { toolCalls: [callSkill("deploy")] },
    { text: "Loaded." },
    { text: "Shipped." },
  ]);
  const args = ["--backend", "local", "--model", ANTHROPIC.handle];
  await using letta = await openPty(args, { home, env: ANTHROPIC.env(server.url) });
  await letta.waitFor(/> $/m);
  letta.type("ship it\r");
  const loaded = await letta.waitFor(/Loaded\./);
  expect(userTexts(server, 1).at(-1)).toBe(`<deploy>\n${text}</deploy>`);
  letta.type("/deploy to production\r");
  await letta.waitFor(/Shipped\./, loaded);
  expect(userTexts(server, 2).at(-1)).toBe(`<deploy>\n${text}</deploy>\n\nto production`);
  expect(letta.text()).toContain("> /deploy to production");
  expect(letta.text()).not.toContain("to be followed to the letter");
  letta.type("/exit\r");
  expect(await letta.exited).toBe(0);
});

test.skipIf(process.platform !== "linux")(
  "a change is seen in the next turn, also in a root that was not there; between, nothing is watched",
  async () => {
    using home = tempHome();
    write(home, ".letta/skills/one/SKILL.md", "name: one\ndescription: First text.");
    await using server = await startModelServer(() => ({ text: "ok" }));
    const { args, env } = headless(server.url, ["--no-bundled-skills", "--input-format", "stream-json"]);
    await using letta = await spawnLetta(args, { home, env });
    const turn = async (count: number): Promise<string[]> => {
      letta.child.stdin.write(
        `${JSON.stringify({ type: "user", message: { role: "user", content: `turn ${count}` } })}\n`,
      );
      await letta.child.stdin.flush();
      await letta.waitFor("stdout", new RegExp(`(?:"type":"result"[\\s\\S]*){${count}}`));
      return listedIn(server, count - 1);
    };
    const unwatched = async (): Promise<void> => {
      while (watchesOf(letta.child.pid) > 0) await Bun.sleep(2);
    };
    expect(await turn(1)).toEqual(["- one (First text.)"]);
    expect(watchesOf(letta.child.pid)).toBeGreaterThan(0);

    write(home, ".letta/skills/one/SKILL.md", "name: one\ndescription: Second text.");
    await unwatched();
    expect(await turn(2)).toEqual(["- one (Second text.)"]);

    write(home, ".agents/skills/two/SKILL.md", "name: two\ndescription: New root.");
    await unwatched();
    expect((await turn(3)).toSorted()).toEqual(["- one (Second text.)", "- two (New root.)"]);
    letta.child.stdin.end();
    expect((await letta.exited).exitCode).toBe(0);
  },
);

/** Places the system watches for a process. */
function watchesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fdinfo`).flatMap((fd) => {
    try {
      return readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8").match(/^inotify /gm) ?? [];
    } catch {
      return []; // closed meanwhile
    }
  }).length;
}

test("killed between the call and the next request: the text comes with the result", async () => {
  using home = tempHome();
  const text = write(home, ".letta/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.");
  await using server = await startModelServer((request) =>
    request.messages.some(({ text: said }) => said.includes("go on"))
      ? { text: "Went on." }
      : {
          toolCalls: [
            callSkill("deploy"),
            { id: "slow", name: "Bash", args: { command: "echo begun > begun.txt; sleep 60" } },
          ],
        },
  );
  const first = headless(server.url, ["--yolo", "ship it"]);
  await using letta = await spawnLetta(first.args, { home, env: first.env });
  while (!existsSync(join(home.workdir, "begun.txt"))) await Bun.sleep(5);
  letta.kill("SIGKILL");
  await letta.exited;
  const { args, env } = headless(server.url, ["--yolo", "--continue", "go on"]);
  expect(await runLetta(args, { home, env })).toMatchObject({ stdout: "Went on.\n", exitCode: 0 });
  const last = server.requests.length - 1;
  expect(server.requests[last]!.toolResults.map(({ text: result }) => result)).toEqual([
    "Launching skill: deploy",
    expect.stringContaining("outcome is unknown"),
  ]);
  const said = userTexts(server, last);
  expect(said.at(-2)).toBe(`<deploy>\n${text}</deploy>`);
  expect(said.at(-1)).toContain("go on");
});

test("rules of a skill hold in its turn, and nowhere else", async () => {
  using home = tempHome();
  write(home, ".letta/skills/touch/SKILL.md", "name: touch\ndescription: T.\nallowed-tools: Bash(touch made-*)");
  const touch = (name: string) => ({ id: `touch-${name}`, name: "Bash", args: { command: `touch ${name}` } });
  await using server = await startModelServer([
    { toolCalls: [touch("made-before")] },
    { toolCalls: [callSkill("touch")] },
    { toolCalls: [touch("made-in"), touch("other")] },
    { text: "first" },
    { toolCalls: [touch("made-after")] },
    { text: "second" },
  ]);
  for (const prompt of ["one", "two"]) {
    const { args, env } = headless(server.url, ["--permission-mode", "standard", "--continue", prompt]);
    await runLetta(prompt === "one" ? args.filter((arg) => arg !== "--continue") : args, { home, env });
  }
  const made = ["made-before", "made-in", "other", "made-after"].filter((name) => existsSync(join(home.workdir, name)));
  expect(made).toEqual(["made-in"]);
});

test("what a project brings along waits for trust, and says so in one line", async () => {
  using home = tempHome();
  write(home, "work/.agents/skills/deploy/SKILL.md", "name: deploy\ndescription: Of the project.");
  await using server = await startModelServer(() => ({ text: "ok" }));
  const { args, env } = headless(server.url, ["--no-bundled-skills", "go"]);
  const before = await runLetta(args, { home, env });
  expect(before.stderr).toBe(
    "1 skill of this project left out, because the folder is not trusted: `letta trust` shows and trusts them\n",
  );
  expect(listedIn(server, 0)).toEqual([]);
  expect(server.requests[0]!.toolNames).not.toContain("Skill");
  const trusted = await runLetta(["trust", "--yes"], { home });
  expect(trusted.stdout).toContain(".agents/skills/deploy/SKILL.md: skill deploy: Of the project.");
  expect(await runLetta(args, { home, env })).toMatchObject({ stderr: "", exitCode: 0 });
  expect(listedIn(server, 1)).toEqual(["- deploy (Of the project.)"]);
  write(home, "work/.agents/skills/deploy/SKILL.md", "name: deploy\ndescription: Another one.");
  expect((await runLetta(args, { home, env })).stderr).toContain("is not trusted");
  expect(listedIn(server, 2)).toEqual([]);
});

test.each([
  ["--no-skills", []],
  ["--no-bundled-skills", ["- extra (E.)", "- mine (M.)"]],
  ["--skill-sources=project", ["- extra (E.)"]],
  ["--skill-sources=global", ["- mine (M.)"]],
])("%s lists %j", async (flag, expected) => {
  using home = tempHome();
  write(home, ".letta/skills/mine/SKILL.md", "name: mine\ndescription: M.");
  write(home, "elsewhere/extra/SKILL.md", "name: extra\ndescription: E.");
  await using server = await startModelServer([{ text: "ok" }]);
  const extra = flag === "--no-skills" ? [] : ["--skills", "../elsewhere"];
  const { args, env } = headless(server.url, [...extra, flag, "go"]);
  expect(await runLetta(args, { home, env })).toMatchObject({ stdout: "ok\n", stderr: "", exitCode: 0 });
  expect(listedIn(server, 0).toSorted()).toEqual(expected);
});

test.each([
  [["--skill-sources", "none"], 2, "there is no source"],
  [["--skill-sources", ""], 2, "at least one source"],
  [["--no-skills", "--pre-load-skills", "a"], 2, "--no-skills"],
  [["--pre-load-skills", "creating-skills,nothing"], 1, '--pre-load-skills: There is no skill "nothing"'],
] as const)("%j ends with %d", async (flags, code, message) => {
  await using server = await startModelServer([]);
  const { args, env } = headless(server.url, [...flags, "go"]);
  const { exitCode, stderr } = await runLetta(args, { env });
  expect(stderr).toContain(message);
  expect(exitCode).toBe(code);
  expect(server.requests).toEqual([]);
});

test("pre-loaded skills come before the first words, and only there", async () => {
  using home = tempHome();
  const text = write(home, ".letta/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.");
  await using server = await startModelServer(() => ({ text: "ok" }));
  const { args, env } = headless(server.url, ["--pre-load-skills", "deploy", "--input-format", "stream-json"]);
  const lines = ["one", "two"].map((content) => JSON.stringify({ type: "user", message: { role: "user", content } }));
  await using letta = await spawnLetta(args, { home, env });
  letta.child.stdin.write(`${lines[0]}\n`);
  await letta.waitFor("stdout", /"type":"result"/);
  letta.child.stdin.write(`${lines[1]}\n`);
  letta.child.stdin.end();
  expect((await letta.exited).exitCode).toBe(0);
  const first = userTexts(server, 0).at(-1)!;
  expect(first).toEndWith(`<loaded_skills>\n<deploy>\n${text}</deploy>\n</loaded_skills>\n\none`);
  expect(userTexts(server, 1).at(-1)).toBe("two");
});

test("a bundled skill is unpacked when it is called, and again when somebody changed it", async () => {
  using home = tempHome();
  await using server = await startModelServer((_, index) =>
    index % 2 === 0 ? { toolCalls: [callSkill("creating-skills")] } : { text: "ok" },
  );
  const { args, env } = headless(server.url, ["go"], CHAT);
  await runLetta(args, { home, env });
  const cache = join(home.path, ".letta/cache/skills");
  const file = join(cache, readdirSync(cache)[0]!, "creating-skills/SKILL.md");
  const text = readFileSync(file, "utf8");
  const given = userTexts(server, 1).at(-1)!;
  const head = `<creating-skills>\n# Skill Directory: ${dirname(file)}\n\n---\nname: creating-skills\n`;
  expect(given).toStartWith(head);
  writeFileSync(file, "changed");
  await runLetta(args, { home, env });
  expect(userTexts(server, 3).at(-1)).toBe(given);
  expect(readFileSync(file, "utf8")).toBe(text);
});
