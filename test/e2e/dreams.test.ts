// Looking back as a person has it: the compiled binary, a scripted model for the agent and for the child that dreams.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isPidAlive } from "@/lib/process-stat.ts";
import { runLetta, spawnLetta, type TempHome, tempHome } from "../support/binary.ts";
import { type ModelServer, type ScriptedReply, startModelServer } from "../support/model-server.ts";
import { CHAT } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

const MODEL = ["--backend", "local", "--model", CHAT.handle];
const tea = `printf -- '- Ann likes tea.\\n' >> "$MEMORY_DIR/system/human.md"`;
const bash = (command: string) => ({ name: "Bash", args: { command } });

interface Desk extends AsyncDisposable {
  home: TempHome;
  server: ModelServer;
  env: Record<string, string>;
  letta(...args: string[]): ReturnType<typeof runLetta>;
  /** The JSON value a command prints. */
  json(...args: string[]): Promise<Record<string, unknown> & { exitCode: number }>;
  memory(): string;
  /** Lets a dreamer that waits (`gate`) go on. */
}

/** A person who has said something; `dreamer` are the replies of each child, in order. */
async function desk(
  dreamer: (call: number) => ScriptedReply,
  vars: Record<string, string> = {},
  settings: object = {},
): Promise<Desk> {
  const home = tempHome();
  let calls = 0;
  const server = await startModelServer(({ body }) =>
    JSON.stringify(body).includes("You are the reflection of an agent") ? dreamer(++calls) : { text: "Noted." },
  );
  const env = { ...CHAT.env(server.url), ...vars };
  await Bun.write(join(home.path, ".letta/settings.json"), JSON.stringify(settings));
  const letta = (...args: string[]) => runLetta(args, { home, env });
  expect(await letta(...MODEL, "-p", "I like tea")).toMatchObject({ exitCode: 0 });
  return {
    home,
    server,
    env,
    letta,
    json: async (...args) => {
      const { stdout, exitCode } = await letta("--backend", "local", ...args, "--format", "json");
      return { ...JSON.parse(stdout), exitCode };
    },
    memory: () => {
      const agents = join(home.path, ".letta/agents");
      return join(agents, readdirSync(agents)[0]!, "memory");
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      home[Symbol.dispose]();
    },
  };
}

const human = (at: Desk) => readFileSync(join(at.memory(), "system/human.md"), "utf8");
const worktrees = (at: Desk) => readdirSync(join(at.memory(), "../memory-worktrees"));

test("a dream changes the memory, and nothing else", async () => {
  await using at = await desk((call) =>
    call === 1
      ? {
          toolCalls: [
            bash(
              `head -c 3000 "$TRANSCRIPT_PATH"; cat ~/.letta/local/letta.db; ls ~/.letta/agents/*/memory; touch ~/outside`,
            ),
            bash(tea),
          ],
        }
      : { text: "feat: Ann likes tea\n\nSummary: She said so." },
  );
  const dream = await at.json("dream", "--model", CHAT.handle);
  expect(dream).toMatchObject({
    exitCode: 0,
    launched: true,
    success: true,
    message: expect.stringContaining("Memory updated: Ann likes tea"),
    dream: { status: "merged", paths: ["system/human.md"], notes: [] },
  });
  expect(human(at)).toEndWith("- Ann likes tea.\n");
  expect(existsSync(join(at.home.path, "outside"))).toBe(false);
  const [seen] = at.server.requests.at(-1)!.toolResults;
  expect(seen?.text).toContain('"content":"I like tea"');
  expect(seen?.text).not.toContain("SQLite format");
  expect(seen?.text).not.toContain("persona.md");
  expect(worktrees(at)).toEqual([]);
  // Its tools are exactly those its persona names, and it has read what the agent knows.
  const first = JSON.stringify(at.server.requests[1]!.body);
  expect(first).toContain("system/persona.md");
  const { tools } = at.server.requests[1]!.body as { tools: { function: { name: string } }[] };
  expect(tools.map((tool) => tool.function.name).sort()).toEqual(["Bash", "Edit", "Read", "Write"]);
  expect(await at.json("dream")).toMatchObject({ exitCode: 0, launched: false, reason: "no_payload" });
  // The child was nobody: no agent, no conversation of it is left.
  const { stdout } = await at.letta("--backend", "local", "agents", "list", "--format", "json");
  expect(JSON.parse(stdout)).toHaveLength(1);
  // What it learned is in the next request.
  await at.letta(...MODEL, "-p", "--new", "And now?");
  expect(JSON.stringify(at.server.requests.at(-1)!.body)).toContain("Ann likes tea");
});

test("without a sandbox its shell changes nothing, and its file tools only its own folder", async () => {
  await using at = await desk(
    (call) =>
      call === 1
        ? {
            toolCalls: [
              bash(tea),
              bash("ls"),
              { name: "Write", args: { file_path: `${at.home.path}/outside.md`, content: "x" } },
              { name: "Write", args: { file_path: `${at.memory()}/system/stolen.md`, content: "x" } },
              { name: "Read", args: { file_path: `${at.home.path}/.letta/local/letta.db` } },
              {
                name: "Write",
                args: { file_path: `${worktreeOf(at)}/notes.md`, content: "---\ndescription: tea\n---\nTea.\n" },
              },
            ],
          }
        : { text: "feat: tea" },
    { LETTA_FS_SANDBOX: "0" },
  );
  const worktreeOf = (desk: Desk) => join(desk.memory(), "../memory-worktrees", worktrees(desk)[0]!);
  expect(await at.json("dream", "--model", CHAT.handle)).toMatchObject({
    dream: { status: "merged", paths: ["notes.md"] },
  });
  const results = at.server.requests.at(-1)!.toolResults.map(({ text }) => text);
  expect(results[0]).toMatch(/denied|asked/i);
  expect(results[1]).toContain("system");
  for (const index of [2, 3, 4]) expect(results[index]).toMatch(/denied|asked|may not touch/i);
  expect(existsSync(join(at.home.path, "outside.md"))).toBe(false);
  expect(existsSync(join(at.memory(), "system/stolen.md"))).toBe(false);
});

test("a dream that deletes the memory waits; the person looks, takes or leaves it", async () => {
  await using at = await desk((call) =>
    call % 2 === 1 ? { toolCalls: [bash("rm system/human.md")] } : { text: "chore: tidy up" },
  );
  const before = human(at);
  const dream = await at.json("dream", "--model", CHAT.handle);
  expect(dream).toMatchObject({
    exitCode: 0,
    dream: { status: "proposed", reason: expect.stringMatching(/1 of 2 files of system\/ would be gone/) },
  });
  expect(human(at)).toBe(before);
  const { id } = dream.dream as { id: string };
  const list = await at.letta("--backend", "local", "dream", "list", "--format", "text");
  expect(list.stdout).toMatch(new RegExp(`${id} +\\S.* waits `));
  const show = await at.letta("--backend", "local", "dream", "show", id, "--format", "text");
  expect(show.stdout).toContain("+++ /dev/null");
  expect(await at.json("dream", "reject", id)).toMatchObject({ exitCode: 0, state: "rejected" });
  expect(human(at)).toBe(before);
  const again = await at.letta("--backend", "local", "dream", "accept", id);
  expect(again).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("does not wait for a decision: rejected"),
  });
});

test("two at once: one dreams, the other is told; one that is killed leaves nothing running and is brought to an end", async () => {
  const gate = Promise.withResolvers<void>();
  await using at = await desk((call) =>
    call === 1 ? { toolCalls: [bash(`${tea}; sleep 300`)] } : { text: "feat: tea", gate: gate.promise },
  );
  const first = await spawnLetta(["--backend", "local", "dream", "--model", CHAT.handle], {
    home: at.home,
    env: at.env,
  });
  while (at.server.requests.length < 2 || !(await hasSleeper(at))) await Bun.sleep(20);
  const second = await at.json("dream", "--model", CHAT.handle);
  expect(second).toMatchObject({ exitCode: 1, launched: false, reason: "already_active" });
  const pids = await processesOf(at);
  expect(pids.length).toBeGreaterThanOrEqual(2);
  first.kill("SIGKILL");
  await first.exited;
  while (pids.some((pid) => isPidAlive(pid))) await Bun.sleep(20);
  gate.resolve();
  const third = await at.letta("--backend", "local", "dream", "--model", CHAT.handle, "--format", "text");
  expect(third.stdout).toMatch(/^An earlier look back was cut off \(\S+\); nothing of it was kept\.\n/);
  expect(worktrees(at)).toEqual([]);
  await first[Symbol.asyncDispose]();
}, 60_000);

/** Processes that work in the worktrees of this home. */
async function processesOf(at: Desk): Promise<number[]> {
  if (process.platform !== "linux") return [];
  const needle = `HOME=${at.home.path}\0`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "latin1").includes(needle);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function hasSleeper(at: Desk): Promise<boolean> {
  if (process.platform !== "linux") return true;
  const pids = await processesOf(at);
  return pids.some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith("sleep\0");
    } catch {
      return false;
    }
  });
}

test("Ctrl-C stops a dream and everything of it", async () => {
  await using at = await desk(() => ({ toolCalls: [bash(`${tea}; sleep 300`)] }));
  const dream = await spawnLetta(["--backend", "local", "dream", "--model", CHAT.handle], {
    home: at.home,
    env: at.env,
  });
  while (!(await hasSleeper(at))) await Bun.sleep(20);
  const pids = await processesOf(at);
  dream.kill("SIGINT");
  const { exitCode, stdout } = await dream.exited;
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "Looking back was stopped. The memory is as it was.\n" });
  while (pids.some((pid) => isPidAlive(pid))) await Bun.sleep(20);
  expect(worktrees(at)).toEqual([]);
  await dream[Symbol.asyncDispose]();
}, 60_000);

test("after one prompt it goes on in a process of its own, for who asked for it", async () => {
  const script = (call: number) => (call === 1 ? { toolCalls: [bash(tea)] } : { text: "feat: tea" });
  await using at = await desk(
    script,
    {},
    { reflectionTrigger: "step-count", reflectionStepCount: 2, defaultModel: CHAT.handle },
  );
  const conversation = ["--continue"];
  const quiet = await at.letta(...MODEL, "-p", ...conversation, "--no-dream", "More.");
  expect(quiet).toMatchObject({ exitCode: 0, stdout: "Noted.\n", stderr: "" });
  const { stdout, stderr } = await at.letta(...MODEL, "-p", ...conversation, "And more.");
  expect(stdout).toBe("Noted.\n");
  const [, pid] = /^Looking back on the conversation in the background \(process (\d+)\)\. See: letta dream list/.exec(
    stderr,
  )!;
  while (isPidAlive(Number(pid))) await Bun.sleep(20);
  expect(human(at)).toEndWith("- Ann likes tea.\n");
  expect(JSON.parse((await at.letta("--backend", "local", "dream", "list", "--format", "json")).stdout)).toMatchObject([
    { state: "merged", subject: "feat(reflection): tea" },
  ]);
  expect(await processesOf(at)).toEqual([]);
}, 60_000);

test("a transcript of another program, and a document that is maintained", async () => {
  await using at = await desk((call) =>
    call === 1
      ? {
          toolCalls: [
            bash(`printf -- '---\\ndescription: how to work here\\n---\\n- Use tabs.\\n' > system/AGENTS.md`),
          ],
        }
      : { text: "feat: tabs" },
  );
  const rows = [
    { kind: "user", text: "use tabs", captured_at: "2026-05-04T10:00:00.000Z", source_message_id: "1" },
    { kind: "assistant", text: "ok", captured_at: "2026-05-04T10:00:01.000Z", source_message_id: "2" },
  ];
  await Bun.write(join(at.home.workdir, "t.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const args = ["dream", "--from", "transcript:t.jsonl", "--to", "AGENTS.md", "--model", CHAT.handle];
  expect(await at.json(...args)).toMatchObject({
    exitCode: 0,
    stagedEntries: 2,
    conversationId: expect.stringMatching(/^from-transcript-[0-9a-f]{12}$/),
    targetWritten: true,
  });
  expect(readFileSync(join(at.home.workdir, "AGENTS.md"), "utf8")).toBe("- Use tabs.\n");
  const first = at.server.requests.find(({ body }) => JSON.stringify(body).includes("You are the reflection"))!;
  expect(JSON.stringify(first.body)).toContain("tells coding agents how to work");
  expect(await at.json(...args)).toMatchObject({ launched: false, reason: "no_payload" });
});

test("in line mode: /reflect runs beside the conversation and tells what came of it; /dreams lists it", async () => {
  const gate = Promise.withResolvers<void>();
  await using at = await desk((call) =>
    call === 1 ? { toolCalls: [bash(tea)] } : { text: "feat: Ann likes tea", gate: gate.promise },
  );
  await using letta = await openPty(MODEL, { home: at.home, env: at.env });
  await letta.waitFor(/> $/m);
  letta.type("I like tea\r");
  await letta.waitFor(/Noted\./);
  letta.type("/reflect\r");
  await letta.waitFor(/Looking back in the background/);
  letta.type("still here?\r");
  const said = await letta.waitFor(/still here\?[\s\S]*Noted\./);
  gate.resolve();
  await letta.waitFor(/Memory updated: Ann likes tea/, said);
  letta.type("/dreams\r");
  await letta.waitFor(/\d{14}-[0-9a-f]{8} +merged/);
  letta.type("/sleeptime 40 review\r");
  await letta.waitFor(/it looks back after 40 replies, and you decide/);
  const settings = JSON.parse(readFileSync(join(at.home.path, ".letta/settings.json"), "utf8"));
  expect(Object.values(settings.reflectionSettingsByAgent)).toEqual([
    { trigger: "step-count", stepCount: 40, merge: "review" },
  ]);
}, 60_000);
