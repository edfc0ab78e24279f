// The grammar of rules: `Tool` or `Tool(payload)`. Tool names of all model families are folded into one family, so that
// a rule says what is done, not how the model's vendor calls it.

import { LettaError } from "@/lib/errors.ts";
import type { PermissionMode } from "./types.ts";

export interface Rule {
  /** `Bash`, `Read`, `Write`, `Edit`, `Glob`, `Grep`, `ListDir`, `WebFetch`, `Task`, or any other tool's name. */
  tool: string;
  /** Null: every use of the tool. */
  payload: string | null;
}

/** Null when the text is not a rule. */
export function parseRule(text: string): Rule | null {
  const match = /^\s*([A-Za-z_*][\w*.:-]*)\s*(?:\(([\s\S]*)\)\s*)?$/.exec(text);
  if (!match) return null;
  const tool = canonicalTool(match[1]!);
  const payload = match[2] === undefined ? null : match[2].trim();
  if (payload === null || payload === "") return { tool, payload: null };
  return { tool, payload: isFileFamily(tool) ? normaliseFilePayload(payload) : payload };
}

/** Throws `usage` when the text is not a rule. */
export function requireRule(text: string): Rule {
  const rule = parseRule(text);
  if (rule) return rule;
  throw new LettaError("usage", `not a permission rule: ${text}`, {
    hint: "Rules look like Bash(npm test), Bash(git log:*), Read(src/**) or WebFetch(domain:example.com).",
  });
}

export function formatRule({ tool, payload }: Rule): string {
  return payload === null ? tool : `${tool}(${payload})`;
}

/** `--allowedTools`: separated by commas outside parentheses. A bare shell tool means `Bash(:*)`, a bare file tool
 *  `Tool(**)`. Throws `usage` naming the entry that is not a rule. */
export function parseRuleList(text: string): string[] {
  return splitOutsideParentheses(text).map((entry) => {
    const rule = requireRule(entry);
    if (rule.payload === null && rule.tool === "Bash") return "Bash(:*)";
    return formatRule(rule.payload === null && isFileFamily(rule.tool) ? { ...rule, payload: "**" } : rule);
  });
}

const FILE_FAMILIES = ["Read", "Write", "Edit", "Glob", "Grep", "ListDir"] as const;

function isFileFamily(tool: string): tool is (typeof FILE_FAMILIES)[number] {
  return (FILE_FAMILIES as readonly string[]).includes(tool);
}

export function canonicalTool(name: string): string {
  return Object.hasOwn(CANONICAL, name) ? CANONICAL[name]! : name;
}

/** In the order help shows them. */
export const PERMISSION_MODES = [
  "standard",
  "acceptEdits",
  "strict",
  "plan",
  "unrestricted",
] as const satisfies readonly PermissionMode[];

/** What other versions call them. */
export const LEGACY_MODES: Readonly<Record<string, PermissionMode>> = {
  default: "standard",
  bypassPermissions: "unrestricted",
  fullAccess: "unrestricted",
};

/** Accepts the older spellings. Undefined when it is none. */
export function findMode(text: string): PermissionMode | undefined {
  if (Object.hasOwn(LEGACY_MODES, text)) return LEGACY_MODES[text];
  return PERMISSION_MODES.find((mode) => mode === text);
}

/** Throws `usage` that lists the modes. */
export function parseMode(text: string): PermissionMode {
  const mode = findMode(text);
  if (mode) return mode;
  throw new LettaError("usage", `unknown permission mode: ${text}`, { hint: `Modes: ${PERMISSION_MODES.join(", ")}` });
}

const CANONICAL: Record<string, string> = Object.fromEntries(
  (
    [
      ["Bash", "shell Shell shell_command ShellCommand exec_command run_shell_command RunShellCommand"],
      ["Read", "read_file ReadFile read_file_gemini ReadFileGemini read_many_files ReadManyFiles view_image ViewImage"],
      ["Write", "write_file WriteFile write_file_gemini WriteFileGemini"],
      ["Edit", "MultiEdit NotebookEdit replace Replace apply_patch ApplyPatch"],
      ["Glob", "glob glob_gemini GlobGemini"],
      ["Grep", "grep grep_files GrepFiles search_file_content SearchFileContent"],
      ["ListDir", "list_dir list_directory ListDirectory LS"],
      ["WebFetch", "web_fetch"],
      ["Task", "task Agent agent"],
    ] as const
  ).flatMap(([family, names]) => names.split(" ").map((name) => [name, family])),
);

function normaliseFilePayload(payload: string): string {
  // On Windows people write backslashes; elsewhere a backslash escapes a glob character.
  const slashes = process.platform === "win32" ? payload.replaceAll("\\", "/") : payload;
  return slashes.replace(/^([a-z]):\//, (_, drive: string) => `${drive.toUpperCase()}:/`);
}

function splitOutsideParentheses(text: string): string[] {
  const parts: string[] = [""];
  let depth = 0;
  for (const char of text) {
    if (char === "(") depth += 1;
    if (char === ")") depth = Math.max(0, depth - 1);
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}
