// The vocabulary of permission checks. Pure values; reading settings is `store/settings.ts`, asking people is a front end.

import type { Explanation } from "./explain.ts";

/** `plan` denies everything that mutates. */
export type PermissionMode = "unrestricted" | "acceptEdits" | "standard" | "strict" | "plan";

/** One thing a tool call wants to do. A call may want several (a patch touches many files): the strictest verdict wins. */
export type PermissionTarget =
  /** `access` of a path as the tool will use it: absolute, `~` and `$VAR` already expanded (tools/paths.ts). */
  | { kind: "file"; family: "Read" | "Write" | "Edit" | "Glob" | "Grep" | "ListDir"; path: string }
  /** `unconfined`: outside the sandbox that commands run in here. */
  | { kind: "shell"; command: string; cwd: string; unconfined?: boolean; typed?: TypedText }
  | { kind: "url"; url: string }
  /** Anything else, by tool name, with its top-level string arguments for `Tool(key:value)` rules. */
  | {
      kind: "tool";
      name: string;
      args: Record<string, unknown>;
      payload?: string;
      /** It changes the agent's own memory, each time as a commit that can be taken back. */
      memory?: true;
      /** It only gives the model something to read. */
      harmless?: true;
    }
  /** Touches nothing outside the harness (todo lists, own background tasks). */
  | { kind: "none" };

/** The command is text typed into a program that runs already: a shell may run it, another program may mean anything by
 *  it. What rules forbid it must not name; no rule for a command allows it, and no proof. */
export interface TypedText {
  /** The tool that types. */
  tool: string;
  /** Keys in it edit the line: what is run in the end is not what stands here. */
  reshaped: boolean;
}

export type RuleSource = "managed" | "cli" | "session" | "local" | "project" | "user" | "skill";
export type RuleEffect = "allow" | "deny" | "ask" | "alwaysAsk";

/** A rule proposed as "don't ask again". */
export interface RuleSuggestion {
  rule: string;
  scope: "session" | "project" | "local" | "user";
  /** What it would allow, in words. */
  description: string;
}

/** One entry of the decision's trace. */
export interface PermissionReason {
  /** For example `rule`, `mode`, `read-only`, `workspace`, `protected path`, `default`. */
  by: string;
  detail: string;
  rule?: string;
  source?: RuleSource;
}

export interface ProvenCommand {
  /** Every word quoted, globs written out, protective options added. Runs with the environment of
   *  `shell/hardened-env.ts`. */
  command: string;
  /** Directories the agent may write to: programs are not taken from there. */
  closedRoots: string[];
}

/** Where each path of a call's file targets really was, links followed, when the call was decided: what was decided
 *  about, and all that the call may use. */
export type RealPaths = ReadonlyMap<string, string>;

export type Verdict = { realPaths: RealPaths } & (
  | {
      behavior: "allow";
      reason: PermissionReason;
      trace: PermissionReason[];
      /** A shell command was proven to only read: this text is what was proven, and what must run. */
      run?: ProvenCommand;
    }
  | { behavior: "deny"; reason: PermissionReason; trace: PermissionReason[] }
  | {
      behavior: "ask";
      /** Nothing but a person may answer: no hook, no rule, no mode. */
      always: boolean;
      reason: PermissionReason;
      trace: PermissionReason[];
      suggestions: RuleSuggestion[];
      /** Flag that would have allowed it in a headless run, for example `--allowedTools 'Bash(npm test)'`. */
      allowFlag?: string;
    }
);

/** A checker that can say why. */
export interface ExplainingChecker extends PermissionChecker {
  explain(tool: string, targets: PermissionTarget[]): Promise<Explanation>;
}

/** Decides calls for one process. Live: mode and session rules may change between calls. */
export interface DeniedReads {
  /** Absolute. */
  paths: string[];
  denies: ((path: string) => boolean) | null;
}

export interface PermissionChecker {
  readonly mode: PermissionMode;
  /** Where the mode came from, for display ("flag", "user settings", "default"). */
  readonly modeSource: string;
  setMode(mode: PermissionMode): void;
  /** `agentId`: whose call it is; without one, memories are nobody's. `granted`: allow rules of skills in use, weaker
   *  than all others. */
  check(
    tool: string,
    targets: PermissionTarget[],
    agentId?: string | null,
    granted?: readonly string[],
  ): Promise<Verdict>;
  /** A deny rule forbids reading this absolute path, so searches leave it out. */
  hidesPath(path: string): boolean;
  /** The same for who must know beforehand: places that rules name, and `hidesPath` when some are patterns. */
  deniedReads(): DeniedReads;
  /** Adds a rule for this process, or saves it to the scope's settings file. */
  addRule(effect: RuleEffect, rule: string, scope: RuleSuggestion["scope"]): Promise<void>;
  /** Effective rules with their source, for `/permissions`. */
  listRules(): { effect: RuleEffect; rule: string; source: RuleSource; inert?: string }[];
}
