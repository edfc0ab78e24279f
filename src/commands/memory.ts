// `letta memory …`: an agent's memory from the shell, for people and for the agent itself. Definitions only; what a command
// does is loaded with it.

import { defineCommand } from "citty";
import { withStore } from "./context.ts";
import { dataArgs, outputArgs } from "./output.ts";
import { agentArgs } from "./scope.ts";

const common = { ...agentArgs, ...outputArgs };
/** Of what programs of other Letta clients read. */
const data = { ...agentArgs, ...dataArgs };
const path = { type: "positional", required: false, description: "Only this file or folder" } as const;
const paths = { type: "positional", required: false, valueHint: "PATH...", description: "Files or folders" } as const;
const from = { type: "string", valueHint: "REV", description: "As of this commit (default HEAD)" } as const;

const scope = () => import("./memory-scope.ts");

const status = defineCommand({
  meta: { name: "status", description: "What is not committed and not pushed; exit code 2 when something is" },
  args: data,
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryStatus }] = await Promise.all([scope(), import("./memory-status.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryStatus(memory, args, io));
  },
});

const diff = defineCommand({
  meta: { name: "diff", description: "Uncommitted changes, or those between two commits; exit code 2 if any" },
  args: {
    path,
    from: { ...from, description: "Since this commit" },
    to: { ...from, description: "Up to this one" },
    ...common,
  },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryDiff }] = await Promise.all([scope(), import("./memory-status.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryDiff(memory, args, io));
  },
});

const log = defineCommand({
  meta: { name: "log", description: "Who changed what, when and why; latest first" },
  args: {
    path,
    limit: { type: "string", alias: "n", valueHint: "N", description: "At most this many (default 20)" },
    from: { ...from, description: "Begin at this commit (default HEAD)" },
    ...common,
  },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryLog }] = await Promise.all([scope(), import("./memory-log.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryLog(memory, args, io));
  },
});

const show = defineCommand({
  meta: { name: "show", description: "A commit with its changes, or a file" },
  args: {
    what: { type: "positional", required: false, description: "COMMIT, PATH or COMMIT:PATH (default HEAD)" },
    ...common,
  },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryShow }] = await Promise.all([scope(), import("./memory-log.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryShow(memory, args, io));
  },
});

const blame = defineCommand({
  meta: { name: "blame", description: "Who wrote each line of a file, and when" },
  args: { file: { type: "positional", description: "The file" }, from, ...common },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryBlame }] = await Promise.all([scope(), import("./memory-log.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryBlame(memory, args, io));
  },
});

const why = defineCommand({
  meta: { name: "why", description: "Why a line is in memory, and what was said before it came in" },
  args: { place: { type: "positional", description: "FILE:LINE" }, ...common },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryWhy }] = await Promise.all([scope(), import("./memory-log.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryWhy(memory, args, io));
  },
});

const commit = defineCommand({
  meta: { name: "commit", description: "Check and commit what was changed in the folder" },
  args: {
    paths,
    message: { type: "string", alias: "m", required: true, valueHint: "WHY", description: "The reason" },
    ...common,
  },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryCommit }] = await Promise.all([scope(), import("./memory-change.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryCommit(memory, args, io));
  },
});

const restore = defineCommand({
  meta: {
    name: "restore",
    description: "Drop uncommitted changes of files, or bring files or a backup back",
  },
  args: {
    paths,
    from: {
      ...from,
      valueHint: "REV|BACKUP",
      description: "Bring the files back to this commit; without files: a whole backup",
    },
    message: { type: "string", alias: "m", valueHint: "WHY", description: "The reason, with --from" },
    force: { type: "boolean", description: "A backup may take the memory's place" },
    ...common,
  },
  run: async ({ args, data: context }) => {
    const { withMemory } = await scope();
    if (args._.length === 0 && args.from !== undefined) {
      const { runMemoryRestoreBackup } = await import("./memory-copies.ts");
      return withMemory(context, args, (memory, io) => runMemoryRestoreBackup(memory, args, io));
    }
    const { runMemoryRestore } = await import("./memory-change.ts");
    return withMemory(context, args, (memory, io) => runMemoryRestore(memory, args, io));
  },
});

const revert = defineCommand({
  meta: { name: "revert", description: "Take one commit back with a new one" },
  args: { commit: { type: "positional", description: "The commit" }, ...common },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryRevert }] = await Promise.all([scope(), import("./memory-change.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryRevert(memory, args, io));
  },
});

const undo = defineCommand({
  meta: { name: "undo", description: "Take the last commit back; again, the one before" },
  args: { yes: { type: "boolean", alias: "y", description: "Do not ask" }, ...common },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryUndo }] = await Promise.all([scope(), import("./memory-change.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryUndo(memory, args, io));
  },
});

const tokens = defineCommand({
  meta: { name: "tokens", description: "What the part of memory that is in every request costs" },
  args: {
    "memory-dir": { type: "string", valueHint: "DIR", description: "A memory directory (default: $MEMORY_DIR)" },
    top: { type: "string", valueHint: "N", description: "Show the N largest files (default 20)" },
    quiet: { type: "boolean", description: "Only the total" },
    ...common,
  },
  run: ({ args, data: context }) =>
    withStore(context, async (app, io) => {
      const { runMemoryTokens } = await import("./memory-tokens.ts");
      return runMemoryTokens(app, args, io);
    }),
});

const view = defineCommand({
  meta: { name: "view", description: "Make a page of the memory and its history, and open it in the browser" },
  args: {
    out: { type: "string", valueHint: "FILE", description: "Where to write it (default ~/.letta/viewers)" },
    open: { type: "boolean", description: "Open it; --no-open only writes it" },
    ...common,
  },
  run: async ({ args, data: context }) => (await import("./memory-view.ts")).runMemoryView(context, args),
});

const pull = defineCommand({
  meta: { name: "pull", description: "Take over what the remote has" },
  args: data,
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryPull }] = await Promise.all([scope(), import("./memory-remote.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryPull(memory, args, io));
  },
});

const push = defineCommand({
  meta: { name: "push", description: "Send the remote what was committed" },
  args: data,
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryPush }] = await Promise.all([scope(), import("./memory-remote.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryPush(memory, args, io));
  },
});

const remoteSet = defineCommand({
  meta: { name: "set", description: "Keep the memory in a repository of your own, too" },
  args: {
    url: { type: "positional", description: "https://… or git@host:path" },
    token: { type: "boolean", description: "Read a token from standard input; --no-token uses none" },
    ...common,
  },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryRemoteSet }, { processAsking }] = await Promise.all([
      scope(),
      import("./memory-remote.ts"),
      import("./secret-input.ts"),
    ]);
    return withMemory(context, args, (memory, io) => runMemoryRemoteSet(memory, args, { ...io, ...processAsking() }));
  },
});

const remoteShow = defineCommand({
  meta: { name: "show", description: "Where the memory is kept, too" },
  args: common,
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryRemoteShow }] = await Promise.all([scope(), import("./memory-remote.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryRemoteShow(memory, args, io));
  },
});

const remoteUnset = defineCommand({
  meta: { name: "unset", description: "Keep it on this machine only", alias: ["remove"] },
  args: common,
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryRemoteUnset }] = await Promise.all([scope(), import("./memory-remote.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryRemoteUnset(memory, args, io));
  },
});

const remote = defineCommand({
  meta: { name: "remote", description: "A repository of your own that the memory is kept in, too" },
  subCommands: { show: remoteShow, set: remoteSet, unset: remoteUnset },
  default: "show",
});

const resolve = defineCommand({
  meta: { name: "resolve", description: "Decide what this machine and the remote contradict each other about" },
  args: {
    paths: { ...paths, description: "Files the decision is about (default: all)" },
    ours: { type: "boolean", description: "Keep this machine's version" },
    theirs: { type: "boolean", description: "Take the remote's version" },
    rest: { type: "enum", options: ["ours", "theirs"], description: "What holds for every other file" },
    out: { type: "string", valueHint: "DIR", description: "Write both versions there, to be edited" },
    from: { type: "string", valueHint: "DIR", description: "Take the edited files from there" },
    ...common,
  },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryResolve }] = await Promise.all([scope(), import("./memory-remote.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryResolve(memory, args, io));
  },
});

const backup = defineCommand({
  meta: { name: "backup", description: "Copy the whole memory, history included, beside it" },
  args: data,
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryBackup }] = await Promise.all([scope(), import("./memory-copies.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryBackup(memory, args, io));
  },
});

const backups = defineCommand({
  meta: { name: "backups", description: "List the backups" },
  args: data,
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryBackups }] = await Promise.all([scope(), import("./memory-copies.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryBackups(memory, args, io));
  },
});

const exportFiles = defineCommand({
  meta: { name: "export", description: "Copy the files, without their history, to a directory" },
  args: { out: { type: "string", required: true, valueHint: "DIR", description: "New or empty" }, ...data },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryExport }] = await Promise.all([scope(), import("./memory-copies.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryExport(memory, args, io));
  },
});

const bundle = defineCommand({
  meta: { name: "bundle", description: "Write files and history as one file that git clone reads" },
  args: { file: { type: "positional", required: false, description: "Default: AGENT.bundle" }, ...common },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryBundle }] = await Promise.all([scope(), import("./memory-copies.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryBundle(memory, args, io));
  },
});

const fsck = defineCommand({
  meta: { name: "fsck", description: "Check every object of the repository" },
  args: { repair: { type: "boolean", description: "Mend what can be mended" }, ...common },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryFsck }] = await Promise.all([scope(), import("./memory-check.ts")]);
    return withMemory(context, args, (memory, io) => runMemoryFsck(memory, args, io));
  },
});

const hook = defineCommand({
  meta: { name: "hook", description: "What git calls before a commit", hidden: true },
  args: { name: { type: "positional", description: "pre-commit or post-commit" } },
  run: async ({ args, data: context }) => {
    const [{ withMemory }, { runMemoryHook }] = await Promise.all([scope(), import("./memory-check.ts")]);
    return withMemory(context, {}, (memory, io) => runMemoryHook(memory, args, io));
  },
});

export const command = defineCommand({
  subCommands: {
    ...{
      status,
      diff,
      log,
      show,
      blame,
      why,
      commit,
      restore,
      revert,
      undo,
      tokens,
      view,
      pull,
      push,
      remote,
      resolve,
    },
    ...{ backup, backups, export: exportFiles, bundle, fsck, hook },
  },
});
