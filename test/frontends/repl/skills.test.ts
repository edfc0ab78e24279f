import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findCommand } from "@/frontends/repl/commands/registry.ts";
import { createHistory } from "@/frontends/repl/history.ts";
import { ReplSession } from "@/frontends/repl/session.ts";
import { findSkillCommand, listSkillCommands } from "@/frontends/repl/skill-commands.ts";
import { createTheme } from "@/frontends/repl/theme.ts";
import type { Ui } from "@/frontends/repl/ui.ts";
import type { SkillSource } from "@/skills/types.ts";
import { type TempDir, tempDir } from "../../support/binary.ts";
import { AGENT, conversation, scriptedApp } from "./scripted-app.ts";

let home: TempDir;
beforeEach(() => {
  home = tempDir();
  write("fix", "name: fix\ndescription: Fixes an issue.\nargument-hint: '[number]'", "Fix $1 of <SKILL_DIR>.\n");
  write("plain", "name: plain\ndescription: Has no place for words.\nallowed-tools: Bash(npm test)");
  write("quiet", "name: quiet\ndescription: Only for the agent.\nuser-invocable: false");
  write("mine", "name: mine\ndescription: Only for people.\ndisable-model-invocation: true");
  write("help", "name: help\ndescription: Called like a command.");
});
afterEach(() => home[Symbol.dispose]());

function write(id: string, head: string, body = "Body.\n"): void {
  mkdirSync(join(home.path, ".letta/skills", id), { recursive: true });
  writeFileSync(join(home.path, ".letta/skills", id, "SKILL.md"), `---\n${head}\n---\n${body}`);
}

/** A session whose surface keeps what is printed and given back. */
function open(skillSources: SkillSource[] = ["global", "bundled"], model = AGENT.model) {
  const printed: string[] = [];
  const inputs: string[] = [];
  const ui = {
    interactive: true,
    theme: createTheme(false),
    columns: () => 120,
    print: (lines: string[]) => void printed.push(...lines),
    append: (text: string) => void printed.push(text),
    drain: async () => {},
    choose: async () => null,
    askLine: async () => null,
    setInput: (text: string) => void inputs.push(text),
    bell() {},
    clear() {},
    refresh() {},
    start() {},
    stop() {},
  } satisfies Ui;
  const { app, turns } = scriptedApp({ home: home.path, skillSources });
  const session = new ReplSession({
    app,
    ui,
    history: createHistory(app.paths.history, "/p"),
    agent: { ...AGENT },
    conversation: conversation("conv-1"),
    model,
  });
  return { session, printed, inputs, turns };
}

/** What waits in the queue after a typed line. */
async function typed(line: string) {
  const { session, printed } = open();
  session.submit(line, false);
  await session.queue.waitForItem(AbortSignal.timeout(5_000));
  return { batch: session.queue.takeBatch(), printed };
}

test("/skill-id sends the skill and keeps the screen as it was typed", async () => {
  const { batch } = await typed("/fix 42");
  const folder = join(home.path, ".letta/skills/fix");
  expect(batch).toMatchObject({
    shown: "/fix 42",
    allow: [],
    content: [
      {
        type: "text",
        keep: true,
        text: `<fix>\n---\nname: fix\ndescription: Fixes an issue.\nargument-hint: '[number]'\n---\nFix 42 of ${folder}.\n</fix>`,
      },
    ],
  });
});

test("words without a place come behind the skill; its rules go with the message", async () => {
  const { batch } = await typed("/plain all of them");
  expect(batch).toMatchObject({
    shown: "/plain all of them",
    // The home is the working directory here: the agent could have written the skill.
    allow: [],
    content: [{ keep: true }, { type: "text", text: "all of them" }],
  });
});

test("what only the agent may call is no command; a command is stronger than a skill", async () => {
  const { session, printed, inputs } = open();
  expect(findSkillCommand(session, "quiet")).toBeUndefined();
  session.submit("/quiet", false);
  expect(inputs).toEqual(["/quiet"]);
  expect(printed.join("\n")).toContain("There is no command /quiet");
  session.submit("/help", false);
  expect(session.queue.length).toBe(0);
});

test("completion lists what a person can call, and not what a command stands in front of", () => {
  const { session } = open();
  const rows = listSkillCommands(session).map(({ name, args, summary }) => [name, args, summary]);
  expect(rows).toContainEqual(["fix", "[number]", "Fixes an issue. (global skill)"]);
  expect(rows).toContainEqual(["mine", undefined, "Only for people. (global skill)"]);
  expect(rows.map(([name]) => name)).not.toContain("quiet");
  expect(rows.map(([name]) => name)).not.toContain("creating-skills");
  expect(listSkillCommands(open([]).session)).toEqual([]);
});

test("/skill-creator stands for the bundled skill", async () => {
  const { batch } = await typed("/skill-creator deploys the site");
  expect(batch?.shown).toBe("/skill-creator deploys the site");
  expect(JSON.stringify(batch?.content)).toContain("<creating-skills>");
});

test("a skill that cannot be loaded says why, and nothing is sent", async () => {
  const { session, printed } = open();
  const command = findSkillCommand(session, "fix");
  writeFileSync(join(home.path, ".letta/skills/fix/SKILL.md"), "---\nname: fix\n");
  expect(command?.run("", session)).rejects.toMatchObject({ code: "invalid_data" });
  expect(printed).toEqual([]);
  expect(session.queue.length).toBe(0);
});

test("/skills shows by source what the agent sees, and what it does not and why", async () => {
  const { session, printed } = open(["global"]);
  write("broken", "name: broken");
  writeFileSync(join(home.path, ".letta/skills/broken/SKILL.md"), "---\nname: broken\n");
  await findCommand("skills")?.run("", session);
  const text = printed.filter((line) => line !== "").join("\n");
  expect(text).toBe(
    [
      "global",
      "  ● fix ~/.letta/skills Fixes an issue.",
      "  ● help ~/.letta/skills Called like a command.",
      "  / mine only you: /mine ~/.letta/skills Only for people.",
      "  ● plain ~/.letta/skills Has no place for words.",
      "  ● quiet only the agent ~/.letta/skills Only for the agent.",
      "problems",
      `  ${home.path}/.letta/skills/broken/SKILL.md:1: the head has no closing --- (within 64 KB)`,
      "4 skills in the agent's list (●); ○ called by name only, / only by you, × not in force",
    ].join("\n"),
  );
});
