// tools list, permissions list, version, help.

import { expect, test } from "bun:test";
import { runHelp } from "@/commands/help.ts";
import { runPermissionsList } from "@/commands/permissions.ts";
import { runToolsList } from "@/commands/tools.ts";
import { runVersion } from "@/commands/version.ts";
import type { LettaError } from "@/lib/errors.ts";
import type { PermissionChecker } from "@/permissions/types.ts";
import { builtinTools } from "@/tools/builtin.ts";
import { createToolRegistry } from "@/tools/registry.ts";
import { VERSION } from "@/version.ts";
import { recordingIo } from "./support.ts";

test("tools: one line each on a terminal, schemas in JSON", async () => {
  const tools = createToolRegistry(builtinTools());
  const screen = recordingIo({ isTty: true, width: 60 });
  await runToolsList({ tools }, {}, screen);
  const lines = screen.out.trimEnd().split("\n");
  expect(lines).toHaveLength(tools.list().length + 1);
  expect(lines.every((line) => line.length <= 60)).toBe(true);
  const json = recordingIo();
  await runToolsList({ tools }, { json: true }, json);
  const { data } = JSON.parse(json.out) as { data: { name: string; parameters: { type: string } }[] };
  expect(data.map(({ name }) => name)).toEqual(tools.list().map(({ name }) => name));
  expect(data.every(({ parameters }) => parameters.type === "object")).toBe(true);
});

const CHECKER: PermissionChecker = {
  mode: "standard",
  modeSource: "default",
  setMode() {},
  check: () => Promise.reject(new Error("nothing is checked here")),
  addRule: async () => {},
  hidesPath: () => false,
  deniedReads: () => ({ paths: [], denies: null }),
  listRules: () => [
    { effect: "allow", rule: "Bash(git status:*)", source: "user" },
    { effect: "allow", rule: "Bash(rm:*)", source: "project", inert: "the folder is not trusted" },
    { effect: "deny", rule: "Read(.env)", source: "local" },
  ],
};

test("permissions: rules with their source, inert ones say why", async () => {
  const io = recordingIo();
  await runPermissionsList({ permissions: CHECKER }, {}, io);
  expect(io.out).toBe(`Mode: standard (default)

EFFECT  RULE                SOURCE
allow   Bash(git status:*)  user
allow   Bash(rm:*)          project  inert: the folder is not trusted
deny    Read(.env)          local
`);
});

test("version prints what --version prints", async () => {
  const io = recordingIo();
  await runVersion({}, io);
  expect(io.out).toBe(`${VERSION} (letta)\n`);
});

test("help explains letta, a command, and a command's command", async () => {
  for (const [path, text] of [
    [[], "Exit codes:"],
    [["agents"], "Usage: letta agents <command>"],
    [["agents", "rm"], "Usage: letta agents delete <id> [options]"],
  ] as const) {
    const io = recordingIo();
    expect(await runHelp([...path], {}, io)).toBe(0);
    expect(io.out).toContain(text);
  }
  const unknown = await runHelp(["agnets"], {}, recordingIo()).catch((error: LettaError) => error);
  expect((unknown as LettaError).hint).toBe("Did you mean: letta help agents");
});
