// Every command that may run when a text is run, for deny rules, circuit breakers and display: those of the text, of its
// substitutions, loops and functions, and those that wrappers, interpreters and here-documents would run. Rather one too
// many than one too few.

import type { Command, Redirect, Script, Word } from "./ast.ts";
import { baseName, type LooseCommand, MAX_SCAN, splitLoosely } from "./loose-words.ts";
import { type Parse, parseShell } from "./parser.ts";

export interface ShellScan {
  commands: LooseCommand[];
  /** The name of some command is only known when it runs, or there is more than was looked at. */
  dynamic: boolean;
  /** Some word is only known when it runs, or the text is not understood: words may be spelled by expansions. */
  uncertain: boolean;
  /** Unquoted globs, as patterns (ast.ts). */
  globs: string[];
  /** Scripts inside words that were looked at, and their characters. */
  texts: number;
  chars: number;
}

/** More inner commands are not listed; the scan is `dynamic` then. */
const MAX_COMMANDS = 2_048;
/** Words of a wrapper looked at as the start of its inner command. */
const MAX_WRAPPER_WORDS = 64;
/** Words of an inner command that are listed. */
const MAX_INNER_WORDS = 256;
const MAX_TEXTS = 128;
const MAX_NESTED_CHARS = 32_768;
const MAX_DEPTH = 8;

export function scanShell(command: string, parse: Parse): ShellScan {
  const scan: ShellScan = { commands: [], dynamic: false, uncertain: !parse.ok, globs: [], texts: 0, chars: 0 };
  if (parse.ok) {
    addWhole(scan, parse.script, 0);
  } else {
    scan.dynamic ||= command.length > MAX_SCAN;
    const commands = splitLoosely(command);
    for (const loose of commands) addCommand(scan, loose, 0);
    scan.dynamic ||= commands.some(({ argv }) => argv[0] !== undefined && /[$`*?[\]{}]/.test(argv[0]));
  }
  return scan;
}

interface Found {
  /** Texts that may reach a shell's input. */
  bodies: string[];
  /** Some shell reads its commands from its input. */
  feeds: boolean;
  depth: number;
}

function addWhole(scan: ShellScan, script: Script, depth: number): void {
  const found: Found = { bodies: [], feeds: false, depth };
  addScript(scan, script, found);
  // A shell that reads its commands from somewhere may be given any text of this one.
  if (found.feeds) for (const body of found.bodies) addText(scan, body, depth + 1);
}

function addScript(scan: ShellScan, script: Script, found: Found): void {
  for (const { pipeline } of script.items) for (const command of pipeline.commands) addParsed(scan, command, found);
}

function addParsed(scan: ShellScan, command: Command, found: Found): void {
  const writes = command.redirects.flatMap((redirect) => addRedirect(scan, redirect, found));
  for (const word of command.words) addWord(scan, word, found);
  if (command.kind === "compound") {
    for (const script of command.scripts) addScript(scan, script, found);
    // `for PATH in ./evil` assigns like an assignment does.
    if (writes.length > 0) addCommand(scan, { argv: [], writes }, found.depth);
    return;
  }
  for (const word of command.assignments) {
    addWord(scan, word, found);
    addAssigned(scan, word.text, found.depth + 1);
  }
  const argv = command.words.map(({ text }) => text);
  const [name] = command.words;
  if (name !== undefined && name.kind !== "literal") scan.dynamic = true;
  if (name !== undefined && SHELLS.has(baseName(name.text))) found.feeds = true;
  for (const { text, kind } of command.words) if (kind === "literal" && /[\s;|&]/.test(text)) found.bodies.push(text);
  addCommand(scan, { argv, writes }, found.depth);
}

function addRedirect(scan: ShellScan, { operator, target, body }: Redirect, found: Found): string[] {
  addWord(scan, target, found);
  if (body !== undefined) found.bodies.push(body);
  if (operator === "<<<") found.bodies.push(target.text);
  const writes = operator.includes(">") && !(operator === ">&" && /^\d+-?$|^-$/.test(target.text));
  return writes ? [target.text] : [];
}

function addWord(scan: ShellScan, word: Word, found: Found): void {
  if (word.kind === "dynamic") scan.uncertain = true;
  if (word.kind === "globbed") scan.globs.push(word.pattern);
  for (const script of word.scripts) addScript(scan, script, found);
}

/** A command and what it would run in turn. */
function addCommand(scan: ShellScan, command: LooseCommand, depth: number): void {
  if (scan.commands.length >= MAX_COMMANDS || depth > MAX_DEPTH) {
    scan.dynamic = true;
    return;
  }
  scan.commands.push(command);
  const { argv } = command;
  if (argv.length < 2) return;
  const name = baseName(argv[0]!);
  if (command.suffix === undefined) for (const word of argv) addHidden(scan, name, word, depth + 1);
  // It joins its words and reads them again.
  if (name === "eval") addText(scan, argv.slice(1).join(" "), depth + 1);
  if (SHELLS.has(name)) {
    for (const word of argv.slice(1, MAX_WRAPPER_WORDS))
      if (/\s/.test(word) || !word.startsWith("-")) addText(scan, word, depth + 1);
  } else if (WRAPPERS.has(name)) addWrapped(scan, argv, depth + 1);
  else if (name === "find") addFindActions(scan, argv, depth + 1);
}

/** Variables whose value some program runs. */
const RUN_VARIABLE =
  /^(?:\w*(?:COMMAND|PAGER|EDITOR|VISUAL|ASKPASS|BROWSER|SHELL|WRAPPER|DIFF|_SSH|_RSH|OPEN|CLOSE)|BASH_ENV|ENV|PS[0-4]|CC|CXX|LD)\+?=(.+)$/s;

function addAssigned(scan: ShellScan, assignment: string, depth: number): void {
  const value = RUN_VARIABLE.exec(assignment)?.[1];
  if (value !== undefined) addText(scan, value, depth);
}

/** Commands inside one word: after `!` or an option's `=`, glued to a short option, in a subscript that is evaluated. */
function addHidden(scan: ShellScan, name: string, word: string, depth: number): void {
  addAssigned(scan, word, depth);
  if (EVALUATES.has(name) && /\[.*(?:\$\(|`)/s.test(word)) addText(scan, word, depth);
  const action = /(?:^|=)(?:!|exec=)\s*(.+)$/s.exec(word)?.[1];
  if (action !== undefined && !READS_TEXT.has(name)) addText(scan, action, depth);
  const command =
    /^--(?:to-command|checkpoint-action|use-compress-program|rsh-command|rsh|exec|upload-pack|receive-pack|compress-program|pre|pager|open-files-in-pager|extcmd)=(?:exec=)?(.+)$/s.exec(
      word,
    )?.[1];
  if (command !== undefined) addText(scan, command, depth);
  const glued = /^-[A-Za-z](.*\s.*)$/s.exec(word)?.[1];
  if (glued !== undefined && WRAPPERS.has(name)) addText(scan, glued, depth);
}

/** Builtins that take names of variables, whose subscripts are evaluated. */
const EVALUATES = new Set(
  "test [ printf read let declare typeset local export readonly unset mapfile readarray wait".split(" "),
);
const READS_TEXT = new Set("echo printf grep egrep fgrep rg awk sed test [".split(" "));

function addFindActions(scan: ShellScan, argv: string[], depth: number): void {
  let count = 0;
  for (const [at, word] of argv.entries()) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(word)) continue;
    if (++count > MAX_WRAPPER_WORDS) {
      scan.dynamic = true;
      return;
    }
    const rest = argv.slice(at + 1, at + 1 + MAX_WRAPPER_WORDS);
    const end = rest.findIndex((part) => part === ";" || part === "+");
    addCommand(scan, { argv: end === -1 ? rest : rest.slice(0, end), writes: [] }, depth);
  }
}

/** Where a wrapper's own options end is its business: every later word may be the command, and may be a script. */
function addWrapped(scan: ShellScan, argv: string[], depth: number): void {
  if (argv.length > MAX_WRAPPER_WORDS) scan.dynamic = true;
  const end = Math.min(argv.length, MAX_WRAPPER_WORDS);
  for (let at = 1; at < end; at++) {
    const inner = argv.slice(at, at + MAX_INNER_WORDS);
    const name = baseName(inner[0]!);
    // Suffixes of an inner wrapper are suffixes of this one.
    if (WRAPPERS.has(name) && !SHELLS.has(name)) scan.commands.push({ argv: inner, writes: [], suffix: true });
    else addCommand(scan, { argv: inner, writes: [], suffix: true }, depth);
    if (/[\s;|&]/.test(inner[0]!)) addText(scan, inner[0]!, depth);
  }
}

function addText(scan: ShellScan, text: string, depth: number): void {
  scan.chars += text.length;
  // What is nested is read again at each level: together no more than a long one.
  if (depth > MAX_DEPTH || ++scan.texts > MAX_TEXTS || scan.chars > MAX_NESTED_CHARS) {
    scan.dynamic = true;
    return;
  }
  const parse = parseShell(text);
  if (parse.ok) {
    addWhole(scan, parse.script, depth);
    return;
  }
  scan.uncertain = true;
  for (const loose of splitLoosely(text)) addCommand(scan, loose, depth);
}

const WRAPPERS = new Set(
  "sudo doas su runuser pkexec chroot env command builtin exec nohup nice ionice stdbuf timeout time xargs parallel setsid flock strace ltrace gdb watch script unshare nsenter setpriv busybox toybox systemd-run docker podman kubectl ssh then do else if while until ! { coproc eval source . trap taskset setarch linux32 linux64 i386 x86_64 uname26 prlimit fakeroot fakechroot start-stop-daemon chrt chpst softlimit setuidgid su-exec gosu dbus-run-session xvfb-run firejail bwrap numactl cgexec catchsegv rlwrap script scriptlive unbuffer expect sshpass daemonize tmux screen at batch entr hyperfine valgrind perf torsocks proxychains proxychains4 faketime eatmydata systemd-inhibit caffeinate arch hash alias ld.so ld-linux-x86-64.so.2 ld-linux.so.2 ld-linux-aarch64.so.1 ifne sem choom run0 capsh aa-exec pidproxy setlock flock nq".split(
    " ",
  ),
);
const SHELLS = new Set("sh bash zsh dash ksh ash fish eval".split(" "));
