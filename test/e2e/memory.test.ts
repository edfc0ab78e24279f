// Memory of the compiled binary: written by the agent without git, read by real git, and in the next prompt everywhere.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runLetta, type TempHome, tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { CHAT, headless } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

const memoryCall = (args: Record<string, unknown>, id = "m") => ({ id, name: "memory", args });
const NO_GIT = { PATH: "/nonexistent" };
const git = Bun.which("git");

function memoryDir(home: TempHome): string {
  const agents = join(home.path, ".letta", "agents");
  return join(agents, readdirSync(agents)[0]!, "memory");
}

test("what is written over three turns is in every later conversation, wherever it begins", async () => {
  using home = tempHome();
  const away = join(home.path, "elsewhere");
  mkdirSync(away);
  await using server = await startModelServer([
    {
      toolCalls: [
        memoryCall({
          command: "str_replace",
          reason: "she told me her name",
          file_path: "system/human",
          old_string: "Nothing yet.",
          new_string: "Ann, a marine biologist.",
        }),
      ],
    },
    { text: "noted" },
    {
      toolCalls: [
        memoryCall({
          command: "create",
          reason: "the build is not obvious",
          file_path: "reference/build",
          description: "How the reef project is built",
          file_text: "make reef",
        }),
      ],
    },
    { text: "noted" },
    {
      toolCalls: [
        memoryCall({
          command: "insert",
          reason: "taste",
          file_path: "system/human",
          insert_line: 99,
          insert_text: "Likes tea.",
        }),
        memoryCall(
          {
            command: "create",
            reason: "bad",
            file_path: "x",
            description: "x",
            file_text: `sk-ant-api03-${"a1B2c3D4".repeat(6)}`,
          },
          "n",
        ),
      ],
    },
    { text: "noted" },
    { text: "hello again" },
    { text: "hello from afar" },
  ]);
  const { env } = headless(server.url, []);
  const run = (cwd: string, ...args: string[]) =>
    runLetta(headless(server.url, args).args, { home, cwd, env: { ...env, ...NO_GIT } });
  expect(await run(home.workdir, "I am Ann")).toMatchObject({ exitCode: 0, stdout: "noted\n" });
  expect(await run(home.workdir, "--continue", "we build with make reef")).toMatchObject({ exitCode: 0 });
  expect(await run(home.workdir, "--continue", "tea please")).toMatchObject({ exitCode: 0 });

  const results = server.requests.flatMap(({ toolResults }) => toolResults.map(({ text }) => text));
  expect(results[0]).toMatch(/^Memory str_replace committed locally \([0-9a-f]{7}\)\.$/);
  expect(results.at(-1)).toContain("x.md:4: this looks like a secret");
  // A turn keeps the prompt it began with.
  expect(server.requests[1]!.system).toBe(server.requests[0]!.system);
  expect(server.requests[0]!.system).toContain("Nothing yet.");

  expect(await run(home.workdir, "a new conversation")).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await run(away, "a new conversation, elsewhere")).toMatchObject({ exitCode: 0, stderr: "" });
  for (const { system } of server.requests.slice(-2)) {
    expect(system).toContain("Ann, a marine biologist.");
    expect(system).toContain("Likes tea.");
    expect(system).toContain("└── reference/\n    └── build.md (How the reef project is built)");
    expect(system).not.toContain("make reef");
  }
  expect(
    server.requests
      .at(-1)!
      .messages.map(({ text }) => text)
      .join(),
  ).toContain(memoryDir(home));
});

test.skipIf(git === null)("real git finds nothing to complain about", async () => {
  using home = tempHome();
  await using server = await startModelServer([
    { toolCalls: [memoryCall({ command: "delete", reason: "start over", file_path: "system/human" })] },
    { text: "done" },
  ]);
  const { args, env } = headless(server.url, ["forget me"]);
  expect(await runLetta(args, { home, env: { ...env, ...NO_GIT } })).toMatchObject({ exitCode: 0 });
  const dir = memoryDir(home);
  const run = async (...words: string[]) => {
    const child = Bun.spawn([git!, "-C", dir, ...words], { stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { out: out.trim(), err: err.trim(), code: await child.exited };
  };
  expect(await run("fsck", "--strict", "--no-dangling")).toEqual({ out: "", err: "", code: 0 });
  expect((await run("status", "--porcelain")).out).toBe("");
  const agentId = dir.split("/").at(-2)!;
  expect((await run("log", "--format=%an <%ae> %s")).out.split("\n")).toEqual([
    `Letta <${agentId}@letta.com> start over`,
    "Letta Code <noreply@letta.com> chore: initialize local memory",
  ]);
  expect(existsSync(join(dir, "system", "human.md"))).toBe(false);
});

test("memory that another program left at the agent's place is used as it is", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ text: "one" }, { text: "two" }]);
  const { args, env } = headless(server.url, ["hi"]);
  await runLetta(args, { home, env });
  const persona = join(memoryDir(home), "system", "persona.md");
  const before = readFileSync(persona, "utf8");
  // Not committed: not in the prompt.
  await Bun.write(persona, before.replace("I go by Letta", "I go by Otto"));
  await runLetta(args, { home, env });
  expect(server.requests[1]!.system).toContain("I go by Letta");
});

test("an ephemeral run has no memory and no tool for it", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ text: "hi" }]);
  const { args, env } = headless(server.url, ["--ephemeral", "hi"]);
  await runLetta(args, { home, env });
  expect(existsSync(join(home.path, ".letta", "agents"))).toBe(false);
  expect(server.requests[0]!.toolNames).not.toContain("memory");
  expect(server.requests[0]!.system).not.toMatch(/memory_metadata|MEMORY/);
});

test("letta memory tokens says what memory costs; far too much is said when a conversation begins", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ text: "one" }, { text: "two" }]);
  const { args, env } = headless(server.url, ["hi"]);
  await runLetta(args, { home, env });
  const { stdout } = await runLetta(["memory", "tokens", "--format", "json"], { home });
  const counted = JSON.parse(stdout) as { total_tokens: number; files: { path: string }[] };
  expect(counted.files.map(({ path }) => path).toSorted()).toEqual(["system/human.md", "system/persona.md"]);
  expect(counted.total_tokens).toBeGreaterThan(200);
  await using writer = await startModelServer([
    {
      toolCalls: [
        memoryCall({
          command: "create",
          reason: "hoarding",
          file_path: "system/all",
          description: "everything",
          file_text: "word ".repeat(30_000),
        }),
      ],
    },
    { text: "three" },
    { text: "four" },
  ]);
  const hoard = headless(writer.url, ["keep everything"]);
  await runLetta(hoard.args, { home, env: hoard.env });
  expect(writer.requests[1]!.toolResults[0]?.text).toContain("are a lot for a file under system/");
  const next = await runLetta(hoard.args, { home, env: hoard.env });
  expect(next.stderr).toMatch(/The memory of Letta has about 37,\d+ tokens under system\//);
});

test("blocks of an AgentFile are files of a memory", async () => {
  using home = tempHome();
  const file = {
    agents: [{ name: "Ada", system: "You are Ada.", block_ids: ["b"], messages: [{}] }],
    blocks: [{ id: "b", label: "persona", value: "I am Ada, a pilot.", description: "who" }],
  };
  await Bun.write(join(home.workdir, "ada.af"), JSON.stringify(file));
  const imported = await runLetta(["import", "ada.af"], { home, env: NO_GIT });
  expect(imported).toMatchObject({ exitCode: 0, stderr: "" });
  expect(imported.stdout).toMatch(/^Imported Ada \(agent-local-[0-9a-f-]+\): 1 block of memory; 1 message left out\n$/);
  expect(readFileSync(join(memoryDir(home), "system", "persona.md"), "utf8")).toBe(
    "---\ndescription: who\n---\nI am Ada, a pilot.\n",
  );
  await using server = await startModelServer([{ text: "hi" }]);
  const { args, env } = headless(server.url, ["hi"]);
  await runLetta(args, { home, env });
  expect(server.requests[0]!.system).toStartWith("You are Ada.\n\nReminder:");
  expect(server.requests[0]!.system).toContain("I am Ada, a pilot.");
});

test("on a terminal: a newcomer meets the guide, and /personality changes who answers", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ text: "Welcome." }, { text: "Your code is boring. Good." }]);
  const args = ["--backend", "local", "--model", CHAT.handle];
  await using letta = await openPty(args, { home, env: { ...CHAT.env(server.url), ...NO_GIT } });
  await letta.waitFor(/> $/m);
  letta.type("hi\r");
  const welcomed = await letta.waitFor(/Welcome\./);
  expect(server.requests[0]!.system).toContain("I am a guide for people who use Letta for the first time");
  expect(server.requests[0]!.system).toContain("<onboarding>");
  letta.type("/personality nobody\r");
  const refused = await letta.waitFor(/There is no personality "nobody"; choose memo, tutorial/, welcomed);
  letta.type("/personality linus\r");
  const switched = await letta.waitFor(/Personality: Linus, from the next message on \(commit [0-9a-f]{7}/, refused);
  letta.type("and now?\r");
  await letta.waitFor(/boring\. Good\./, switched);
  expect(server.requests[1]!.system).toContain("I am Linus, a maintainer");
  expect(server.requests[1]!.system).toContain("<onboarding>");
  letta.type("/exit\r");
  expect(await letta.exited).toBe(0);
});

test("an agent's memory outlives it", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ text: "hi" }]);
  const { args, env } = headless(server.url, ["hi"]);
  await runLetta(args, { home, env });
  const { stdout } = await runLetta(["agents", "delete", "Letta", "--yes"], { home });
  expect(stdout).toEndWith(`Its memory stays in ${memoryDir(home)}\n`);
});
