// What a person decides about: the block with question, subject and diff, the answers, and how an answer becomes a
// Decision. The subject is shown as it is, with every deceptive character spelled out.

import type { Decision, EngineEvent } from "@/engine/events.ts";
import { escapeDeceptive, toPlainLine, wrap } from "@/lib/terminal-text.ts";
import { shortCount } from "@/lib/text.ts";
import type { RuleSuggestion } from "@/permissions/types.ts";
import type { Answer, Choice } from "./choice.ts";
import { formatChange, formatDiff, plainPath } from "./diff-view.ts";
import type { Theme } from "./theme.ts";

export type ApprovalRequest = Extract<EngineEvent, { type: "approval_requested" }>;

/** A scope: "yes, and add its rules". */
type Verdict = "yes" | "no" | RuleSuggestion["scope"];

export interface ApprovalViewOptions {
  theme: Theme;
  columns: number;
  cwd: string;
}

/** Argument text shown at most; the rest is counted. */
const MAX_ARGUMENT_LINES = 40;
/** Diff lines shown per file. */
const REVIEW_LINES = 200;

/** Printed once, above the answers; stays in the scrollback. */
export function approvalBlock(request: ApprovalRequest, { theme, columns, cwd }: ApprovalViewOptions): string[] {
  const count = request.count > 1 ? theme.dim(` (${request.index} of ${request.count})`) : "";
  const lines = [theme.bold(theme.yellow(`? ${question(request)}`)) + count];
  const room = Math.max(10, columns - 3);
  if (request.diffs.length > 0) {
    for (const diff of request.diffs) {
      lines.push(`  ${escapeDeceptive(plainPath(diff.path, cwd))} ${formatChange(diff, theme)}`);
      lines.push(
        ...formatDiff(diff, { theme, columns: room, limit: REVIEW_LINES, review: true }).map((line) => `  ${line}`),
      );
    }
  } else lines.push(...subject(request, room).map((line) => `  ${line}`));
  lines.push(...wrap(theme.dim(reasonText(request)), room).map((line) => `  ${line}`));
  return lines;
}

/** 1 is yes, 2 the narrowest "don't ask again", 3 no, whatever else there is: fingers remember numbers. */
export function approvalChoice(request: ApprovalRequest): Choice<Verdict> {
  const scopes = [...new Set(request.suggestions.map(({ scope }) => scope))];
  const [first, ...others] = scopes.map((scope) => ({ value: scope, label: alwaysLabel(request, scope) }));
  return {
    title: [],
    items: [
      { value: "yes", label: "Yes", keys: ["y"] },
      ...(first ? [first] : []),
      { value: "no", label: "No, and tell the agent why", keys: ["n"], input: true },
      ...others,
    ],
  };
}

/** Null (Esc, Ctrl-C) denies what is left of the batch and ends the turn. */
export function toDecision(request: ApprovalRequest, answer: Answer<Verdict> | null): Decision {
  if (!answer) return { behavior: "deny", reason: "The user cancelled.", interrupt: true };
  switch (answer.values[0]) {
    case "yes":
      return { behavior: "allow" };
    case "no":
    case undefined:
      return answer.text ? { behavior: "deny", reason: answer.text } : { behavior: "deny" };
    default:
      return { behavior: "allow", addRules: request.suggestions.filter(({ scope }) => answer.values.includes(scope)) };
  }
}

/** One line for the scrollback, so that it says what was answered. */
export function decisionLine(decision: Decision, theme: Theme): string {
  if (decision.behavior === "allow") {
    const scope = decision.addRules?.[0]?.scope;
    return theme.dim(scope ? `  yes, and don't ask again ${WHERE[scope]}` : "  yes");
  }
  return theme.yellow(decision.reason && !decision.interrupt ? `  no: ${toPlainLine(decision.reason)}` : "  no");
}

const WHERE: Record<RuleSuggestion["scope"], string> = {
  session: "in this session",
  local: "in this project",
  project: "in this project, for everyone",
  user: "anywhere",
};

function alwaysLabel({ call, suggestions }: ApprovalRequest, scope: RuleSuggestion["scope"]): string {
  const rules = [...new Set(suggestions.filter((suggestion) => suggestion.scope === scope).map(({ rule }) => rule))];
  const { command = call.args.cmd } = call.args;
  const exact = typeof command === "string" && rules.every((rule) => rule.endsWith(`(${command})`));
  const names = exact ? "exactly this command" : rules.map((rule) => toPlainLine(escapeDeceptive(rule))).join(", ");
  return `Yes, and don't ask again ${WHERE[scope]} for ${names}`;
}

function question({ call, diffs, reason }: ApprovalRequest): string {
  if (diffs.length > 0) {
    if (diffs.every((diff) => diff.kind === "create"))
      return diffs.length > 1 ? "Create these files?" : "Create this file?";
    if (diffs.every((diff) => diff.kind === "delete"))
      return diffs.length > 1 ? "Delete these files?" : "Delete this file?";
    return diffs.length > 1 ? "Make these edits?" : "Make this edit?";
  }
  if (typeof call.args.command === "string" || typeof call.args.cmd === "string")
    return reason.by === "sandbox" ? "Run this command without the sandbox?" : "Run this command?";
  if (typeof call.args.plan === "string") return "Carry out this plan?";
  return `Use ${toPlainLine(escapeDeceptive(call.tool))}?`;
}

/** A command whole, with its description; anything else as its arguments. */
function subject({ call }: ApprovalRequest, room: number): string[] {
  // A plan is what the person is asked to judge: all of it.
  if (typeof call.args.plan === "string") return wrapAll(call.args.plan, room);
  const { command = call.args.cmd, cmd: _, description, ...others } = call.args;
  if (typeof command !== "string") return limited(argumentLines(call.args, room));
  const lines = wrapAll(command, room);
  if (typeof description === "string") lines.push(...wrapAll(`# ${toPlainLine(escapeDeceptive(description))}`, room));
  return [...limited(lines), ...limited(argumentLines(others, room))];
}

function argumentLines(args: Record<string, unknown>, room: number): string[] {
  return Object.entries(args).flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return wrapAll(`${name}: ${text}`, room);
  });
}

function wrapAll(text: string, room: number): string[] {
  return text.split("\n").flatMap((line) => wrap(escapeDeceptive(line), room));
}

function limited(lines: string[]): string[] {
  if (lines.length <= MAX_ARGUMENT_LINES) return lines;
  const hidden = lines.length - MAX_ARGUMENT_LINES;
  // The end is as telling as the beginning: a long harmless command may end in a harmful one.
  const half = MAX_ARGUMENT_LINES / 2;
  return [...lines.slice(0, half), `… ${shortCount(hidden)} more lines …`, ...lines.slice(-half)];
}

function reasonText({ reason }: ApprovalRequest): string {
  const rule = reason.rule ? ` (${escapeDeceptive(reason.rule)})` : "";
  return toPlainLine(`asked because: ${escapeDeceptive(reason.detail || reason.by)}${rule}`);
}
