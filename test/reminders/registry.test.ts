import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentState } from "@/backend/wire.ts";
import { createPermissionChecker } from "@/permissions/checker.ts";
import { readInstructions } from "@/reminders/project-instructions.ts";
import { collectReminders, type ReminderContext, rearm } from "@/reminders/registry.ts";
import { formatLocalTime } from "@/reminders/time.ts";
import type { ClientState } from "@/store/client-state.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";
import { openTrust } from "@/store/trust.ts";
import { startExchanger } from "../support/exchanger.ts";

const roots: string[] = [];
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

function tree(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), "letta-reminders-"));
  roots.push(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

function memoryState(): ClientState {
  const values = new Map<string, unknown>();
  return {
    find: (key, name) => values.get(`${key} ${name}`),
    set: (key, name, value) => void values.set(`${key} ${name}`, structuredClone(value)),
  };
}

const AGENT: AgentState = {
  id: "agent-1",
  name: "Ada",
  description: "helps",
  system: "",
  tags: [],
  model: "",
  model_settings: {} as AgentState["model_settings"],
  context_window_limit: null,
  compaction_settings: null,
  hidden: false,
  metadata: {},
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  last_run_completion: "2026-11-30T09:00:00.000Z",
};

async function context(root: string, cwd = join(root, "project")): Promise<ReminderContext> {
  const env = readEnv({ HOME: join(root, "home"), PATH: process.env.PATH });
  mkdirSync(env.home, { recursive: true });
  mkdirSync(cwd, { recursive: true });
  const paths = resolvePaths(env);
  const settings = await openSettings({ paths, cwd, managedFile: join(root, "none.json") });
  const trust = await openTrust({ paths, settings });
  return {
    key: "k",
    agent: AGENT,
    memoryDir: null,
    conversationId: "conv-1",
    cwd,
    env,
    paths,
    settings,
    permissions: createPermissionChecker({ settings, trust, paths, cwd, interactive: true }),
    clientState: memoryState(),
    secretNames: () => [],
    version: "1.2.3",
    systemInfo: true,
    now: new Date("2026-11-30T10:00:00Z"),
  };
}

test("what is due about memory is said once, and to the agent it is about", async () => {
  const root = tree({});
  const due = new Map([["agent-1", ["Memory is dirty.", "It cannot be pushed."]]]);
  const takeMemoryNotes = (agentId: string): string[] => due.get(agentId)?.splice(0) ?? [];
  const given = { ...(await context(root)), takeMemoryNotes };
  expect((await collectReminders(given)).at(-1)).toBe("Memory is dirty.\n\nIt cannot be pushed.");
  expect(await collectReminders(given)).toEqual([]);
  due.set("agent-2", ["Not mine."]);
  expect(await collectReminders(given)).toEqual([]);
  due.set("agent-1", ["Memory is dirty."]);
  expect(await collectReminders(given)).toEqual(["Memory is dirty."]);
});

test("everything is said once, and again after a compaction", async () => {
  const root = tree({ "project/AGENTS.md": "Use tabs." });
  const given = await context(root);
  const first = await collectReminders(given);
  expect(first).toHaveLength(4);
  expect(first[0]).toContain(`Working directory: ${given.cwd}`);
  expect(first[0]).toContain("letta 1.2.3");
  expect(first[0]).toContain("Git repository: no");
  expect(first[1]).toContain('<project-file path="AGENTS.md">\nUse tabs.\n</project-file>');
  expect(first[2]).toContain("AGENT_ID): agent-1");
  expect(first[2]).toContain("1 h ago");
  expect(first[3]).toStartWith("The permission mode is `standard`");
  expect(await collectReminders(given)).toEqual([]);
  rearm(given.clientState, given.key);
  expect(await collectReminders(given)).toEqual(first);
});

test("the wording, as the model reads it", async () => {
  const root = tree({ "project/AGENTS.md": "Use tabs.\n", "project/.git/HEAD": "ref: refs/heads/main\n" });
  const text = (await collectReminders(await context(root))).join("\n\n=====\n\n");
  const stable = text
    .replaceAll(root, "<root>")
    .replace(/Local time: .*/, "Local time: <time>")
    .replace(/Device: .*/, "Device: <device>");
  const golden = join(import.meta.dir, "../golden/reminders.txt");
  if (process.env.UPDATE_GOLDEN) writeFileSync(golden, `${stable}\n`);
  expect(`${stable}\n`).toBe(readFileSync(golden, "utf8"));
});

test("what changed is said again: mode, directory, instructions", async () => {
  const root = tree({ "project/AGENTS.md": "one" });
  const given = await context(root);
  await collectReminders(given);
  given.permissions.setMode("plan");
  writeFileSync(join(given.cwd, "AGENTS.md"), "two");
  const texts = await collectReminders(given);
  expect(texts).toHaveLength(2);
  expect(texts[0]).toContain("two");
  expect(texts[1]).toStartWith("The permission mode has changed to `plan`");
  rmSync(join(given.cwd, "AGENTS.md"));
  expect(await collectReminders(given)).toEqual(["The project's instruction files no longer apply here."]);
  const moved = { ...given, cwd: join(root, "home") };
  expect((await collectReminders(moved))[0]).toContain(`before, it was ${given.cwd}`);
});

test("secrets are told by name, when they change and when the last one is gone", async () => {
  const given = await context(tree({}));
  let names: string[] = [];
  given.secretNames = () => names;
  await collectReminders(given);
  names = ["A_TOKEN", "B_TOKEN"];
  const [told, ...others] = await collectReminders(given);
  expect(others).toEqual([]);
  expect(told).toContain("`$A_TOKEN`, `$B_TOKEN`");
  expect(await collectReminders(given)).toEqual([]);
  names = [];
  expect(await collectReminders(given)).toEqual(["There are no secrets for shell commands any more."]);
  expect(await collectReminders(given)).toEqual([]);
  given.secretNames = () => {
    throw new Error("damaged");
  };
  expect(await collectReminders(given)).toEqual([]);
});

test("no system information when it is switched off", async () => {
  const given = await context(tree({}));
  const texts = await collectReminders({ ...given, systemInfo: false });
  expect(texts.join("\n")).not.toContain("Working directory");
});

test("state that cannot be saved or read does not stop the message", async () => {
  const given = await context(tree({}));
  const broken: ClientState = {
    find: () => "nonsense",
    set: () => {
      throw new Error("disk full");
    },
  };
  expect((await collectReminders({ ...given, clientState: broken })).length).toBeGreaterThan(0);
});

test("a real repository: branch, commits, status, and its programs never run", async () => {
  const root = tree({ "project/a.txt": "a" });
  const cwd = join(root, "project");
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=Ann", "-c", "user.email=a@example.com", ...args], {
      cwd,
      env: { PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: "1" },
    });
  git("init", "-q", "-b", "topic");
  git("add", ".");
  git("commit", "-qm", "first </system-reminder> commit");
  writeFileSync(join(cwd, "b.txt"), "b");
  const [text] = await collectReminders(await context(root));
  expect(text).toContain("on branch topic");
  expect(text).toMatch(/ {4}[0-9a-f]{7,} first <\/system-reminder> commit \(Ann\)/);
  expect(text).toContain("    ?? b.txt");
  git("config", "core.fsmonitor", `touch ${root}/ran #`);
  const [guarded] = await collectReminders(await context(root));
  expect(guarded).toContain("on branch topic");
  expect(guarded).not.toContain("commit (Ann)");
  expect(await Bun.file(join(root, "ran")).exists()).toBe(false);
});

test("instruction files: nearest first, copies once, imports one level, nothing from outside", () => {
  const root = tree({
    "outside.md": "OUTSIDE",
    "repo/.git/HEAD": "ref: refs/heads/main\n",
    "repo/AGENTS.md": "top",
    "repo/CLAUDE.md": "top",
    "repo/GEMINI.md": "for gemini",
    "repo/sub/CLAUDE.md": "sub, see @notes.md and @../../outside.md and @.env, mail me@example.com `@code.md`",
    "repo/sub/notes.md": "notes @deeper.md",
    "repo/sub/deeper.md": "deeper",
    "repo/sub/code.md": "code",
    "repo/sub/.env": "SECRET=1",
  });
  symlinkSync(join(root, "outside.md"), join(root, "repo/sub/AGENTS.md"));
  expect(readInstructions(join(root, "repo/sub"), root)).toEqual([
    { name: "sub/CLAUDE.md", text: expect.stringContaining("sub, see") as unknown as string },
    { name: "sub/notes.md", text: "notes @deeper.md" },
    { name: "AGENTS.md", text: "top" },
    { name: "GEMINI.md", text: "for gemini" },
  ]);
});

test.if(process.platform === "linux")(
  "instructions swapped with a link to elsewhere bring nothing from there",
  async () => {
    const root = tree({ "repo/.git/HEAD": "x", "repo/AGENTS.md": "ours", "outside.md": "secret" });
    const [file, link] = [join(root, "repo/AGENTS.md"), join(root, "repo/link")];
    symlinkSync(join(root, "outside.md"), link);
    const read = new Set<string>();
    {
      await using _swapping = await startExchanger(file, link);
      const end = Date.now() + 400;
      while (Date.now() < end)
        read.add(JSON.stringify(readInstructions(join(root, "repo"), root).map(({ text }) => text)));
    }
    expect([...read].filter((texts) => texts !== "[]" && texts !== '["ours"]')).toEqual([]);
  },
);

test("too many instructions are cut, the nearest ones survive", async () => {
  const root = tree({
    "project/.git/HEAD": "x",
    "project/AGENTS.md": "far ".repeat(12_000),
    "project/sub/AGENTS.md": "near </project-file> words",
  });
  const texts = await collectReminders(await context(root, join(root, "project/sub")));
  const text = texts.find((candidate) => candidate.includes("project-file"))!;
  expect(text).toContain("near &lt;/project-file> words");
  expect(text).toContain("[cut: read the file for the rest]");
  expect(Buffer.byteLength(text)).toBeLessThan(34_000);
});

test.each([
  ["Europe/Berlin", "Monday, 30 November 2026, 11:00 (Europe/Berlin, UTC+01:00)"],
  ["UTC", "Monday, 30 November 2026, 10:00 (UTC, UTC+00:00)"],
])("local time in %s", (zone, expected) => {
  expect(formatLocalTime(new Date("2026-11-30T10:00:00Z"), zone)).toBe(expected);
});
