// The plain subset: simple commands joined by `&&`, `||`, `;`, `|` and newlines. Only texts in it can be allowed without
// asking, and only they can be covered by allow rules.

import type { ListItem, Redirect, SimpleCommand, Word } from "./ast.ts";
import { type Parse, parseShell } from "./parser.ts";

export interface PlainCommand {
  words: Word[];
  redirects: Redirect[];
}

export interface PlainItem {
  timed: boolean;
  commands: PlainCommand[];
  operator: Exclude<ListItem["operator"], "&">;
}

export type Plain =
  | {
      ok: true;
      items: PlainItem[];
      /** Why no proof may rest on it; "" when every word is literal or a glob in a form all shells read alike. */
      odd: string;
    }
  | { ok: false; why: string };

export function toPlain(parse: Parse): Plain {
  if (!parse.ok) return parse;
  if (parse.odd !== "") return { ok: false, why: parse.odd };
  const items: PlainItem[] = [];
  let odd = "";
  for (const { pipeline, operator } of parse.script.items) {
    if (operator === "&") return { ok: false, why: "a background `&`" };
    if (pipeline.negated) return { ok: false, why: "shell grammar (`!`)" };
    for (const command of pipeline.commands) {
      if (command.kind === "compound") return { ok: false, why: `shell grammar (\`${command.name}\`)` };
      const why = whyNotPlain(command);
      if (why !== "") return { ok: false, why };
      odd ||= findOddWord(command);
    }
    items.push({ timed: pipeline.timed, commands: pipeline.commands as SimpleCommand[], operator });
  }
  return { ok: true, items, odd };
}

function whyNotPlain({ assignments, words }: SimpleCommand): string {
  if (assignments.length > 0) return "a variable assignment";
  const [name] = words;
  if (name === undefined) return "a redirect without a command";
  if (name.kind !== "literal") return `${name.odd || "a pattern"} in the place of a command`;
  if (name.text === "") return "an empty command name";
  // What looks different to shells, or runs something while it is evaluated, is outside altogether.
  const word = words.find(({ kind, odd, inert }) => (kind === "dynamic" ? !inert : odd !== ""));
  return word?.odd ?? "";
}

/** Values of variables are fine as arguments a rule covers, but prove nothing. */
function findOddWord({ words, redirects }: SimpleCommand): string {
  return (
    words.find(({ odd }) => odd !== "")?.odd ??
    redirects.find(({ target }) => target.kind !== "literal" || target.odd !== "")?.target.source ??
    ""
  );
}

/** The words of one simple command of literal words, or null. For rule payloads. */
export function parsePlainWords(text: string): string[] | null {
  const plain = toPlain(parseShell(text));
  if (!plain.ok || plain.odd !== "" || plain.items.length !== 1) return null;
  const [item] = plain.items;
  const [command] = item!.commands;
  if (item!.commands.length !== 1 || item!.timed || command!.redirects.length > 0) return null;
  return command!.words.every(({ kind }) => kind === "literal") ? command!.words.map(({ text }) => text) : null;
}

/** A redirect that only throws output away or joins it. */
export function isHarmlessRedirect({ operator, fd, target }: Redirect): boolean {
  if (target.kind !== "literal") return false;
  if (operator === ">&") return /^[12]?$/.test(fd) && /^[12]$/.test(target.text);
  if (operator === ">" || operator === ">>") return /^[12]?$/.test(fd) && target.text === "/dev/null";
  if (operator === "&>" || operator === "&>>") return target.text === "/dev/null";
  return operator === "<" && fd === "" && target.text === "/dev/null";
}
