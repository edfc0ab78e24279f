// Two looks at a command's text before it runs. Neither is a security boundary: rules and analysis are permissions/.

import { ToolError } from "@/lib/errors.ts";
import { SHELL_MAX_SLEEP_SECONDS } from "./limits.ts";

/** Controls other than tab and newline, and Unicode's invisible and reordering characters. */
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|\p{Cf}/u;

/** Beyond this nobody waits by hand. */
const MAX_CHECKED_CHARS = 10_000;

/** Refuses characters that would be invisible, or show something else, where a person approves the command. */
export function checkCommandText(command: string): void {
  const found = HIDDEN.exec(command);
  if (!found) return;
  const code = found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  throw new ToolError(
    `The command holds an invisible character (U+${code} at position ${found.index}). Write it without; inside a string use an escape such as $'\\u${code.toLowerCase()}'.`,
  );
}

/** A long `sleep` that only waits, as written: the command begins with it, or it stands in a loop. Undefined when there is
 *  none. One at the end (`start-server; sleep 60`) is left to the timeout. */
export function findLongSleep(command: string): string | undefined {
  const bare = command
    .slice(0, MAX_CHECKED_CHARS)
    .replace(/'[^']*'|"(?:\\.|[^"\\])*"|(^|\s)#[^\n]*/g, "$1_")
    // A subshell or a loop sent to the background does not block.
    .replace(/(?:\([^()]*\)|\b(?:while|until|for)\b[^&]*?\bdone|\{[^{}]*\})\s*&(?!&)/g, "_ &")
    .replace(/^\s*cd\s[^;&|\n]*(?:&&|[;\n])/, "");
  const loops = bare.match(/(?<=[;\n\s]|^)do\s[\s\S]*?\bdone\b/g) ?? [];
  const first = /^[({\s]*sleep[^;&|\n]*(?:&(?!&))?/.exec(bare)?.[0] ?? "";
  for (const part of [first, ...loops]) {
    for (const [, text, amount, unit, background] of part.matchAll(SLEEPS)) {
      const seconds = Number(amount) * ({ m: 60, h: 3600, d: 86_400 }[unit ?? ""] ?? 1);
      if (!background && seconds >= SHELL_MAX_SLEEP_SECONDS) return text;
    }
  }
  return undefined;
}

const SLEEPS = /(?:^|[;&|({\n]|\bdo\b|\bthen\b|\belse\b)\s*(sleep\s+(\d+(?:\.\d+)?)([smhd]?))(?![\w.])\s*(&(?!&))?/g;
