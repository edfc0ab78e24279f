// Decides calls for one process: collects the rules in force from flags, session and settings, keeps mode and session
// rules live, and saves "don't ask again" answers where they belong. The decision itself is `decide.ts`.

import { LettaError } from "@/lib/errors.ts";
import { createGitConfigCheck } from "@/shell/git-config.ts";
import { hasLinkedFolders } from "@/shell/git-index.ts";
import { findSources, showsCredentials } from "@/shell/git-sources.ts";
import type { Paths } from "@/store/paths.ts";
import type { PermissionSettings, SettingsStore } from "@/store/settings.ts";
import type { Trust } from "@/store/trust.ts";
import { type Decision, type DecisionContext, decide, type EffectiveRule, strictest, walkCommands } from "./decide.ts";
import { type Explanation, suggestChanges, viewCommand } from "./explain.ts";
import { coversTool, governsFile, namedPlaces } from "./match.ts";
import { type ModeInput, modeCeiling, resolveMode } from "./modes.ts";
import {
  createDirectoryMemo,
  createLinkFollower,
  createPlaces,
  expandHome,
  IGNORES_CASE,
  type KnownDirectory,
  type Place,
  type Places,
  toPlace,
  toRealPath,
} from "./places.ts";
import { canonicalTool, formatRule, parseRule, requireRule } from "./rules.ts";
import type { GitFacts } from "./shell-proof.ts";
import { type FindOpen, findAllowFlag, suggestRules } from "./suggest.ts";
import type {
  DeniedReads,
  ExplainingChecker,
  PermissionMode,
  PermissionTarget,
  ProvenCommand,
  RealPaths,
  RuleEffect,
  RuleSource,
  RuleSuggestion,
  Verdict,
} from "./types.ts";

export interface PermissionCheckerOptions {
  settings: SettingsStore;
  trust: Trust;
  paths: Paths;
  /** Absolute. */
  cwd: string;
  /** A flag's mode. */
  mode?: PermissionMode;
  /** Rules of `--allowedTools` and `--disallowedTools`, as `parseRuleList` returns them. */
  allowedTools?: string[];
  disallowedTools?: string[];
  /** A person can answer. Does not change the verdict: turning an ask into a denial is the engine's, which knows who is
   *  connected. */
  interactive: boolean;
  /** Directories outside the workspace that may be read; asked at each check. Default: overflow files. */
  readableDirectories?: () => string[];
  /** Folders of an agent's own memory. Default: none. */
  memoryOf?: (agentId: string) => string[];
  /** What the sandbox makes unnecessary to ask. Default: nothing. */
  confinement?: { shell: boolean; edits: boolean };
  /** Files whose writing always asks, such as the scripts of hooks; asked again when settings, trust or the directory
   *  they start in change. */
  guardedFiles?: (startedIn: string) => string[];
  /** Where the conversation is now. Default: `cwd`. */
  currentDirectory?: () => string;
  /** Receives one JSON line per ask or deny (LETTA_PERMISSION_TRACE). */
  trace?: (line: string) => void;
  /** Also for what is allowed. */
  traceAllowed?: boolean;
  realpath?: (path: string) => string;
}

export function createPermissionChecker(options: PermissionCheckerOptions): ExplainingChecker {
  return new Checker(options);
}

const NO_CONFINEMENT = { shell: false, edits: false };
/** The rule the user answered "edit freely" with; it is a mode. */
const ACCEPT_EDITS_RULE = "Edit(**)";
const EFFECTS: RuleEffect[] = ["allow", "deny", "ask", "alwaysAsk"];

interface ListedRule {
  effect: RuleEffect;
  rule: string;
  source: RuleSource;
  /** Why it is not in force. */
  inert?: string;
}

class Checker implements ExplainingChecker {
  readonly #options: PermissionCheckerOptions;
  readonly #cli: ListedRule[];
  readonly #git: GitFacts;
  readonly #findCwd: () => KnownDirectory;
  #session: ListedRule[] = [];
  #chosen: ModeInput["chosen"];
  #derived: {
    key: unknown[];
    listed: ListedRule[];
    rules: EffectiveRule[];
    places: Places;
    mode: ReturnType<typeof resolveMode>;
  } | null = null;

  constructor(options: PermissionCheckerOptions) {
    this.#options = options;
    this.#findCwd = createDirectoryMemo(options.cwd);
    this.#git = {
      harmless: createGitConfigCheck(),
      sources: findSources,
      hasLinkedFolders,
      showsCredentials: (cwd) => showsCredentials(cwd, options.paths.home),
    };
    const fromFlag = (effect: RuleEffect, rules: string[] = []): ListedRule[] =>
      rules.map((rule) => ({ effect, rule: formatRule(requireRule(rule)), source: "cli" }));
    this.#cli = [...fromFlag("allow", options.allowedTools), ...fromFlag("deny", options.disallowedTools)];
    if (options.mode) this.#chosen = { mode: options.mode, source: "flag" };
  }

  get mode(): PermissionMode {
    return this.#mode().mode;
  }
  get modeSource(): string {
    return this.#mode().source;
  }

  /** Throws `usage` above the administrator's ceiling. */
  setMode(mode: PermissionMode): void {
    const chosen = { mode, source: "this session" };
    const resolved = resolveMode({ ...this.#modeInput(), chosen });
    if (resolved.mode !== mode)
      throw new LettaError("usage", `${mode} is not allowed here`, {
        hint: `The administrator's settings allow ${modeCeiling(this.#options.settings.managed)} at most.`,
      });
    this.#chosen = chosen;
  }

  async explain(tool: string, targets: PermissionTarget[]): Promise<Explanation> {
    const verdict = await this.check(tool, targets);
    const context = this.#context();
    return {
      tool,
      behavior: verdict.behavior,
      always: verdict.behavior === "ask" && verdict.always,
      reason: verdict.reason,
      trace: verdict.trace,
      mode: context.mode,
      modeSource: context.modeSource,
      commands: targets.flatMap((target) => {
        if (target.kind !== "shell") return [];
        const view = viewCommand(target, context);
        const { run } = verdict.behavior === "allow" ? verdict : {};
        return [run ? { ...view, run: run.command } : view];
      }),
      changes: suggestChanges(verdict),
    };
  }

  async check(tool: string, targets: PermissionTarget[], agentId: string | null = null): Promise<Verdict> {
    const context = this.#context(agentId);
    const { rules, mode } = context;
    const byName: PermissionTarget = { kind: "tool", name: tool, args: {} };
    const isRuled = rules.some((rule) => coversTool(rule, byName));
    // A tool that names no target is judged by its name, and so is a harmless one that a rule names.
    const wanted =
      targets.length === 0 ? [byName] : targets.map((target) => (target.kind === "none" && isRuled ? byName : target));
    const decided = wanted.map((target) => ({
      target,
      decision: decide(target, withToolRules(tool, target, context)),
    }));
    const worst = strictest(decided.map(({ decision }) => decision));
    const verdict = this.#toVerdict(worst, decided, context);
    if (verdict.behavior !== "allow" || this.#options.traceAllowed)
      this.#options.trace?.(
        JSON.stringify({
          type: "permission",
          tool,
          behavior: verdict.behavior,
          mode,
          targets: wanted.map(withoutTypedText),
          ...(verdict.behavior === "allow" && verdict.run && { run: verdict.run.command }),
          trace: verdict.trace,
        }),
      );
    return verdict;
  }

  /** Knows what links looked like, so it lives for one check only. */
  #context(agentId: string | null = null): DecisionContext {
    const {
      rules,
      places,
      mode: { mode, source },
    } = this.#derive();
    const realpath = this.#options.realpath ?? createLinkFollower(this.#findCwd);
    let memory: Place[] | undefined;
    const own = agentId === null ? [] : (this.#options.memoryOf?.(agentId) ?? []);
    return {
      mode,
      modeSource: source,
      rules,
      places: {
        ...places,
        realpath,
        memory: () => {
          memory ??= own.map((path) => toPlace(path, this.#options.cwd, { realpath }));
          return memory;
        },
      },
      confinement: this.#options.confinement ?? NO_CONFINEMENT,
      git: this.#git,
    };
  }

  hidesPath(path: string): boolean {
    const { rules, places } = this.#derive();
    const denies = rules.filter(({ effect, tool }) => effect === "deny" && tool === "Read");
    if (denies.length === 0) return false;
    const target = { kind: "file", family: "Read", path } as const;
    const place = toPlace(path, this.#options.cwd, places);
    return denies.some((rule) => governsFile(rule, target, place, places));
  }

  deniedReads(): DeniedReads {
    const { rules, places } = this.#derive();
    const denies = rules.filter(
      ({ effect, tool, payload }) => effect === "deny" && tool === "Read" && payload !== null,
    );
    const named = denies.map((rule) => namedPlaces(rule, places));
    const open = named.some(({ isPattern }) => isPattern);
    return {
      paths: named.flatMap(({ paths }) => paths),
      denies: open ? (path) => this.hidesPath(path) : null,
    };
  }

  async addRule(effect: RuleEffect, rule: string, scope: RuleSuggestion["scope"]): Promise<void> {
    const text = formatRule(requireRule(rule));
    if (effect === "allow" && scope === "session" && text === ACCEPT_EDITS_RULE) {
      if (this.mode === "standard") return this.setMode("acceptEdits");
    }
    // In force at once, also when saving fails: the user has answered.
    const known = this.#session.some((entry) => entry.effect === effect && entry.rule === text);
    if (!known) this.#session = [...this.#session, { effect, rule: text, source: "session" }];
    if (scope === "session") return;
    const add = (settings: { permissions?: PermissionSettings | undefined }) => {
      const permissions = settings.permissions ?? {};
      settings.permissions = { ...permissions, [effect]: [...new Set([...(permissions[effect] ?? []), text])] };
    };
    const { settings, trust } = this.#options;
    if (scope === "user") return settings.updateUser(add);
    await (scope === "local" ? settings.updateLocal(add) : settings.updateProject(add));
    if (effect === "allow") await trust.accept([{ source: scope, key: "permissions.allow", value: text }]);
  }

  listRules(): ListedRule[] {
    return this.#derive().listed;
  }

  #mode(): { mode: PermissionMode; source: string } {
    return this.#derive().mode;
  }

  #modeInput(): ModeInput {
    const { settings, trust } = this.#options;
    const trusted = (source: "project" | "local") => {
      const mode = settings[source].permissions?.mode;
      return mode !== undefined && trust.accepts({ source, key: "permissions.mode", value: mode })
        ? { [source]: mode }
        : {};
    };
    return {
      ...(this.#chosen && { chosen: this.#chosen }),
      ...(settings.user.permissions?.mode !== undefined && { user: settings.user.permissions.mode }),
      ...trusted("project"),
      ...trusted("local"),
      managed: settings.managed,
      damaged: settings.problems.some(({ kind, key }) => kind === "unreadable" || key?.startsWith("permissions")),
    };
  }

  /** Rules and places, computed again only after something they come from has changed. */
  #derive() {
    const { settings, trust } = this.#options;
    const key = [
      settings.user,
      settings.project,
      settings.local,
      settings.managed,
      trust.revision,
      this.#session,
      this.#chosen,
      this.#options.currentDirectory?.(),
      ...this.#readable(),
    ];
    if (this.#derived?.key.length === key.length && key.every((part, index) => part === this.#derived?.key[index]))
      return this.#derived;
    const listed = [
      ...savedRules("managed", settings.managed.permissions),
      ...this.#cli,
      ...this.#session,
      ...savedRules("local", settings.local.permissions, trust),
      ...savedRules("project", settings.project.permissions, trust),
      ...savedRules("user", settings.user.permissions),
    ];
    this.#derived = {
      key,
      listed,
      rules: listed.flatMap(toEffective),
      places: this.#places(),
      mode: resolveMode(this.#modeInput()),
    };
    return this.#derived;
  }

  #readable(): string[] {
    return this.#options.readableDirectories?.() ?? [this.#options.paths.projects];
  }

  #places(): Places {
    const { settings, trust, paths, cwd, realpath, currentDirectory = () => cwd } = this.#options;
    const fromProject = (source: "project" | "local") =>
      (settings[source].permissions?.additionalDirectories ?? []).filter((value) =>
        trust.accepts({ source, key: "permissions.additionalDirectories", value }),
      );
    const additional = [
      ...(settings.user.permissions?.additionalDirectories ?? []),
      ...fromProject("project"),
      ...fromProject("local"),
    ];
    return createPlaces({
      home: paths.home,
      cwd,
      projectRoot: settings.projectRoot,
      additionalDirectories: additional.map((path) => expandHome(path, paths.home)),
      readable: this.#readable(),
      guarded: this.#options.guardedFiles?.(currentDirectory()) ?? [],
      lettaRoot: paths.root,
      stores: [`${paths.root}/agents`, paths.agents, paths.local],
      caseInsensitive: IGNORES_CASE,
      realpath: realpath ?? createLinkFollower(),
    });
  }

  #toVerdict(
    worst: Decision,
    decided: { target: PermissionTarget; decision: Decision }[],
    context: DecisionContext,
  ): Verdict {
    const { behavior, always, reason } = worst;
    const { places } = context;
    const realPaths = findRealPaths(decided);
    if (behavior !== "ask")
      return {
        behavior,
        reason,
        realPaths,
        ...(behavior === "allow" && findProven(decided, places)),
        get trace() {
          return worst.trace;
        },
      };
    const findOpen: FindOpen = (command, cwd) => {
      const open: ReturnType<FindOpen> = [];
      walkCommands({ kind: "shell", command, cwd }, context, { onOpen: (part) => open.push(part) });
      return open;
    };
    return {
      behavior,
      always,
      reason,
      realPaths,
      get trace() {
        return worst.trace;
      },
      // Only looked at when somebody is asked, or told how it would have been allowed.
      get suggestions() {
        // A rule says what may run, not that it may leave the sandbox.
        return reason.by === "sandbox" ? [] : suggestRules(decided, places, findOpen);
      },
      get allowFlag() {
        const flag = findAllowFlag(decided, places, findOpen);
        return reason.by === "sandbox" ? ["--sandbox off", flag].filter(Boolean).join(" ") : flag;
      },
    };
  }
}

function findRealPaths(decided: { target: PermissionTarget; decision: Decision }[]): RealPaths {
  return new Map(
    decided.flatMap(({ target, decision }) =>
      target.kind === "file" && decision.real !== undefined
        ? [[target.path, toRealPath(target.path, decision.real)] as const]
        : [],
    ),
  );
}

/** Passwords are typed, too: a log has none of it. */
function withoutTypedText(target: PermissionTarget): PermissionTarget {
  if (target.kind !== "shell" || !target.typed) return target;
  return { ...target, command: `<${target.command.length} characters>` };
}

/** A call runs one command at most; other targets (its directory) do not change what is proven about it. */
function findProven(
  decided: { target: PermissionTarget; decision: Decision }[],
  places: Places,
): { run?: ProvenCommand } {
  const shells = decided.filter(({ target }) => target.kind === "shell");
  const command = shells.length === 1 ? shells[0]!.decision.run : undefined;
  return command === undefined ? {} : { run: { command, closedRoots: places.workspace.map(({ real }) => real) } };
}

/** A rule about a tool by its own name (`TodoWrite`, `mcp__x`) also binds a call whose target is of another kind. */
function withToolRules(tool: string, target: PermissionTarget, context: DecisionContext): DecisionContext {
  if (target.kind === "tool") return context;
  const name = canonicalTool(tool);
  const family =
    target.kind === "file"
      ? target.family
      : target.kind === "shell"
        ? "Bash"
        : target.kind === "url"
          ? "WebFetch"
          : null;
  if (name === family) return context;
  const byName = context.rules.filter(({ tool: ruled, payload }) => ruled === name && payload === null);
  return byName.length === 0 || family === null
    ? context
    : { ...context, rules: [...context.rules, ...byName.map((rule) => ({ ...rule, tool: family }))] };
}

function savedRules(source: RuleSource, permissions: PermissionSettings | undefined, trust?: Trust): ListedRule[] {
  return EFFECTS.flatMap((effect) =>
    (permissions?.[effect] ?? []).map((rule): ListedRule => {
      const needsTrust = trust !== undefined && effect === "allow" && (source === "project" || source === "local");
      if (needsTrust && !trust.accepts({ source, key: "permissions.allow", value: rule }))
        return { effect, rule, source, inert: "this folder is not trusted" };
      if (effect === "allow" && !parseRule(rule)) return { effect, rule, source, inert: "not a valid rule" };
      return { effect, rule, source };
    }),
  );
}

/** A deny rule with a typing error denies its whole tool rather than nothing. */
function toEffective({ effect, rule, source, inert }: ListedRule): EffectiveRule[] {
  if (inert !== undefined) return [];
  const parsed = parseRule(rule);
  if (parsed) return [{ ...parsed, effect, source }];
  const tool = /[A-Za-z_][\w-]*/.exec(rule)?.[0];
  return effect === "allow" || tool === undefined ? [] : [{ tool: canonicalTool(tool), payload: null, effect, source }];
}
