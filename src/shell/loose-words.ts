// Looks at text the parser does not understand, for deny rules and circuit breakers. It over-approximates: substitutions
// and groups become commands of their own, quotes and backslashes are removed. It never proves that something is harmless.

export interface LooseCommand {
  argv: string[];
  /** Files a redirect writes. */
  writes: string[];
  /** The last words of a wrapper that is listed itself: the wrapper's options may be among them. */
  suffix?: true;
}

/** The program's name without its directory, as `/bin/rm` and `rm.exe` both run rm. */
export function baseName(word: string): string {
  return /[/\\.]/.test(word) ? word.replace(/^.*[/\\]/, "").replace(/\.exe$/i, "") : word;
}

/** The text without quotes and backslashes: `r'm'` and `\rm` are rm. */
export function unquoted(command: string): string {
  return command
    .slice(0, MAX_SCAN)
    .replace(/\\\n/g, "")
    .replace(/['"\\]/g, "");
}

/** Longer text is not scanned further: what it runs counts as unknown. */
export const MAX_SCAN = 65_536;

/** Means the same inside and outside of quotes. */
const ORDINARY = /[^\\'"`;|&<>()\s]+/y;

export function splitLoosely(whole: string): LooseCommand[] {
  const text = whole.slice(0, MAX_SCAN);
  const commands: LooseCommand[] = [];
  let current: LooseCommand = { argv: [], writes: [] };
  let word: string | null = null;
  let redirect = false;
  let quote = "";
  const endWord = () => {
    if (word === null) return;
    if (redirect) current.writes.push(word);
    else if (current.argv.length > 0 || !/^[A-Za-z_]\w*\+?=/.test(word)) current.argv.push(word);
    redirect = false;
    word = null;
  };
  const endCommand = () => {
    endWord();
    redirect = false;
    if (current.argv.length || current.writes.length) commands.push(current);
    current = { argv: [], writes: [] };
  };
  for (let at = 0; at < text.length; at++) {
    ORDINARY.lastIndex = at;
    if (ORDINARY.test(text)) {
      word = (word ?? "") + text.slice(at, ORDINARY.lastIndex);
      at = ORDINARY.lastIndex;
      if (at >= text.length) break;
    }
    const char = text[at]!;
    if (char === "\\" && quote !== "'") {
      at += 1;
      if (text[at] !== "\n") word = (word ?? "") + (text[at] ?? "");
    } else if (quote === char) quote = "";
    else if (!quote && (char === "'" || char === '"')) {
      quote = char;
      word ??= "";
    } else if (quote === "'" || (quote && char !== "`" && char !== "(" && char !== ")")) word = (word ?? "") + char;
    else if (/[;|\n`()]/.test(char)) endCommand();
    else if (char === "&") {
      // `&>f` and `2>&1` belong to a redirect.
      if (text[at + 1] !== ">" && text[at - 1] !== ">" && text[at - 1] !== "<") endCommand();
    } else if (char === ">" || char === "<") {
      if (word !== null && /^\d+$/.test(word)) word = null;
      endWord();
      redirect = char === ">";
      if (redirect && text[at + 1] === "|") at += 1;
    } else if (/\s/.test(char)) endWord();
    else word = (word ?? "") + char;
  }
  endCommand();
  return commands;
}
