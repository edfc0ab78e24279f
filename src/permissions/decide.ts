// The decision about one thing a tool call wants to do. Pure: rules, mode and places in, a verdict with its whole trace
// out. The first step that answers wins; the steps are in the order of spec 03 §8.5b.

import { isAbsolute } from "node:path";
import { isHarmlessRedirect, type PlainCommand } from "@/shell/plain.ts";
import { directoriesOf, findBreaker, isForkBomb } from "./breakers.ts";
import {
  allowsCommand,
  allowsEveryCommand,
  allowsFile,
  allowsText,
  coversTool,
  coversUrl,
  globWords,
  governsFile,
  governsPlace,
  governsShell,
  pathWords,
  type ShellCall,
  toShellCall,
} from "./match.ts";
import { expandHome, isInWorkspace, type Place, type Places, toPlace } from "./places.ts";
import { isProtected } from "./protected.ts";
import { guardStores, isOwnMemory, protectStoresFromSearch, readStep } from "./reads.ts";
import { formatRule, type Rule } from "./rules.ts";
import { type GitFacts, type Proof, proveReadOnly } from "./shell-proof.ts";
import type { PermissionMode, PermissionReason, PermissionTarget, RuleEffect, RuleSource } from "./types.ts";

export interface EffectiveRule extends Rule {
  effect: RuleEffect;
  source: RuleSource;
}

export interface DecisionContext {
  mode: PermissionMode;
  modeSource: string;
  /** Only rules in force; inert ones are left out. */
  rules: EffectiveRule[];
  places: Places;
  /** What the sandbox that commands run in makes unnecessary to ask. */
  confinement: { shell: boolean; edits: boolean };
  git: GitFacts;
}

export interface Decision {
  behavior: "allow" | "deny" | "ask";
  /** Only for `ask`. */
  always: boolean;
  reason: PermissionReason;
  /** The shell text the answer holds for, in the place of the model's. */
  run?: string;
  /** The file the answer is about. */
  real?: string;
  readonly trace: PermissionReason[];
}

type Step = { behavior: Decision["behavior"]; always?: boolean; reason: PermissionReason; run?: string };

/** Strongest first. Administrators beat everyone, flags beat what is saved. */
const PRECEDENCE: RuleSource[] = ["managed", "cli", "session", "local", "project", "user"];

/** Rules in force do not change: each list is sorted once. */
const sorted = new WeakMap<EffectiveRule[], Map<RuleEffect, EffectiveRule[]>>();

/** Strongest source first. */
function rulesWith(effect: RuleEffect, rules: EffectiveRule[]): EffectiveRule[] {
  let lists = sorted.get(rules);
  if (!lists) {
    const ordered = rules.toSorted((a, b) => PRECEDENCE.indexOf(a.source) - PRECEDENCE.indexOf(b.source));
    lists = Map.groupBy(ordered, (rule) => rule.effect);
    sorted.set(rules, lists);
  }
  return lists.get(effect) ?? NONE;
}

const NONE: EffectiveRule[] = [];

export function decide(target: PermissionTarget, context: DecisionContext): Decision {
  const subject = toSubject(target, context);
  const { behavior, always = false, reason, run } = firstStep(subject, context) ?? askByDefault(subject, context.mode);
  return {
    behavior,
    always,
    reason,
    ...(run !== undefined && { run }),
    ...(subject.kind === "file" && { real: subject.place.real }),
    // What else would have answered is only worked out for whoever looks.
    get trace() {
      const reasons = STEPS.flatMap((step) => step(subject, context)?.reason ?? []);
      return reasons.length > 0 ? reasons : [reason];
    },
  };
}

function firstStep(subject: Subject, context: DecisionContext): Step | null {
  for (const step of STEPS) {
    const result = step(subject, context);
    if (result) return result;
  }
  return null;
}

/** A call wants several things: the strictest answer is the call's. */
export function strictest(decisions: Decision[]): Decision {
  const rank = ({ behavior, always }: Decision) =>
    behavior === "deny" ? 3 : behavior === "ask" ? (always ? 2 : 1) : 0;
  return decisions.reduce((worst, next) => (rank(next) > rank(worst) ? next : worst));
}

/** The target with everything about it that several steps need. */
type Subject =
  | { kind: "file"; target: Extract<PermissionTarget, { kind: "file" }>; place: Place; writes: boolean }
  | {
      kind: "shell";
      call: ShellCall;
      cwd: string;
      /** Asked to run outside the sandbox. */
      unconfined: boolean;
      /** Worked out when first asked for. */
      proof(): Proof;
    }
  | { kind: "url"; target: Extract<PermissionTarget, { kind: "url" }> }
  | { kind: "tool"; target: Extract<PermissionTarget, { kind: "tool" }> }
  | { kind: "none" };

function toSubject(target: PermissionTarget, context: DecisionContext): Subject {
  const { places } = context;
  switch (target.kind) {
    case "file": {
      const writes = target.family === "Write" || target.family === "Edit";
      return { kind: "file", target, place: toPlace(target.path, places.cwd, places), writes };
    }
    case "shell": {
      const call = toShellCall(target.command, target.typed);
      let proof: Proof | undefined;
      const prove = () => {
        proof ??= proveReadOnly(call.plain, target.cwd, context);
        return proof;
      };
      return { kind: "shell", call, cwd: target.cwd, unconfined: target.unconfined ?? false, proof: prove };
    }
    case "url":
      return { kind: "url", target };
    case "tool":
      return { kind: "tool", target };
    case "none":
      return { kind: "none" };
  }
}

/** Nothing answered: a person is asked. */
function askByDefault(subject: Subject, mode: PermissionMode): Step {
  const what = {
    file: "before it changes files",
    shell:
      subject.kind === "shell" && subject.call.typed ? "before it types into a program" : "before it runs commands",
    url: "before it fetches from the network",
    tool: subject.kind === "tool" ? `before it uses ${subject.target.name}` : "",
    none: "before everything",
  }[subject.kind];
  const verb = subject.kind === "file" && !subject.writes ? "before it reads" : what;
  return { behavior: "ask", reason: { by: "default", detail: `${mode} mode asks ${verb}` } };
}

const STEPS: ((subject: Subject, context: DecisionContext) => Step | null)[] = [
  refuseInvalid,
  guardAgents,
  applyDenyRules,
  applyBreakers,
  suspectHiddenDeny,
  guardSearches,
  (subject, context) => applyAskRules(subject, context, "alwaysAsk"),
  (subject, context) => applyAskRules(subject, context, "ask"),
  keepConfined,
  applyMode,
  applyAllowRules,
  applyConfinement,
  applyBuiltins,
];

function refuseInvalid(subject: Subject): Step | null {
  const text = subject.kind === "file" ? subject.target.path : subject.kind === "shell" ? subject.call.command : "";
  if (!text.includes("\u0000")) return null;
  return { behavior: "deny", reason: { by: "invalid", detail: "the argument contains a NUL character" } };
}

function guardAgents(subject: Subject, { places }: DecisionContext): Step | null {
  if (subject.kind !== "file") return null;
  return guardStores(subject.place, subject.target.path, places, { writes: subject.writes });
}

function guardSearches(subject: Subject, { places }: DecisionContext): Step | null {
  if (subject.kind !== "file" || (subject.target.family !== "Grep" && subject.target.family !== "Glob")) return null;
  return protectStoresFromSearch(subject.place, subject.target.path, places);
}

function applyDenyRules(subject: Subject, context: DecisionContext): Step | null {
  const denies = rulesWith("deny", context.rules);
  if (denies.length === 0) return null;
  const rule = denies.find((candidate) => governs(candidate, subject, context));
  if (rule) return { behavior: "deny", reason: ruleReason(rule) };
  if (subject.kind !== "shell") return null;
  return denyPathsOfShell(denies, subject, context);
}

/** A file rule also stops a command that names the file. */
function denyPathsOfShell(
  denies: EffectiveRule[],
  { call, cwd }: Extract<Subject, { kind: "shell" }>,
  { places }: DecisionContext,
): Step | null {
  const fileRules = denies.filter(
    ({ tool, payload }) => FILE_RULES.includes(tool) && payload !== null && payload !== "**",
  );
  if (fileRules.length === 0) return null;
  const named = pathWords(call);
  let looked = 0;
  for (const directory of directoriesOf(call.scan.commands, cwd, places)) {
    const found = globWords(call, directory);
    const words = named && found ? [...named, ...found] : [];
    looked += words.length;
    if (!named || !found || looked > MAX_LOOKED)
      return {
        behavior: "ask",
        reason: { by: "rule", detail: "it names more files than can be held against deny rules" },
      };
    for (const word of words) {
      const place = toPlace(expandHome(word, places.home), directory, places);
      const rule = fileRules.find((candidate) => governsPlace(candidate, place, places));
      if (rule)
        return {
          behavior: "deny",
          reason: { ...ruleReason(rule), detail: `the command names ${word}, which a rule denies` },
        };
    }
  }
  return null;
}

/** Files of one call, in all directories it may go to. */
const MAX_LOOKED = 1_024;
const FILE_RULES = ["Read", "Edit", "Write"];

/** An expansion may spell what a deny rule forbids: no mode and no allow rule may wave it through. */
function suspectHiddenDeny(subject: Subject, { rules }: DecisionContext): Step | null {
  if (subject.kind !== "shell") return null;
  const denied = (tools: string[]) => rulesWith("deny", rules).some(({ tool }) => tools.includes(tool));
  const { call } = subject;
  const hidden =
    (denied(["Bash"]) && call.scan.dynamic) ||
    (denied(FILE_RULES) && call.typed?.reshaped) ||
    // Text nobody understands, and that expands nothing, says what it says.
    (denied(FILE_RULES) && call.scan.uncertain && /[$`*?[{~]/.test(call.command));
  if (!hidden) return null;
  return { behavior: "ask", reason: { by: "rule", detail: "a deny rule may apply to what this command expands to" } };
}

function applyBreakers(subject: Subject, { places }: DecisionContext): Step | null {
  if (subject.kind === "file") {
    if (!subject.writes || !isProtected(subject.place, places)) return null;
    return {
      behavior: "ask",
      always: true,
      reason: { by: "protected path", detail: `${subject.target.path} is protected` },
    };
  }
  if (subject.kind !== "shell") return null;
  const { command, scan } = subject.call;
  const detail = isForkBomb(command) ? "a fork bomb" : findBreaker(scan.commands, subject.cwd, places);
  return detail === null ? null : { behavior: "ask", always: true, reason: { by: "circuit breaker", detail } };
}

function applyAskRules(subject: Subject, context: DecisionContext, effect: "ask" | "alwaysAsk"): Step | null {
  const rule = rulesWith(effect, context.rules).find((candidate) => governs(candidate, subject, context));
  if (!rule) return null;
  if (effect === "alwaysAsk") return { behavior: "ask", always: true, reason: ruleReason(rule) };
  if (context.mode === "unrestricted") return null;
  const stronger = PRECEDENCE.slice(0, PRECEDENCE.indexOf(rule.source));
  const override = findAllow(subject, {
    ...context,
    rules: context.rules.filter(({ source }) => stronger.includes(source)),
  });
  return override ? null : { behavior: "ask", reason: ruleReason(rule) };
}

/** Leaving the sandbox is a person's decision, in every mode and whatever rules say about the command. */
function keepConfined(subject: Subject): Step | null {
  if (subject.kind !== "shell" || !subject.unconfined) return null;
  return { behavior: "ask", reason: { by: "sandbox", detail: "it would run outside the sandbox" } };
}

/** What a confined command does stays in the workspace, and so does an edit there. */
function applyConfinement(subject: Subject, { mode, confinement, places }: DecisionContext): Step | null {
  if (mode === "strict" || mode === "plan") return null;
  if (subject.kind === "shell" && confinement.shell)
    return { behavior: "allow", reason: { by: "sandbox", detail: "it runs in the sandbox, without a network" } };
  if (subject.kind === "file" && subject.writes && confinement.edits && isInWorkspace(subject.place, places))
    return { behavior: "allow", reason: { by: "sandbox", detail: `${subject.target.path} is in the workspace` } };
  return null;
}

function applyMode(subject: Subject, context: DecisionContext): Step | null {
  const { mode, modeSource, places } = context;
  const reason = { by: "mode", detail: `${mode} (${modeSource})` };
  if (mode === "unrestricted") return { behavior: "allow", reason };
  if (mode === "acceptEdits" && subject.kind === "file" && subject.writes && isInWorkspace(subject.place, places))
    return { behavior: "allow", reason };
  if (mode !== "plan") return null;
  if (subject.kind === "tool" && subject.target.memory) return PLAN_DENIES;
  // Nobody knows what other tools do (questions to the user are among them): a person answers, whatever rules say.
  if (subject.kind === "tool")
    return { behavior: "ask", reason: { by: "mode", detail: `in plan mode ${subject.target.name} needs a person` } };
  // Also where a rule would allow it: what is proven runs, not what was written.
  const proof = subject.kind === "shell" ? subject.proof() : null;
  if (subject.kind === "shell" && proof?.ok && !proof.changesMemory) return readOnlyStep(subject);
  const mutates = subject.kind === "shell" || (subject.kind === "file" && subject.writes);
  return mutates ? PLAN_DENIES : null;
}

const PLAN_DENIES: Step = { behavior: "deny", reason: { by: "mode", detail: "plan mode changes nothing" } };

function applyAllowRules(subject: Subject, context: DecisionContext): Step | null {
  const rule = findAllow(subject, context);
  return rule ? { behavior: "allow", reason: ruleReason(rule) } : null;
}

function findAllow(subject: Subject, context: DecisionContext): EffectiveRule | undefined {
  const allows = rulesWith("allow", context.rules);
  switch (subject.kind) {
    case "file":
      return allows.find((rule) => allowsFile(rule, subject.target, subject.place, context.places));
    case "shell":
      return findShellAllow(allows, subject, context);
    case "url":
      return allows.find((rule) => coversUrl(rule, subject.target.url, "strict"));
    case "tool":
      return allows.find((rule) => coversTool(rule, subject.target));
    case "none":
      return undefined;
  }
}

function findShellAllow(
  allows: EffectiveRule[],
  { call, cwd }: Extract<Subject, { kind: "shell" }>,
  context: DecisionContext,
): EffectiveRule | undefined {
  const whole = allows.find((rule) => allowsEveryCommand(rule) || (!call.typed && allowsText(rule, call.command)));
  if (whole || !call.plain.ok) return whole;
  const commands = call.plain.items.flatMap((item) => item.commands);
  if (!commands.some((command) => allows.some((rule) => allowsCommand(rule, command)))) return undefined;
  // The rest may stand beside what rules cover when it only reads.
  let first: EffectiveRule | undefined;
  const covers = (command: PlainCommand, directory: string | null) => {
    const rule = allows.find((candidate) => allowsCommand(candidate, command));
    if (!rule || !mayRedirect(command, directory, context)) return false;
    first ??= rule;
    return true;
  };
  return proveReadOnly(call.plain, cwd, context, { covers }).ok ? first : undefined;
}

export interface CommandVisitor {
  onCovered?(part: PlainCommand, rule: EffectiveRule): void;
  onProven?(part: PlainCommand): void;
  onOpen?(part: PlainCommand, reason: PermissionReason): void;
}

/** Goes through the commands of a plain text, saying of each whether a rule covers it, a proof allows it, or neither.
 *  Returns why the text is not plain; "" when it is. */
export function walkCommands(
  { command, cwd, typed }: Extract<PermissionTarget, { kind: "shell" }>,
  context: DecisionContext,
  visitor: CommandVisitor,
): string {
  const { plain } = toShellCall(command, typed);
  if (!plain.ok) return plain.why;
  const allows = rulesWith("allow", context.rules);
  const isStrict = context.mode === "strict";
  proveReadOnly(plain, cwd, context, {
    covers: (part, directory) => {
      const rule = allows.find((candidate) => allowsEveryCommand(candidate) || allowsCommand(candidate, part));
      const covered = rule !== undefined && mayRedirect(part, directory, context);
      if (covered) visitor.onCovered?.(part, rule);
      // In strict mode a proof allows nothing.
      else if (isStrict) visitor.onOpen?.(part, { by: "mode", detail: "strict mode asks for it" });
      return covered || isStrict;
    },
    onProven: (part) => visitor.onProven?.(part),
    onOpen: (part, reason) => visitor.onOpen?.(part, reason),
  });
  return "";
}

/** Files a covered command reads from or writes to by redirect pass the rules of files. `cwd` null: not known. */
function mayRedirect({ redirects }: PlainCommand, cwd: string | null, context: DecisionContext): boolean {
  return redirects.every((redirect) => {
    const { operator, fd, target } = redirect;
    if (isHarmlessRedirect(redirect)) return true;
    const family = operator === "<" ? "Read" : /^(?:>|>>|>\||&>|&>>)$/.test(operator) ? "Write" : null;
    if (cwd === null || family === null || target.kind !== "literal" || !/^[0-2]?$/.test(fd)) return false;
    const path = isAbsolute(target.text) ? target.text : `${cwd}/${target.text}`;
    return decide({ kind: "file", family, path }, context).behavior === "allow";
  });
}

function applyBuiltins(subject: Subject, context: DecisionContext): Step | null {
  if (context.mode === "strict") return null;
  switch (subject.kind) {
    case "none":
      return { behavior: "allow", reason: { by: "built-in", detail: "touches nothing outside the harness" } };
    case "file":
      return subject.writes
        ? memoryStep(subject.place, context.places)
        : readStep(subject.place, subject.target.path, context.places);
    case "shell":
      return readOnlyStep(subject);
    case "tool":
      return subject.target.memory
        ? { behavior: "allow", reason: { by: "own memory", detail: "an agent may change its own memory" } }
        : null;
    default:
      return null;
  }
}

/** Notes of its own an agent may change; mods are code that runs in the harness. */
function memoryStep(place: Place, places: Places): Step | null {
  if (!isOwnMemory(place, places) || /\/memory\/mods(?:\/|$)/i.test(place.real)) return null;
  return { behavior: "allow", reason: { by: "own memory", detail: "an agent may change its own memory" } };
}

function readOnlyStep({ proof }: Extract<Subject, { kind: "shell" }>): Step {
  const proven = proof();
  if (!proven.ok) return { behavior: "ask", reason: proven.reason };
  const by = proven.changesMemory ? "own memory" : "read-only";
  return { behavior: "allow", reason: { by, detail: proven.detail }, run: proven.run };
}

function governs(rule: EffectiveRule, subject: Subject, { places }: DecisionContext): boolean {
  switch (subject.kind) {
    case "file":
      return governsFile(rule, subject.target, subject.place, places);
    case "shell":
      return governsShell(rule, subject.call);
    case "url":
      return coversUrl(rule, subject.target.url, "broad");
    case "tool":
      return coversTool(rule, subject.target);
    case "none":
      return false;
  }
}

function ruleReason(rule: EffectiveRule): PermissionReason {
  const text = formatRule(rule);
  return { by: "rule", detail: `${rule.effect} rule of ${rule.source} settings`, rule: text, source: rule.source };
}
