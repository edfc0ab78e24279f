// An explanation as text, and a call as people write it turned into one. Shared by the command and the REPL.

import { LettaError, ToolError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import type { ToolRegistry } from "@/tools/registry.ts";
import type { ToolServices } from "@/tools/services.ts";
import type { CommandPart, CommandView, Explanation } from "./explain.ts";
import { parseNamedCall } from "./named-call.ts";
import type { ExplainingChecker, PermissionReason, PermissionTarget } from "./types.ts";

/** What the explanation of a call needs of an App. */
export interface ExplainApp {
  permissions: ExplainingChecker;
  tools: Pick<ToolRegistry, "find">;
  services: ToolServices;
  cwd: string;
}

/** Throws `usage` when the text is no call, or its arguments are not the tool's. */
export async function explainCall(app: ExplainApp, text: string): Promise<Explanation> {
  const { tool, args } = parseNamedCall(text);
  return app.permissions.explain(tool, targetsOf(app, tool, args));
}

function targetsOf(app: ExplainApp, name: string, args: Record<string, unknown>): PermissionTarget[] {
  const tool = app.tools.find(name);
  if (!tool) return [{ kind: "tool", name, args }];
  try {
    return tool.targets(tool.parse({ ...PLACEHOLDERS[tool.name], ...args }), app);
  } catch (error) {
    if (error instanceof ToolError) throw new LettaError("usage", error.message);
    throw error;
  }
}

/** Arguments that permission does not depend on, so that `Write(a)` is enough. */
const PLACEHOLDERS: Record<string, Record<string, unknown>> = {
  Write: { content: "" },
  Edit: { old_string: "a", new_string: "b" },
  MultiEdit: { edits: [{ old_string: "a", new_string: "b" }] },
  Grep: { pattern: "x" },
  Glob: { pattern: "*" },
};

const VERDICTS = { allow: "allowed", ask: "asks", deny: "denied" } as const;

export function describeExplanation(explanation: Explanation): string {
  const { behavior, always, reason, trace, commands, changes, mode, modeSource, tool } = explanation;
  const verdict = always ? "asks a person, in every mode" : VERDICTS[behavior];
  const others = trace.slice(1);
  const blocks = [
    [`${tool}: ${verdict}`, `  because: ${describeReason(reason)}`, `  mode: ${mode} (${modeSource})`],
    ...commands.map(describeCommand),
    others.length > 0 ? ["Would decide next", ...others.map((other) => `  ${describeReason(other)}`)] : [],
    ["What would change it", ...changes.map((change) => `  ${change}`)],
  ];
  const lines = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
  return `${lines.map((block) => block.split("\n").map(escapeDeceptive).join("\n")).join("\n\n")}\n`;
}

export function describeReason({ by, detail, rule }: PermissionReason): string {
  return `${by}: ${detail}${rule === undefined ? "" : ` — ${rule}`}`;
}

const MARKS: Record<CommandPart["status"], string> = { rule: "rule ", reads: "reads", open: "asks ", listed: "-    " };

function describeCommand({ opaque, parts, run }: CommandView): string[] {
  return [
    opaque === "" ? "What the parser saw" : `What the parser saw (not plain: ${opaque})`,
    ...parts.map(({ text, status, detail }) => `  ${MARKS[status]}  ${oneLine(text)}  (${detail})`),
    ...(run === undefined ? [] : ["Runs as", `  ${shorten(run).replaceAll("\n", "\n  ")}`]),
  ];
}

/** What keeps secrets out of a search fills pages; the JSON has it all. */
const MAX_RUN_CHARS = 600;

function shorten(run: string): string {
  if (run.length <= MAX_RUN_CHARS) return run;
  return `${run.slice(0, MAX_RUN_CHARS / 2)} … ${run.slice(-MAX_RUN_CHARS / 4)}  (${run.length} characters)`;
}

function oneLine(text: string): string {
  const line = text.replaceAll("\n", "⏎");
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
