// From a model's tool calls to decided calls: parse, check the permission, ask whoever can answer. Nothing is executed
// here. A call that cannot be run (unknown tool, arguments that did not arrive whole) is `invalid` with a text for the
// model; it never runs with guessed arguments.

import { MAX_ARGUMENT_DEPTH } from "@/backend/model.ts";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import { isDeeperThan, isRecord, parseJson } from "@/lib/json.ts";
import { fileKey } from "@/permissions/places.ts";
import type {
  PermissionChecker,
  PermissionReason,
  PermissionTarget,
  ProvenCommand,
  RealPaths,
  Verdict,
} from "@/permissions/types.ts";
import type { AnyTool, FileDiff, Resource, ToolContext } from "@/tools/define-tool.ts";
import type { PendingCall } from "./drain.ts";
import type { Decision, EngineEvent, ToolCallInfo } from "./events.ts";
import type { TurnHooks } from "./turn-hooks.ts";

export type PreparedCall =
  | { status: "invalid"; info: ToolCallInfo; message: string }
  | { status: "ready"; info: ToolCallInfo; tool: AnyTool; args: unknown };

export type DecidedCall =
  | { status: "invalid"; info: ToolCallInfo; message: string }
  | { status: "denied"; info: ToolCallInfo; reason: string }
  | ApprovedCall;

export interface ApprovedCall {
  status: "approved";
  info: ToolCallInfo;
  tool: AnyTool;
  args: unknown;
  resource: Resource;
  /** What it was allowed to do. */
  targets: PermissionTarget[];
  /** Given to the model beside the result. */
  comment?: string;
  /** A person has seen exactly these arguments. */
  seen?: boolean;
  /** Allowed without asking because it only reads: what was proven runs, not what was written. */
  proven?: ProvenCommand;
  /** Where its paths were when this was decided: it may use no other place. */
  realPaths: RealPaths;
}

export interface ApprovalDeps {
  /** Whose turn it is; null for ephemeral runs. */
  agentId: string | null;
  turnId: string;
  conversationId: string;
  cwd: string;
  services: ToolContext["services"];
  permissions: PermissionChecker;
  approver: "front_end" | "nobody";
  hooks: Pick<TurnHooks, "permission">;
  /** Allow rules of the skills in use. */
  granted: readonly string[];
  emit(event: EngineEvent): Promise<void>;
  /** Resolves with the front end's answer, or with null when the turn was aborted meanwhile. */
  waitForDecision(approvalId: string): Promise<Decision | null>;
  /** A person is waited for. */
  notify(message: string): void;
}

export interface DecidedBatch {
  calls: DecidedCall[];
  /** A person denied a call and wants the turn to end. */
  interrupted: boolean;
}

/** Fixed: other programs compare against it. */
const HEADLESS_ASK = "Tool requires approval (headless mode)";
const USER_INTERRUPTED = "User interrupted the stream";

/** `understand` finds tools that were not offered but may be run. */
export function prepareCall(
  call: PendingCall,
  tools: AnyTool[],
  cwd: string,
  understand: (name: string) => AnyTool | undefined = () => undefined,
): PreparedCall {
  const info: ToolCallInfo = {
    toolCallId: call.toolCallId,
    tool: call.name,
    argumentsText: call.argumentsText,
    args: {},
    title: "",
  };
  const invalid = (message: string): PreparedCall => ({ status: "invalid", info, message });
  if (!call.name) return invalid("The tool call arrived incomplete (no tool name). Call the tool again.");
  const args = parseArguments(call.argumentsText);
  if (!args) {
    return invalid(
      `The arguments of ${call.name} did not arrive as a complete JSON object, so it was not run. They were probably lost in transit: do not resend them identically; shorten them or split the work into smaller calls.`,
    );
  }
  info.args = args;
  const tool = tools.find((candidate) => candidate.name === call.name) ?? understand(call.name);
  if (!tool)
    return invalid(`Unknown tool ${call.name}. Available tools: ${tools.map((known) => known.name).join(", ")}.`);
  try {
    const parsed = tool.parse(args);
    info.title = tool.title(parsed, cwd);
    return { status: "ready", info, tool, args: parsed };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return invalid(error.message);
  }
}

/** Decides the whole batch, in order, before anything runs: a rule added by one answer counts for the calls after it. */
export async function decideBatch(calls: PreparedCall[], deps: ApprovalDeps): Promise<DecidedBatch> {
  const decided: DecidedCall[] = [];
  const count = calls.length;
  let interrupted = false;
  for (const [position, call] of calls.entries()) {
    if (call.status === "invalid") decided.push(call);
    else if (interrupted) decided.push({ status: "denied", info: call.info, reason: USER_INTERRUPTED });
    else {
      const result = await decideCall(call, deps, { index: position + 1, count });
      decided.push(result.call);
      interrupted ||= result.interrupt;
    }
  }
  return { calls: decided, interrupted };
}

type ReadyCall = Extract<PreparedCall, { status: "ready" }>;
interface Checked {
  verdict: Verdict;
  /** What it is about. */
  targets: PermissionTarget[];
}
interface Ruling {
  call: DecidedCall;
  interrupt: boolean;
}
/** Among the questions of the batch, from 1. */
interface Place {
  index: number;
  count: number;
}

async function decideCall(call: ReadyCall, deps: ApprovalDeps, place: Place): Promise<Ruling> {
  const { info, tool, args } = call;
  try {
    return await settle(call, await checkCall(tool, args, deps), deps, place);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { call: { status: "invalid", info, message: error.message }, interrupt: false };
  }
}

/** What a hook wants with a call that was approved: other arguments, or a person's eyes on it. */
export interface Change {
  updatedInput: Record<string, unknown> | null;
  ask: string | null;
}

/** Decides an approved call once more after a hook had its say. New arguments are parsed and checked like a new call's:
 *  nothing that was allowed before speaks for them. */
export async function decideAgain(approved: ApprovedCall, change: Change, deps: ApprovalDeps): Promise<Ruling> {
  const merged = { ...approved.info.args, ...change.updatedInput };
  const rewritten = !Bun.deepEquals(merged, approved.info.args);
  if (!rewritten && (change.ask === null || approved.seen)) return { call: approved, interrupt: false };
  const { tool } = approved;
  const info = rewritten
    ? { ...approved.info, args: merged, argumentsText: JSON.stringify(merged), rewritten: true as const }
    : approved.info;
  try {
    const args = rewritten ? tool.parse(merged) : approved.args;
    info.title = tool.title(args, deps.cwd);
    const { verdict, targets } = await checkCall(tool, args, deps);
    const call: ReadyCall = { status: "ready", info, tool, args };
    const checked = { verdict: withHookQuestion(verdict, change.ask), targets };
    const ruling = await settle(call, checked, deps, { index: 1, count: 1 }, true);
    return rewritten ? { ...ruling, call: withRewriteNote(ruling.call) } : ruling;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const message = `A hook changed the arguments of this call, and they cannot be used: ${error.message}`;
    return { call: { status: "invalid", info, message }, interrupt: false };
  }
}

/** A hook may ask where nothing else does; it takes no question and no denial away. */
function withHookQuestion(verdict: Verdict, ask: string | null): Verdict {
  if (ask === null || verdict.behavior !== "allow") return verdict;
  const reason: PermissionReason = { by: "hook", detail: ask };
  const trace = [...verdict.trace, reason];
  return { behavior: "ask", always: true, reason, trace, suggestions: [], realPaths: verdict.realPaths };
}

/** The model must not think that its own words ran. */
function withRewriteNote(call: DecidedCall): DecidedCall {
  const note = `[A hook of the user changed the arguments of this call to: ${call.info.argumentsText}]`;
  if (call.status === "approved") return { ...call, comment: call.comment ? `${note}\n\n${call.comment}` : note };
  if (call.status === "denied") return { ...call, reason: `${call.reason}\n${note}` };
  return call;
}

/** Turns a verdict into what happens: hooks may answer a question, then a person, then nobody can. */
async function settle(
  call: ReadyCall,
  { verdict: checked, targets }: Checked,
  deps: ApprovalDeps,
  place: Place,
  again = false,
): Promise<Ruling> {
  const { info } = call;
  const verdict = checked.behavior === "ask" ? await askHooks(call, checked, deps) : checked;
  if (verdict.behavior === "ask" && deps.approver === "front_end")
    return askPerson(call, { verdict, targets }, deps, place);
  const behavior = verdict.behavior === "allow" ? "allow" : "deny";
  const allowFlag = verdict.behavior === "ask" ? verdict.allowFlag : undefined;
  await deps.emit({
    type: "auto_decided",
    turnId: deps.turnId,
    call: info,
    behavior,
    reason: verdict.reason,
    ...(allowFlag !== undefined && { allowFlag }),
    ...(again && { again }),
  });
  if (verdict.behavior === "allow")
    return { call: { ...approve(call, { verdict, targets }, deps), ...proven(verdict) }, interrupt: false };
  return { call: { status: "denied", info, reason: formatDenial(verdict) }, interrupt: false };
}

function proven({ run }: Extract<Verdict, { behavior: "allow" }>): { proven?: ProvenCommand } {
  return run ? { proven: run } : {};
}

async function askHooks(
  call: ReadyCall,
  verdict: Extract<Verdict, { behavior: "ask" }>,
  deps: ApprovalDeps,
): Promise<Verdict> {
  const answer = await deps.hooks.permission(call, verdict);
  if (!answer) return verdict;
  const reason: PermissionReason = { by: "hook", detail: answer.reason };
  const trace = [...verdict.trace, reason];
  return { behavior: answer.behavior, reason, trace, realPaths: verdict.realPaths };
}

async function checkCall(tool: AnyTool, args: unknown, deps: ApprovalDeps): Promise<Checked> {
  const targets = tool.targets(args, deps);
  const verdict = await deps.permissions.check(tool.name, targets, deps.agentId, deps.granted);
  if (verdict.behavior === "deny" || !tool.alwaysAsk) return { verdict, targets };
  // A rule could not spare the question, so none is offered for that.
  const reason: PermissionReason = { by: "tool", detail: `${tool.name} always needs a person` };
  const suggestions = [...(tool.suggestions ?? [])];
  const trace = [...verdict.trace, reason];
  const asked: Verdict = {
    behavior: "ask",
    always: true,
    reason,
    trace,
    suggestions,
    realPaths: verdict.realPaths,
  };
  return { verdict: asked, targets };
}

async function askPerson(
  call: ReadyCall,
  { verdict, targets }: { verdict: Extract<Verdict, { behavior: "ask" }>; targets: PermissionTarget[] },
  deps: ApprovalDeps,
  place: Place,
): Promise<Ruling> {
  const { info, tool } = call;
  const approvalId = `perm-${info.toolCallId}`;
  const answer = deps.waitForDecision(approvalId);
  await deps.emit({
    type: "approval_requested",
    turnId: deps.turnId,
    approvalId,
    call: info,
    reason: verdict.reason,
    suggestions: verdict.suggestions,
    diffs: await previewDiffs(tool, call.args, { ...deps, realPaths: verdict.realPaths }),
    ...place,
  });
  deps.notify(`The agent asks to use ${info.tool}: ${info.title}`);
  const decision = await answer;
  const resolved: Ruling = decision
    ? await applyDecision(call, { verdict, targets }, { decision, deps })
    : { call: { status: "denied", info, reason: USER_INTERRUPTED }, interrupt: true };
  await deps.emit({
    type: "approval_resolved",
    turnId: deps.turnId,
    approvalId,
    call: resolved.call.info,
    behavior: resolved.call.status === "approved" ? "allow" : "deny",
    ...(resolved.call.status === "denied" && { reason: resolved.call.reason }),
    ...(resolved.call.status === "invalid" && { reason: resolved.call.message }),
  });
  return resolved;
}

async function applyDecision(
  call: ReadyCall,
  checked: Checked,
  { decision, deps }: { decision: Decision; deps: ApprovalDeps },
): Promise<Ruling> {
  const { info } = call;
  if (decision.behavior === "deny") {
    const reason = decision.reason
      ? `Error: request to call tool denied. User reason: ${decision.reason}`
      : "Error: request to call tool denied.";
    return { call: { status: "denied", info, reason }, interrupt: decision.interrupt ?? false };
  }
  for (const suggestion of decision.addRules ?? []) {
    await deps.permissions.addRule("allow", suggestion.rule, suggestion.scope);
  }
  if (!decision.updatedArgs) {
    return { call: { ...approve(call, checked, deps, decision.comment), seen: true }, interrupt: false };
  }
  return { call: await approveUpdated(call, decision.updatedArgs, deps, decision.comment), interrupt: false };
}

/** Rewritten arguments are parsed and checked again; what a rule denies stays denied, what would ask was just answered. */
async function approveUpdated(
  call: ReadyCall,
  updatedArgs: Record<string, unknown>,
  deps: ApprovalDeps,
  comment: string | undefined,
): Promise<DecidedCall> {
  const { tool } = call;
  const info: ToolCallInfo = { ...call.info, args: updatedArgs, argumentsText: JSON.stringify(updatedArgs) };
  try {
    const args = tool.parse(updatedArgs);
    info.title = tool.title(args, deps.cwd);
    const { verdict, targets } = await checkCall(tool, args, deps);
    if (verdict.behavior === "deny") return { status: "denied", info, reason: formatDenial(verdict) };
    return { ...approve({ ...call, info, args }, { verdict, targets }, deps, comment), seen: true };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { status: "invalid", info, message: error.message };
  }
}

function approve(call: ReadyCall, { verdict, targets }: Checked, deps: ApprovalDeps, comment?: string): ApprovedCall {
  const { realPaths } = verdict;
  return {
    status: "approved",
    info: call.info,
    tool: call.tool,
    args: call.args,
    resource: toRealResource(call.tool.resource(call.args, deps), realPaths),
    realPaths,
    targets,
    ...(comment && { comment }),
  };
}

/** Two spellings of one file are one file. */
function toRealResource(resource: Resource, realPaths: RealPaths): Resource {
  if (resource.kind === "barrier" || resource.path === undefined) return resource;
  return { ...resource, path: fileKey(realPaths.get(resource.path) ?? resource.path) };
}

/** A preview is a courtesy: when it fails the question is asked without one, and the tool will report the error. */
async function previewDiffs(
  tool: AnyTool,
  args: unknown,
  deps: ApprovalDeps & { realPaths: RealPaths },
): Promise<FileDiff[]> {
  try {
    return (await tool.preview?.(args, deps)) ?? [];
  } catch (error) {
    return [{ path: "", kind: "update", added: 0, removed: 0, hunks: [], note: errorMessage(error) }];
  }
}

/** What the model reads about a denial (fixed forms: spec 03 §1.4). */
function formatDenial(verdict: Exclude<Verdict, { behavior: "allow" }>): string {
  if (verdict.behavior === "ask") {
    const wayOut = verdict.allowFlag ? ` It would be allowed with ${verdict.allowFlag}.` : "";
    return `${HEADLESS_ASK}: ${verdict.reason.detail}.${wayOut}`;
  }
  if (verdict.reason.rule) return `Permission denied by rule: ${verdict.reason.rule}`;
  return `Permission denied: ${verdict.reason.detail}`;
}

/** Null for anything but a complete JSON object. An empty text is the empty object: some providers send no arguments so. */
function parseArguments(text: string): Record<string, unknown> | null {
  if (text.trim() === "") return {};
  const value = parseJson(text);
  return isRecord(value) && !isDeeperThan(MAX_ARGUMENT_DEPTH, value) ? value : null;
}
