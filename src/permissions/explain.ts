// Why a call is decided as it is, for people: what the parser saw of a command, which rule of which file answered, what
// else would have answered, and what would change it.

import { parseShell } from "@/shell/parser.ts";
import type { PlainCommand } from "@/shell/plain.ts";
import { scanShell } from "@/shell/scan.ts";
import { type DecisionContext, walkCommands } from "./decide.ts";
import { formatRule } from "./rules.ts";
import type { PermissionReason, PermissionTarget, RuleSource, Verdict } from "./types.ts";

export interface Explanation {
  tool: string;
  behavior: "allow" | "ask" | "deny";
  /** Only a person may answer, in every mode. */
  always: boolean;
  reason: PermissionReason;
  /** Everything that would have answered, in order; the first one did. */
  trace: PermissionReason[];
  mode: string;
  modeSource: string;
  commands: CommandView[];
  /** What else would change the answer, as sentences. */
  changes: string[];
}

/** What was seen of one shell command. */
export interface CommandView {
  text: string;
  /** Why it is not plain, so that only a rule for exactly this text allows it; "" when it is. */
  opaque: string;
  /** Its commands in order; of text that is not plain, all that may run. */
  parts: CommandPart[];
  /** What runs in its place when it is allowed because it only reads. */
  run?: string;
}

export interface CommandPart {
  text: string;
  /** `rule`: a rule covers it. `reads`: proven to only read. `open`: neither. `listed`: only seen. */
  status: "rule" | "reads" | "open" | "listed";
  detail: string;
}

export function viewCommand(
  target: Extract<PermissionTarget, { kind: "shell" }>,
  context: DecisionContext,
): CommandView {
  const { command } = target;
  const parts: CommandPart[] = [];
  const add = (part: PlainCommand, status: CommandPart["status"], detail: string) =>
    parts.push({ text: part.words.map(({ source }) => source).join(" "), status, detail });
  const opaque = walkCommands(target, context, {
    onCovered: (part, rule) => add(part, "rule", `${formatRule(rule)} (${describeSource(rule.source)})`),
    onProven: (part) => add(part, "reads", "only reads"),
    onOpen: (part, reason) => add(part, "open", reason.detail),
  });
  if (opaque === "") return { text: command, opaque, parts };
  const { commands, dynamic } = scanShell(command, parseShell(command));
  const listed = commands.slice(0, 20).map(({ argv, writes }): CommandPart => {
    const detail = writes.length > 0 ? `writes ${writes.join(", ")}` : "may run";
    return { text: argv.join(" "), status: "listed", detail };
  });
  if (dynamic) listed.push({ text: "…", status: "listed", detail: "a command whose name is only known when it runs" });
  return { text: command, opaque, parts: listed };
}

/** Where a rule stands, in words. */
export function describeSource(source: RuleSource): string {
  return {
    managed: "the administrator's settings",
    cli: "a flag",
    session: "this session",
    local: ".letta/settings.local.json",
    project: ".letta/settings.json",
    user: "~/.letta/settings.json",
    skill: "a skill in use",
  }[source];
}

export function suggestChanges(verdict: Verdict): string[] {
  const { reason } = verdict;
  if (verdict.behavior === "ask") {
    if (verdict.always) return ["Nothing: a person answers this each time, in every mode."];
    const rules = [...new Set(verdict.suggestions.map(({ rule }) => rule))];
    return [
      ...(reason.rule && reason.source
        ? [`Without the rule ${reason.rule} in ${describeSource(reason.source)} the next reason would decide.`]
        : []),
      ...(rules.length > 0 ? [`Allowed with ${rules.length > 1 ? "the rules" : "the rule"} ${rules.join(", ")}.`] : []),
      ...(verdict.allowFlag ? [`Allowed for one run with ${verdict.allowFlag}.`] : []),
    ];
  }
  if (verdict.behavior === "deny") {
    if (reason.rule && reason.source)
      return [`Only without the rule ${reason.rule} in ${describeSource(reason.source)}; no allow rule beats it.`];
    return reason.by === "mode"
      ? ["Allowed or asked in another mode (/mode)."]
      : ["Nothing: no rule or mode allows it."];
  }
  if (reason.rule && reason.source)
    return [`Without the rule ${reason.rule} in ${describeSource(reason.source)} the next reason would decide.`];
  return ["A deny or ask rule for it would stop it; in strict mode it asks unless a rule allows it."];
}
