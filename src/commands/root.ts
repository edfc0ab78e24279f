// `letta` without a subcommand: flags → validated options → one prompt (-p, or stdin is not a terminal) or the REPL.

import { fstatSync } from "node:fs";
import type { Selection } from "@/agent/resolve.ts";
import type { AppOptions } from "@/app.ts";
import { EXIT_OK } from "@/exit-codes.ts";
import type { HeadlessOptions } from "@/frontends/headless/options.ts";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import type { Trigger } from "@/memory/reflection/settings.ts";
import type { StartMode } from "@/memory/sync-service.ts";
import type { PermissionMode } from "@/permissions/types.ts";
import type { SandboxMode } from "@/sandbox/settings.ts";
import type { ToolsetChoice } from "@/tools/toolsets.ts";
import type { CommandContext } from "./context.ts";
import type { GlobalFlags } from "./flags.ts";
import { checkConflicts, parseGlobalFlags } from "./parse-flags.ts";

export type RootContext = Omit<CommandContext, "io">;

export async function runRoot(argv: string[], context: RootContext): Promise<number> {
  const { flags, positionals } = parseGlobalFlags(argv);
  if (flags.help) return print(await renderUsage(), context);
  if (flags.version) return print(await renderVersion(), context);
  if (flags["print-schema"]) return print(await renderSchema(), context);
  if (flags["subagent-stdio"] !== undefined) {
    const { startSubagent } = await import("@/frontends/headless/subagent.ts");
    return startSubagent(context);
  }
  const headless = await isHeadless(flags, positionals);
  checkConflicts(flags, headless ? "headless" : "interactive");
  const selection = selectionFrom(flags, headless ? "headless" : "interactive");
  const appOptions = appOptionsFrom(flags, context, !headless);
  if (headless) {
    const { startHeadless } = await import("@/frontends/headless/start.ts");
    return startHeadless(appOptions, headlessOptionsFrom(flags, positionals, selection));
  }
  const { startRepl } = await import("./start-repl.ts");
  return startRepl(appOptions, selection);
}

/** What chooses agent, conversation and model. */
export function selectionFrom(flags: GlobalFlags, mode: Selection["mode"]): Selection {
  const system = flags["system-custom"] ?? (flags.system && "default");
  return {
    mode,
    ...(flags.agent !== undefined && { agent: flags.agent }),
    ...(flags.name !== undefined && { name: flags.name }),
    ...(flags.conversation !== undefined && { conversation: flags.conversation }),
    continueLast: flags.continue ?? false,
    newConversation: flags.new ?? false,
    newAgent: flags["new-agent"] ?? false,
    chooseConversation: flags.resume ?? false,
    ephemeral: flags.ephemeral ?? false,
    ...(flags.model !== undefined && { model: flags.model }),
    ...(system !== undefined && { system: flags["system-custom"] ? { text: system } : { preset: "default" as const } }),
    save: flags.save ?? false,
    ...(flags.tags && { tags: flags.tags }),
    ...(flags.personality !== undefined && { personality: flags.personality }),
  };
}

export function appOptionsFrom(flags: GlobalFlags, context: RootContext, interactive: boolean): AppOptions {
  // The table has checked that the value is one of the modes.
  const mode = flags.yolo ? "unrestricted" : (flags["permission-mode"] as PermissionMode | undefined);
  return {
    cwd: context.cwd,
    env: context.env,
    label: interactive ? "interactive" : "headless",
    interactive: interactive || flags["input-format"] === "stream-json",
    ...(context.backend && { backend: context.backend }),
    ...(mode && { permissionMode: mode }),
    ...(flags.allowedTools && { allowedTools: flags.allowedTools }),
    ...(flags.disallowedTools && { disallowedTools: flags.disallowedTools }),
    ...(flags.sandbox && { sandbox: flags.sandbox as SandboxMode }),
    ...(flags.tools && { tools: flags.tools }),
    // Checked by the table, too.
    ...(flags.toolset !== undefined && { toolset: flags.toolset as ToolsetChoice }),
    ...(flags["no-system-info-reminder"] && { systemInfoReminder: false }),
    reflection: {
      // Checked by the table, too.
      ...(flags["reflection-trigger"] && { trigger: flags["reflection-trigger"] as Trigger }),
      ...(flags["reflection-step-count"] !== undefined && { stepCount: flags["reflection-step-count"] }),
    },
    whenReflectionDue: whenReflectionDue(flags, interactive),
    ...(flags.record !== undefined && { record: flags.record }),
    ...(flags.replay !== undefined && { replay: flags.replay }),
    ...(flags["memfs-startup"] && { memoryStart: flags["memfs-startup"] as StartMode }),
    ...(flags.stateless && { stateless: true }),
    ...(flags.ephemeral && { ephemeral: true }),
  };
}

/** Who stays has it done beside what goes on; one prompt hands it over to a process of its own. */
function whenReflectionDue(flags: GlobalFlags, interactive: boolean): "in_background" | "at_exit" | "never" {
  if (interactive || flags["input-format"] === "stream-json") return "in_background";
  return flags["no-dream"] ? "never" : "at_exit";
}

export function headlessOptionsFrom(flags: GlobalFlags, positionals: string[], selection: Selection): HeadlessOptions {
  const bidirectional = flags["input-format"] === "stream-json";
  // `letta -p -` means "the prompt comes from stdin", as everywhere.
  const words = positionals.length === 1 && positionals[0] === "-" ? [] : positionals;
  if (bidirectional && selection.ephemeral) {
    throw new LettaError("usage", "--ephemeral does not go with --input-format stream-json");
  }
  if (flags["prompt-file"] !== undefined && words.length > 0) {
    throw new LettaError("usage", "--prompt-file does not go with a prompt on the command line");
  }
  if (flags["include-partial-messages"] && !bidirectional && flags["output-format"] !== "stream-json") {
    throw new LettaError("usage", "--include-partial-messages needs --output-format stream-json");
  }
  // The table has checked that the value is one of the formats.
  const format = (flags["output-format"] ?? "text") as HeadlessOptions["outputFormat"];
  return {
    selection,
    outputFormat: bidirectional ? "stream-json" : format,
    bidirectional,
    partialMessages: flags["include-partial-messages"] ?? false,
    prompt: words.join(" "),
    ...(flags["prompt-file"] !== undefined && { promptFile: flags["prompt-file"] }),
    files: flags.file ?? [],
    stdin: flags["no-stdin"] ? "never" : flags.stdin || positionals[0] === "-" ? "wait" : "auto",
    dryRun: flags["dry-run"] ?? false,
    systemInfoReminder: !flags["no-system-info-reminder"],
    limits: {
      ...(flags["max-turns"] !== undefined && { maxTurns: flags["max-turns"] }),
      ...(flags["max-cost"] !== undefined && { maxCostUsd: flags["max-cost"] }),
      ...(flags["max-tokens"] !== undefined && { maxTokens: flags["max-tokens"] }),
      ...(flags["max-tool-calls"] !== undefined && { maxToolCalls: flags["max-tool-calls"] }),
      ...(flags.timeout !== undefined && { timeoutMs: flags.timeout }),
    },
  };
}

/** Asking for a terminal costs loading node:tty; a pipe or file is told apart without it. */
async function isTerminal(fd: 0 | 1 | 2): Promise<boolean> {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false;
  } catch {
    // A closed descriptor.
    return false;
  }
  return (await import("node:tty")).isatty(fd);
}

async function isHeadless(flags: GlobalFlags, positionals: string[]): Promise<boolean> {
  if (flags.prompt || flags["dry-run"]) return true;
  if (positionals.length > 0) throw await unknownWord(positionals[0]!);
  return !(await isTerminal(0));
}

async function unknownWord(word: string): Promise<LettaError> {
  const { commandNames, MISSING_COMMANDS } = await import("./registry.ts");
  const advice = Object.hasOwn(MISSING_COMMANDS, word) ? MISSING_COMMANDS[word] : undefined;
  if (advice) return new LettaError("usage", `this version of letta does not have "${word}" yet`, { hint: advice });
  const near = findNearest(word, commandNames());
  const hint = `${near ? `Did you mean letta ${near}? ` : ""}To send a prompt use letta -p "…".`;
  return new LettaError("usage", `unknown command or argument "${word}"`, { hint });
}

async function renderUsage(): Promise<string> {
  return (await import("./usage.ts")).renderUsage();
}

async function renderVersion(): Promise<string> {
  const { VERSION } = await import("@/version.ts");
  return `${VERSION} (letta)\n`;
}

async function renderSchema(): Promise<string> {
  const schema = await import("@/frontends/headless/schema.ts");
  return `${JSON.stringify(schema.renderSchema(), null, 2)}\n`;
}

async function print(text: string, { env }: RootContext): Promise<number> {
  const { processIo } = await import("./io.ts");
  processIo(env).stdout(text);
  return EXIT_OK;
}
