// `letta skills …`: the skills of an agent's memory, from the shell. Definitions only; what a command does is loaded with
// it.

import { defineCommand } from "citty";
import { LettaError } from "@/lib/errors.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { dataArgs, outputArgs } from "./output.ts";
import { agentArgs, type ScopeArgs } from "./scope.ts";

const owner = {
  ...agentArgs,
  name: { type: "string", alias: "n", valueHint: "NAME", description: "The agent by its exact name" },
} as const;
const common = { ...owner, ...outputArgs };
const yes = { type: "boolean", alias: "y", description: "Do not ask" } as const;
const skill = { type: "positional", description: "The skill's name" } as const;

type OwnerArgs = ScopeArgs & { name?: string };

async function withSkills(
  data: unknown,
  { name, ...args }: OwnerArgs,
  use: (scope: MemoryScope, io: Io) => Promise<number>,
): Promise<number> {
  if (name !== undefined && args.agent !== undefined) {
    throw new LettaError("usage", "--agent and --name both say which agent: pass one of them");
  }
  const { withMemory } = await import("./memory-scope.ts");
  return withMemory(data, name === undefined ? args : { ...args, agent: name }, use);
}

const list = defineCommand({
  meta: { name: "list", description: "The skills in an agent's memory" },
  args: { ...owner, ...dataArgs },
  run: async ({ args, data }) => {
    const { runSkillsList } = await import("./skills-list.ts");
    return withSkills(data, args, (scope, io) => runSkillsList(scope, args, io));
  },
});

const show = defineCommand({
  meta: { name: "show", description: "What a skill says of itself, its files and where it came from" },
  args: { skill, ...common },
  run: async ({ args, data }) => {
    const { runSkillsShow } = await import("./skills-list.ts");
    return withSkills(data, args, (scope, io) => runSkillsShow(scope, args, io));
  },
});

export const install = defineCommand({
  meta: {
    name: "install",
    description: "Install a skill into an agent's memory",
  },
  args: {
    spec: {
      type: "positional",
      description: "./DIR, an archive, OWNER/REPO/PATH[@REF], https://…/SKILL.md or clawhub:SLUG",
    },
    force: { type: "boolean", description: "Replace a skill of this name" },
    yes,
    ...common,
  },
  run: async ({ args, data }) => {
    const [{ parseInstallSpec }, { commandContext }, { runInstall }] = await Promise.all([
      import("@/skills/install/spec.ts"),
      import("./context.ts"),
      import("./skills-install.ts"),
    ]);
    // What cannot be understood needs no agent.
    const { cwd, env } = commandContext(data);
    const spec = parseInstallSpec(args.spec ?? "", { cwd, home: env.home });
    return withSkills(data, args, (scope, io) => runInstall(scope, spec, args, io));
  },
});

const update = defineCommand({
  meta: { name: "update", description: "Fetch what is new of an installed skill, or of all of them" },
  args: {
    skill: { ...skill, required: false, description: "Only this one" },
    "dry-run": { type: "boolean", description: "Only show what would change" },
    force: { type: "boolean", description: "Also drop what was changed here" },
    yes,
    ...common,
  },
  run: async ({ args, data }) => {
    const { runUpdate } = await import("./skills-update.ts");
    return withSkills(data, args, (scope, io) => runUpdate(scope, args, io));
  },
});

const remove = defineCommand({
  meta: { name: "delete", alias: "remove", description: "Delete a skill; its history stays in the memory" },
  args: { skill, yes, ...common },
  run: async ({ args, data }) => {
    const { runSkillsDelete } = await import("./skills-list.ts");
    return withSkills(data, args, (scope, io) => runSkillsDelete(scope, args, io));
  },
});

const verify = defineCommand({
  meta: { name: "verify", description: "Whether installed skills still are what was installed; exit code 1 if not" },
  args: { skill: { ...skill, required: false, description: "Only this one" }, ...common },
  run: async ({ args, data }) => {
    const { runSkillsVerify } = await import("./skills-list.ts");
    return withSkills(data, args, (scope, io) => runSkillsVerify(scope, args, io));
  },
});

const validate = defineCommand({
  meta: { name: "validate", description: "Check skills against the open format; exit code 1 if one is wrong" },
  args: {
    what: { type: "positional", required: false, description: "A folder or SKILL.md (./DIR), or a skill's name" },
    all: { type: "boolean", description: "All skills in the agent's memory" },
    bundled: { type: "boolean", description: "The skills that come with letta" },
    ...common,
  },
  run: async ({ args, data }) => {
    const { runValidate, needsMemory } = await import("./skills-validate.ts");
    if (needsMemory(args))
      return withSkills(data, args, (scope, io) => runValidate({ ...scope.core, memory: scope.memory }, args, io));
    const { withCore } = await import("./context.ts");
    return withCore(data, (core, io) => runValidate({ ...core, memory: null }, args, io));
  },
});

const create = defineCommand({
  meta: { name: "new", description: "Begin a skill, in an agent's memory or in a folder" },
  args: {
    skill,
    description: { type: "string", alias: "d", valueHint: "TEXT", description: "What it does and when to use it" },
    path: { type: "string", valueHint: "DIR", description: "Make DIR/NAME instead, for example .agents/skills" },
    ...common,
  },
  run: async ({ args, data }) => {
    const { runNewInFolder, runNewInMemory } = await import("./skills-new.ts");
    const { path } = args;
    if (path === undefined) return withSkills(data, args, (scope, io) => runNewInMemory(scope, args, io));
    const { withCore } = await import("./context.ts");
    return withCore(data, (core, io) => runNewInFolder(core, { ...args, path }, io));
  },
});

export const command = defineCommand({
  subCommands: { list, show, install, update, delete: remove, verify, validate, new: create },
});
