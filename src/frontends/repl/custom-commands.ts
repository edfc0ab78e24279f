// Commands people write themselves: Markdown files in `~/.letta/commands/` and in a project's `.commands/`. The file's
// name is the command (`/dir:name` in a folder), its body the message. Shell parts run first, with the arguments as
// positional parameters, so that an argument can never become shell code; what they print is not expanded again.
// A project's shell parts run only in a trusted folder, or after the person has seen them.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { App } from "@/app.ts";
import { expandPlaceholder, splitWords } from "@/lib/arguments.ts";
import { escapeDeceptive, toPlainLine, toPlainText } from "@/lib/terminal-text.ts";
import { shellQuote } from "@/lib/text.ts";
import type { ReplCommand } from "./commands/command.ts";
import { findCommand } from "./commands/registry.ts";
import type { ReplSession } from "./session.ts";

export interface CustomCommand {
  name: string;
  description: string;
  argumentHint: string;
  body: string;
  source: "project" | "user";
}

const FrontmatterSchema = v.fallback(
  v.object({ description: v.optional(v.string(), ""), "argument-hint": v.optional(v.string(), "") }),
  { description: "", "argument-hint": "" },
);

const MAX_FILE_BYTES = 100_000;
const MAX_DEPTH = 4;
const MAX_COMMANDS = 500;
const SHELL_TIMEOUT_MS = 10_000;
const SHELL_OUTPUT_CHARS = 30_000;
const SHELL_PART = /!`([^`\n]+)`/g;

/** A project's command beats the user's of the same name; built-in commands beat both. */
export function listCustomCommands(app: Pick<App, "paths" | "settings" | "cwd">): CustomCommand[] {
  const project = join(app.settings.projectRoot ?? app.cwd, ".commands");
  const found = new Map<string, CustomCommand>();
  for (const command of [...scan(app.paths.commands, "user"), ...scan(project, "project")])
    if (!findCommand(command.name)) found.set(command.name, command);
  return [...found.values()];
}

/** For `/name`: undefined when nobody wrote such a command. */
export function findCustomCommand(app: Pick<App, "paths" | "settings" | "cwd">, name: string): ReplCommand | undefined {
  const found = listCustomCommands(app).find((command) => command.name === name.toLowerCase());
  return found && toReplCommand(found);
}

/** As a slash command, for completion, help and running. */
export function toReplCommand(command: CustomCommand): ReplCommand {
  return {
    name: command.name,
    ...(command.argumentHint && { args: toPlainLine(command.argumentHint) }),
    summary: toPlainLine(command.description) || `${command.source} command`,
    whileBusy: true,
    run: async (args, session) => {
      const text = await expand(command, args, session);
      if (text !== null) session.send(text);
    },
  };
}

/** The message; null when the person did not want the shell parts to run. */
async function expand(command: CustomCommand, args: string, session: ReplSession): Promise<string | null> {
  const scripts = [...command.body.matchAll(SHELL_PART)].map((match) => match[1] ?? "");
  if (scripts.length > 0 && command.source === "project" && !(await mayRun(scripts, session))) return null;
  const words = splitWords(args);
  const outputs: string[] = [];
  for (const script of scripts) outputs.push(await runPart(script, words, session));
  let next = 0;
  // One pass over the file's own text: neither an argument nor an output is looked at again.
  return command.body
    .replace(/!`[^`\n]+`|\$ARGUMENTS|\$[1-9]/g, (token) => {
      if (token.startsWith("!")) return outputs[next++] ?? "";
      return expandPlaceholder(token, args, words);
    })
    .trim();
}

async function mayRun(scripts: string[], { app, ui, renderer }: ReplSession): Promise<boolean> {
  if (app.trust.status === "trusted") return true;
  const lines = scripts.map((script) => `  ${escapeDeceptive(script)}`);
  renderer.print([ui.theme.yellow("? This command of the folder runs in your shell:"), ...lines], "question");
  const answer = await ui.choose({
    title: [],
    items: [
      { value: false, label: "No", keys: ["n"] },
      { value: true, label: "Run it", keys: ["y"] },
    ],
  });
  return answer?.values[0] ?? false;
}

/** Output, both streams, trimmed; a failure is part of the text, as it would be for a reader. */
async function runPart(script: string, words: string[], { app, ref }: ReplSession): Promise<string> {
  const parameters = words.map(shellQuote).join(" ");
  const reader = app.services.secrets.openOutput();
  let output = "";
  const take = (text: string): void => {
    if (output.length < SHELL_OUTPUT_CHARS) output += text;
  };
  const shell = app.services.shells.start(
    { command: `set -- ${parameters}\n${script}`, cwd: app.cwd, env: app.services.childEnv({ ...ref, cwd: app.cwd }) },
    (bytes) => take(reader.push(bytes).text),
  );
  const timer = setTimeout(() => void shell.kill(), SHELL_TIMEOUT_MS);
  const exitCode = await shell.exited;
  await shell.closed;
  clearTimeout(timer);
  take(reader.finish().text);
  // It becomes part of a message.
  const text = toPlainText(output.slice(0, SHELL_OUTPUT_CHARS)).trim();
  return exitCode === 0 ? text : `${text}\n(\`${script}\` ended with exit code ${exitCode})`.trim();
}

function scan(root: string, source: CustomCommand["source"], prefix = "", depth = 0): CustomCommand[] {
  if (depth > MAX_DEPTH) return [];
  try {
    return readdirSync(join(root), { withFileTypes: true })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MAX_COMMANDS)
      .flatMap((entry) => {
        const path = join(root, entry.name);
        if (entry.isDirectory()) return scan(path, source, `${prefix}${entry.name.toLowerCase()}:`, depth + 1);
        const name = `${prefix}${entry.name.replace(/\.md$/, "").toLowerCase()}`;
        // People link their own files from elsewhere; a project's link could point at anything.
        const isFile = entry.isFile() || (source === "user" && entry.isSymbolicLink() && statSync(path).isFile());
        if (!isFile || !entry.name.endsWith(".md") || !/^[a-z0-9][\w:-]*$/.test(name)) return [];
        return [parse(name, readFileSync(path, "utf8").slice(0, MAX_FILE_BYTES), source)];
      });
  } catch {
    return []; // no such folder, or not readable: no commands
  }
}

function parse(name: string, text: string, source: CustomCommand["source"]): CustomCommand {
  const match = /^---\r?\n([\s\S]*?)\r?\n---\r?\n?/.exec(text);
  const body = text.slice(match?.[0].length ?? 0);
  const fields = v.parse(FrontmatterSchema, match ? parseYaml(match[1] ?? "") : {});
  const firstLine = body.split("\n").find((line) => line.trim() !== "" && !line.startsWith("#")) ?? "";
  return {
    name,
    description: fields.description || firstLine.trim(),
    argumentHint: fields["argument-hint"],
    body,
    source,
  };
}

/** Broken frontmatter costs the description, not the command. */
function parseYaml(text: string): unknown {
  try {
    return Bun.YAML.parse(text);
  } catch {
    return {};
  }
}
