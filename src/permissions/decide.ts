// The decision about one thing a tool call wants to do. Pure: rules, mode and places in, a verdict with its whole trace
// out. The first step that answers wins; the steps are in the order of spec 03 §8.5b.

import { findBreaker, isForkBomb } from "./breakers.ts";
import {
  allowsArgv,
  allowsEveryCommand,
  allowsFile,
  allowsText,
  coversTool,
  coversUrl,
  governsFile,
  governsPlace,
  governsShell,
  pathWords,
  type ShellCall,
  toShellCall,
} from "./match.ts";
import { expandHome, isInAny, isInside, isInWorkspace, type Place, type Places, toPlace } from "./places.ts";
import { isProtected, isSecret } from "./protected.ts";
import { formatRule, type Rule } from "./rules.ts";
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
  /** May reading commands of git be trusted to start no program in this directory? */
  isGitHarmless(cwd: string): boolean;
}

export interface Decision {
  behavior: "allow" | "deny" | "ask";
  /** Only for `ask`. */
  always: boolean;
  reason: PermissionReason;
  readonly trace: PermissionReason[];
}

type Step = { behavior: Decision["behavior"]; always?: boolean; reason: PermissionReason };

/** Strongest first. Administrators beat everyone, flags beat what is saved. */
const PRECEDENCE: RuleSource[] = ["managed", "cli", "session", "local", "project", "user"];

export function decide(target: PermissionTarget, context: DecisionContext): Decision {
  const subject = toSubject(target, context.places);
  const { behavior, always = false, reason } = firstStep(subject, context) ?? askByDefault(subject, context.mode);
  return {
    behavior,
    always,
    reason,
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
  | { kind: "shell"; call: ShellCall; cwd: string; unconfined: boolean }
  | { kind: "url"; target: Extract<PermissionTarget, { kind: "url" }> }
  | { kind: "tool"; target: Extract<PermissionTarget, { kind: "tool" }> }
  | { kind: "none" };

function toSubject(target: PermissionTarget, places: Places): Subject {
  switch (target.kind) {
    case "file": {
      const writes = target.family === "Write" || target.family === "Edit";
      return { kind: "file", target, place: toPlace(target.path, places.cwd, places), writes };
    }
    case "shell":
      return {
        kind: "shell",
        call: toShellCall(target.command),
        cwd: target.cwd,
        unconfined: target.unconfined ?? false,
      };
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
    shell: "before it runs commands",
    url: "before it fetches from the network",
    tool: subject.kind === "tool" ? `before it uses ${subject.target.name}` : "",
    none: "before everything",
  }[subject.kind];
  const verb = subject.kind === "file" && !subject.writes ? "before it reads" : what;
  return { behavior: "ask", reason: { by: "default", detail: `${mode} mode asks ${verb}` } };
}

const STEPS: ((subject: Subject, context: DecisionContext) => Step | null)[] = [
  refuseInvalid,
  guardStores,
  applyDenyRules,
  applyBreakers,
  suspectHiddenDeny,
  protectStoresFromSearch,
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

/** Other agents' state, and our database, are reached through the harness only. */
function guardStores(subject: Subject, { places }: DecisionContext): Step | null {
  if (subject.kind !== "file") return null;
  const { place, target } = subject;
  const paths = [place.lexical, place.real];
  const inStore = paths.some((path) =>
    places.stores.some(({ lexical, real }) =>
      [lexical, real].some((store) => isInside(path, store, places.caseInsensitive)),
    ),
  );
  if (inStore)
    return {
      behavior: "deny",
      reason: {
        by: "agent store",
        detail: `${target.path} belongs to the state of agents, which file tools may not touch`,
      },
    };
  return null;
}

/** Searching the home directory would read our database along the way. */
function protectStoresFromSearch(subject: Subject, { places }: DecisionContext): Step | null {
  if (subject.kind !== "file" || (subject.target.family !== "Grep" && subject.target.family !== "Glob")) return null;
  const { place, target } = subject;
  if (!places.stores.some(({ real }) => isInside(real, place.real, places.caseInsensitive))) return null;
  return {
    behavior: "ask",
    reason: { by: "agent store", detail: `a search of ${target.path} would read the state of agents` },
  };
}

function applyDenyRules(subject: Subject, context: DecisionContext): Step | null {
  const denies = context.rules.filter(({ effect }) => effect === "deny");
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
  const fileRules = denies.filter(({ tool }) => ["Read", "Edit", "Write"].includes(tool));
  if (fileRules.length > 0)
    for (const word of pathWords(call)) {
      const place = toPlace(expandHome(word, places.home), cwd, places);
      const rule = fileRules.find((candidate) => candidate.payload !== null && governsPlace(candidate, place, places));
      if (rule && rule.payload !== "**")
        return {
          behavior: "deny",
          reason: { ...ruleReason(rule), detail: `the command names ${word}, which a rule denies` },
        };
    }
  return null;
}

/** An expansion may spell what a deny rule forbids: no mode and no allow rule may wave it through. */
function suspectHiddenDeny(subject: Subject, { rules }: DecisionContext): Step | null {
  if (subject.kind !== "shell" || subject.call.analysis.kind !== "opaque") return null;
  const denied = (tools: string[]) => rules.some(({ effect, tool }) => effect === "deny" && tools.includes(tool));
  const hiddenCommand = subject.call.dynamic && denied(["Bash"]);
  const hiddenPath = /[$`*?[{]/.test(subject.call.command) && denied(["Read", "Edit", "Write"]);
  if (!hiddenCommand && !hiddenPath) return null;
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
  const { analysis, command, loose } = subject.call;
  if (analysis.kind === "simple" && analysis.readOnly) return null;
  const detail = isForkBomb(command) ? "a fork bomb" : findBreaker(loose, subject.cwd, places);
  return detail === null ? null : { behavior: "ask", always: true, reason: { by: "circuit breaker", detail } };
}

function applyAskRules(subject: Subject, context: DecisionContext, effect: "ask" | "alwaysAsk"): Step | null {
  const rule = context.rules.find((candidate) => candidate.effect === effect && governs(candidate, subject, context));
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
  // Nobody knows what other tools do (questions to the user are among them): a person answers, whatever rules say.
  if (subject.kind === "tool")
    return { behavior: "ask", reason: { by: "mode", detail: `in plan mode ${subject.target.name} needs a person` } };
  const mutates =
    (subject.kind === "file" && subject.writes) ||
    (subject.kind === "shell" && readOnlyStep(subject, context).behavior !== "allow");
  return mutates ? { behavior: "deny", reason: { by: "mode", detail: "plan mode changes nothing" } } : null;
}

function applyAllowRules(subject: Subject, context: DecisionContext): Step | null {
  const rule = findAllow(subject, context);
  return rule ? { behavior: "allow", reason: ruleReason(rule) } : null;
}

function findAllow(subject: Subject, context: DecisionContext): EffectiveRule | undefined {
  const allows = PRECEDENCE.flatMap((source) =>
    context.rules.filter((rule) => rule.effect === "allow" && rule.source === source),
  );
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

/** Built-ins that change what the following commands mean: beside them nothing counts as read-only by itself. */
const STATEFUL = new Set(
  "cd pushd popd export declare typeset local readonly alias unalias hash enable set shopt unset read mapfile source . eval exec trap builtin command umask ulimit".split(
    " ",
  ),
);

function findShellAllow(
  allows: EffectiveRule[],
  { call, cwd }: Extract<Subject, { kind: "shell" }>,
  context: DecisionContext,
): EffectiveRule | undefined {
  const whole = allows.find((rule) => allowsEveryCommand(rule) || allowsText(rule, call.command));
  if (whole || call.analysis.kind === "opaque") return whole;
  const commands = call.analysis.kind === "simple" ? [call.analysis] : call.analysis.commands;
  const ruled = commands.map(({ argv }) => allows.find((rule) => allowsArgv(rule, argv)));
  const first = ruled.find((rule) => rule !== undefined);
  if (!first) return undefined;
  // The rest may stand beside it when it only reads, unless something before it changes what it means.
  const stateful = commands.some(({ argv }) => STATEFUL.has(argv[0]!));
  const covered = commands.every(
    (command, index) =>
      ruled[index] ?? (!stateful && command.readOnly && mayRead(command, cwd, context).behavior === "allow"),
  );
  return covered ? first : undefined;
}

function applyBuiltins(subject: Subject, context: DecisionContext): Step | null {
  if (context.mode === "strict") return null;
  switch (subject.kind) {
    case "none":
      return { behavior: "allow", reason: { by: "built-in", detail: "touches nothing outside the harness" } };
    case "file":
      return subject.writes ? null : readStep(subject.place, subject.target.path, context.places);
    case "shell":
      return readOnlyStep(subject, context);
    default:
      return null;
  }
}

function readStep(place: Place, path: string, places: Places): Step {
  if (isSecret(place, places))
    return { behavior: "ask", reason: { by: "secret", detail: `${path} may hold credentials` } };
  if (isInWorkspace(place, places))
    return { behavior: "allow", reason: { by: "workspace", detail: `${path} is in the workspace` } };
  if (isInAny(place, places.readable, places))
    return { behavior: "allow", reason: { by: "workspace", detail: `${path} is output of a tool` } };
  return { behavior: "ask", reason: { by: "workspace", detail: `${path} is outside the workspace` } };
}

function readOnlyStep({ call, cwd }: Extract<Subject, { kind: "shell" }>, context: DecisionContext): Step {
  const { analysis } = call;
  if (analysis.kind === "opaque")
    return { behavior: "ask", reason: { by: "shell", detail: `not analysed: ${analysis.why}` } };
  if (analysis.kind === "compound") return { behavior: "ask", reason: { by: "shell", detail: "several commands" } };
  if (!analysis.readOnly) return { behavior: "ask", reason: { by: "shell", detail: analysis.why } };
  return mayRead(analysis, cwd, context);
}

/** A read-only command reads files like the Read tool does: same places, same rules. */
function mayRead(
  command: { argv: string[]; reads: string[]; git: boolean },
  cwd: string,
  context: DecisionContext,
): Step {
  const { places } = context;
  for (const path of command.reads) {
    const place = toPlace(path, cwd, places);
    const step =
      guardStores(fileSubject(path, place), context) ??
      protectStoresFromSearch(fileSubject(path, place), context) ??
      readStep(place, path, places);
    if (step.behavior !== "allow") return step;
    const rule = context.rules.find(
      (candidate) =>
        candidate.effect !== "allow" && candidate.tool === "Read" && governsPlace(candidate, place, places, true),
    );
    if (rule) return { behavior: "ask", reason: ruleReason(rule) };
  }
  if (command.git && !context.isGitHarmless(cwd))
    return {
      behavior: "ask",
      reason: { by: "shell", detail: "the configuration of this repository may make git run programs" },
    };
  return { behavior: "allow", reason: { by: "read-only", detail: `${command.argv[0]} only reads` } };
}

function fileSubject(path: string, place: Place): Subject {
  return { kind: "file", target: { kind: "file", family: "Grep", path }, place, writes: false };
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
