// The only shell text we claim to understand: plain words joined by `&&`, `||`, `;` and `|`. Everything a shell would
// expand, substitute, redirect or remember makes the whole command opaque. The lexer fails closed: a character that is
// not known to be literal is not literal. What comes out is the argv every POSIX shell, bash and zsh agree on.

export type PlainParse = { ok: true; commands: string[][] } | { ok: false; why: string };

/** Longer commands are not analysed. */
const MAX_LENGTH = 16_384;
/** More simple commands than this are not analysed; an unbounded list was how another product lost count. */
const MAX_COMMANDS = 64;

/** C0 except tab and newline, DEL, C1, and every Unicode space, separator, format or private character but the space:
 *  they blur where words end, or what a person sees. Lone surrogates are not text. */
const SUSPICIOUS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|(?! )[\p{Zs}\p{Zl}\p{Zp}]|[\p{Cf}\p{Cs}\p{Co}]/u;

const BARE = /[A-Za-z0-9_@%+=:,./-]+/y;
/** Literal inside a word, special at its start (home directories, history, zsh's `=cmd` and extended globs). */
const BARE_INSIDE = /[~^]/;
const ESCAPABLE = /[!-/:-@[-`{-~ ]/;
/** `NAME=`, `NAME+=`, `NAME[…]=`: an assignment when it leads a command. */
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;
/** Output thrown away or joined; nothing else about redirection is plain. Must end at a blank or an operator. */
const HARMLESS_REDIRECT = /(?:2>&1|1>&2|>&2|[12]?> ?\/dev\/null)(?=[ \t;|&]|$)/y;

const OPERATORS = ["&&", "||", ";", "|"];

/** Words that start shell grammar instead of naming a program. */
const RESERVED = new Set(
  "if then elif else fi for while until do done case esac in select function time coproc [[ ]] { } !".split(" "),
);

export function parsePlain(command: string): PlainParse {
  if (command.length > MAX_LENGTH) return opaque("longer than 16 KiB");
  if (SUSPICIOUS.test(command)) return opaque("contains control or invisible characters");
  return new Lexer(command.trim()).parse();
}

/** The words of one simple command, or null. For rule payloads. */
export function parsePlainWords(text: string): string[] | null {
  const parsed = parsePlain(text);
  return parsed.ok && parsed.commands.length === 1 ? parsed.commands[0]! : null;
}

function opaque(why: string): { ok: false; why: string } {
  return { ok: false, why };
}

class Lexer {
  #at = 0;
  #commands: string[][] = [];
  #words: string[] = [];
  constructor(readonly text: string) {}

  parse(): PlainParse {
    while (this.#at < this.text.length) {
      const why = this.#step();
      if (why) return opaque(why);
    }
    // `a;` is complete, `a &&` and `a |` wait for more.
    if (this.#words.length > 0) {
      const why = this.#endCommand();
      if (why) return opaque(why);
    } else if (!this.text.endsWith(";")) return opaque("an empty command");
    if (this.#commands.length === 0) return opaque("an empty command");
    return { ok: true, commands: this.#commands };
  }

  /** Consumes one blank, operator, redirect or word. Returns why it is not plain. */
  #step(): string | undefined {
    const char = this.text[this.#at]!;
    if (char === " " || char === "\t") {
      this.#at += 1;
      return;
    }
    HARMLESS_REDIRECT.lastIndex = this.#at;
    if ((char === ">" || char === "1" || char === "2") && this.#words.length > 0 && HARMLESS_REDIRECT.test(this.text)) {
      this.#at = HARMLESS_REDIRECT.lastIndex;
      return;
    }
    const operator = OPERATORS.find((candidate) => this.text.startsWith(candidate, this.#at));
    if (operator) {
      this.#at += operator.length;
      if (operator === "|" && this.text[this.#at] === "&") return "`|&`";
      if (operator === ";" && this.text[this.#at] === ";") return "`;;`";
      return this.#endCommand();
    }
    if (char === "&") return "a background `&`";
    return this.#word();
  }

  #endCommand(): string | undefined {
    if (this.#words.length === 0) return "an empty command";
    const first = this.#words[0]!;
    if (RESERVED.has(first)) return `shell grammar (\`${first}\`)`;
    if (this.#commands.push(this.#words) > MAX_COMMANDS) return "more than 64 commands";
    this.#words = [];
  }

  #word(): string | undefined {
    const start = this.#at;
    let word = "";
    while (this.#at < this.text.length) {
      const char = this.text[this.#at]!;
      if (/[ \t;|&]/.test(char)) break;
      const piece = this.#piece(char, word);
      if (typeof piece !== "string") return piece.why;
      word += piece;
    }
    const source = this.text.slice(start, this.#at);
    if (source.startsWith("=")) return "a word that starts with `=`";
    if (this.#words.length === 0 && ASSIGNMENT.test(source)) return "a variable assignment";
    if (this.#words.length === 0 && word === "") return "an empty command name";
    this.#words.push(word);
  }

  /** The literal text of the next piece of a word. */
  #piece(char: string, word: string): string | { why: string } {
    if (char === "'") return this.#quoted("'", /^[^']*/);
    // Inside double quotes a backslash is literal before most characters; only the unambiguous ones are accepted.
    if (char === '"') return this.#quoted('"', /^(?:[^"\\$`!]|\\["\\])*/);
    if (char === "\\") {
      const next = this.text[this.#at + 1] ?? "";
      if (!ESCAPABLE.test(next)) return { why: "an unusual backslash" };
      this.#at += 2;
      return next;
    }
    BARE.lastIndex = this.#at;
    const run = BARE.exec(this.text)?.[0];
    if (run !== undefined) {
      this.#at += run.length;
      return run;
    }
    if ((BARE_INSIDE.test(char) && /[A-Za-z0-9]$/.test(word)) || isPlainLetter(char)) {
      this.#at += 1;
      return char;
    }
    return { why: char === "\n" ? "several lines" : `\`${char}\`` };
  }

  #quoted(quote: string, body: RegExp): string | { why: string } {
    const inner = body.exec(this.text.slice(this.#at + 1))![0];
    const end = this.#at + 1 + inner.length;
    const closing = this.text[end];
    if (closing === undefined) return { why: "an unterminated quote" };
    if (closing !== quote) return { why: `\`${closing}\` inside double quotes` };
    this.#at = end + 1;
    return quote === "'" ? inner : inner.replace(/\\(["\\])/g, "$1");
  }
}

/** Letters of other scripts are literal in every shell; look-alikes of ASCII (fullwidth forms) are left out. */
function isPlainLetter(char: string): boolean {
  return /[\p{L}\p{M}\p{N}]/u.test(char) && char > "\u007f" && char.normalize("NFKC") === char;
}
