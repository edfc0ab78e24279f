// Looks at any shell text, however odd, for deny rules and circuit breakers. It over-approximates: substitutions and
// groups become commands of their own, wrappers are opened, quotes and backslashes are removed. It never proves that
// something is harmless; that is `plain-words.ts`.

export interface LooseCommand {
  argv: string[];
  /** Files a redirect writes. */
  writes: string[];
}

export interface LooseScan {
  /** Every command that may be in the text, outer and inner ones. */
  commands: LooseCommand[];
  /** The name of some command is only known when it runs. */
  dynamic: boolean;
}

export function scanLoosely(command: string): LooseScan {
  const outer = splitLoosely(command.slice(0, MAX_SCAN));
  return {
    commands: outer.flatMap((loose) => [loose, ...unwrap(loose.argv, 0)]),
    dynamic: outer.some(({ argv }) => argv[0] !== undefined && /[$`*?[\]{}]/.test(argv[0])),
  };
}

/** Inner commands of an argv: what `sudo`, `env`, `xargs`, `sh -c`, `find -exec` and the like would run. */
export function unwrap(argv: string[], depth = 0): LooseCommand[] {
  if (depth > 8 || argv.length === 0) return [];
  const name = baseName(argv[0]!);
  const inner: LooseCommand[] = [];
  // Where a wrapper's own options end is its business: every later word may be the command.
  if (WRAPPERS.has(name)) for (let at = 1; at < argv.length; at++) inner.push({ argv: argv.slice(at), writes: [] });
  if (name === "find")
    argv.forEach((word, at) => {
      if (/^-(?:exec|execdir|ok|okdir)$/.test(word)) inner.push({ argv: argv.slice(at + 1), writes: [] });
    });
  if (SHELLS.has(name))
    for (const script of argv.slice(1))
      if (/\s/.test(script) || !script.startsWith("-")) inner.push(...splitLoosely(script));
  return inner.flatMap((found) =>
    WRAPPERS.has(name) ? [found, ...unwrapShells(found.argv, depth + 1)] : [found, ...unwrap(found.argv, depth + 1)],
  );
}

/** Suffixes of a wrapper are listed already; only what they quote is new. */
function unwrapShells(argv: string[], depth: number): LooseCommand[] {
  const name = baseName(argv[0] ?? "");
  return SHELLS.has(name) || name === "find" ? unwrap(argv, depth) : [];
}

/** The program's name without its directory, as `/bin/rm` and `rm.exe` both run rm. */
export function baseName(word: string): string {
  return word.replace(/^.*[/\\]/, "").replace(/\.exe$/i, "");
}

/** The text without quotes and backslashes: `r'm'` and `\rm` are rm. */
export function unquoted(command: string): string {
  return command
    .slice(0, MAX_SCAN)
    .replace(/\\\n/g, "")
    .replace(/['"\\]/g, "");
}

/** Longer text is not scanned further; it is opaque anyway. */
const MAX_SCAN = 65_536;

const WRAPPERS = new Set(
  "sudo doas su runuser pkexec chroot env command builtin exec nohup nice ionice stdbuf timeout time xargs parallel setsid flock strace ltrace gdb watch script unshare nsenter setpriv busybox toybox systemd-run docker podman kubectl ssh then do else if while until ! { coproc eval source . trap".split(
    " ",
  ),
);
const SHELLS = new Set("sh bash zsh dash ksh ash fish eval".split(" "));

function splitLoosely(text: string): LooseCommand[] {
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
