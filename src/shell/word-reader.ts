// Words of shell text: quotes, escapes, expansions, globs. Each word says how sure we are of it (ast.ts). A construct that
// shells may read in more than one way ends the whole parse: the caller asks.

import type { Script, Word } from "./ast.ts";

/** Thrown inside the parser only; `parseShell` turns it into a result. */
export class NotUnderstood extends Error {}

const BARE = /[A-Za-z0-9_@%+=:,./-]+/y;
const DOUBLE_QUOTED = /[^"\\$`!]+/y;
const VARIABLE = /[A-Za-z_]\w*|[0-9@*#?$!-]/y;
const BRACED_VARIABLE = /\{[A-Za-z_]\w*\}/y;
/** `HEAD@{1}`, `@{u}`, `{}`: braces without a comma or dots are literal. */
const INERT_BRACES = /\{[A-Za-z0-9-]*\}/y;
/** Ends a word. */
const META = " \t\n;|&()<>";
/** What a backslash outside quotes makes literal; before anything else it is unusual. */
const ESCAPABLE = /[!-/:-@[-`{-~ ]/;
const ANSI_ESCAPES: Record<string, string> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** The parser, as far as words need it. */
export interface Cursor {
  readonly text: string;
  at: number;
  /** Reads a script up to its closing parenthesis, which is consumed. */
  script(): Script;
  /** Runs `read` one level deeper; ends the parse where that is too deep. */
  deeper<Result>(read: () => Result): Result;
  /** Parses text of its own, such as the inside of backquotes. */
  nested(text: string): Script;
}

export class WordReader {
  #text = "";
  #pattern = "";
  #globbed = false;
  #dynamic = false;
  #inert = true;
  #odd = "";
  #scripts: Script[] = [];
  readonly #cursor: Cursor;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  /** The word that starts here. `<(…)` and `>(…)` are words, too. */
  read(): Word {
    const { text } = this.#cursor;
    const start = this.#cursor.at;
    if (text[start] === "=") this.#odden("a word that starts with `=`");
    if ((text[start] === "<" || text[start] === ">") && text[start + 1] === "(") this.#processSubstitution();
    while (this.#cursor.at < text.length) {
      BARE.lastIndex = this.#cursor.at;
      const run = BARE.exec(text)?.[0];
      if (run !== undefined) {
        this.#cursor.at += run.length;
        this.#literal(run);
      } else {
        const char = text[this.#cursor.at]!;
        if (META.includes(char)) break;
        this.#piece(char, start);
      }
    }
    return this.#finish(text.slice(start, this.#cursor.at));
  }

  /** Expansions of a here-document's text. */
  readBody(): Script[] {
    const { text } = this.#cursor;
    while (this.#cursor.at < text.length) {
      const char = text[this.#cursor.at]!;
      if (char === "\\") this.#cursor.at += 2;
      else if (char === "$") this.#dollar(true);
      else if (char === "`") this.#backquotes(true);
      else this.#cursor.at += 1;
    }
    return this.#scripts;
  }

  /** Arithmetic after its opening, up to `close`, which is consumed. */
  readArithmetic(close: "))" | "]"): Word {
    const start = this.#cursor.at;
    this.#arithmetic(close);
    return this.#finish(this.#cursor.text.slice(start, this.#cursor.at - close.length));
  }

  #finish(source: string): Word {
    // `[` alone is the name of a program.
    const globbed = this.#globbed && source !== "[" && source !== "]";
    const kind = this.#dynamic ? "dynamic" : globbed ? "globbed" : "literal";
    return {
      text: this.#text,
      kind,
      odd: globbed || this.#odd !== "`[`" ? this.#odd : "",
      inert: this.#inert,
      pattern: this.#pattern,
      scripts: this.#scripts,
      source,
    };
  }

  #piece(char: string, start: number): void {
    const cursor = this.#cursor;
    switch (char) {
      case "'":
        this.#singleQuoted();
        return;
      case '"':
        cursor.at += 1;
        this.#doubleQuoted();
        return;
      case "\\":
        this.#escaped();
        return;
      case "$":
        this.#dollar(false);
        return;
      case "`":
        this.#backquotes(false);
        return;
      case "*":
      case "?":
        this.#glob(char);
        return;
      case "[":
      case "]":
        this.#odden("`[`");
        this.#glob(char);
        return;
      case "#":
        cursor.at += 1;
        this.#literal(char);
        return;
      case "{":
        this.#brace();
        return;
      case "~":
      case "^":
        this.#tildeOrCaret(char, start);
        return;
    }
    if (!isPlainLetter(char)) this.#odden(`\`${char}\``);
    cursor.at += 1;
    this.#literal(char);
  }

  #literal(text: string): void {
    this.#text += text;
    this.#pattern += text;
  }

  /** Literal whatever it looks like. */
  #quoted(text: string): void {
    this.#text += text;
    this.#pattern += text.replace(/[*?[\]\\]/g, "\\$&");
  }

  #odden(why: string): void {
    if (this.#odd === "") this.#odd = why;
  }

  #glob(char: string): void {
    this.#globbed = true;
    this.#text += char;
    this.#pattern += char;
    this.#cursor.at += 1;
  }

  #expansion(why: string, start: number, inert: boolean): void {
    this.#dynamic = true;
    if (!inert) this.#inert = false;
    this.#odden(why);
    this.#text += this.#cursor.text.slice(start, this.#cursor.at);
  }

  #tildeOrCaret(char: string, start: number): void {
    const before = this.#cursor.text[this.#cursor.at - 1] ?? "";
    const at = this.#cursor.at++;
    if (at > start && /[A-Za-z0-9]/.test(before)) {
      this.#literal(char);
      return;
    }
    // Tildes are expanded at the start, and in assignments after `=` and `:`.
    if (char === "~" && (at === start || /[=:]/.test(before))) {
      this.#expansion("`~`", at, true);
      return;
    }
    this.#odden(`\`${char}\``);
    this.#literal(char);
  }

  #singleQuoted(): void {
    const { text, at } = this.#cursor;
    const end = text.indexOf("'", at + 1);
    if (end === -1) throw new NotUnderstood("an unterminated quote");
    this.#quoted(text.slice(at + 1, end));
    this.#cursor.at = end + 1;
  }

  /** After the opening quote. */
  #doubleQuoted(): void {
    const cursor = this.#cursor;
    const { text } = cursor;
    for (;;) {
      DOUBLE_QUOTED.lastIndex = cursor.at;
      const run = DOUBLE_QUOTED.exec(text)?.[0];
      if (run !== undefined) {
        cursor.at += run.length;
        this.#quoted(run);
      }
      const char = text[cursor.at];
      if (char === undefined) throw new NotUnderstood("an unterminated quote");
      if (char === '"') {
        cursor.at += 1;
        return;
      }
      if (char === "$") this.#dollar(true);
      else if (char === "`") this.#backquotes(true);
      else if (char === "\\") this.#escapedInDouble();
      else {
        this.#odden("`!` inside double quotes");
        this.#quoted(char);
        cursor.at += 1;
      }
    }
  }

  #escapedInDouble(): void {
    const cursor = this.#cursor;
    const next = cursor.text[cursor.at + 1];
    if (next === undefined) throw new NotUnderstood("an unterminated quote");
    cursor.at += 2;
    if (next === "\n") {
      this.#odden("a continued line");
      return;
    }
    if (next === '"' || next === "\\") {
      this.#quoted(next);
      return;
    }
    if (next === "$" || next === "`") {
      this.#odden(`\`\\${next}\` inside double quotes`);
      this.#quoted(next);
      return;
    }
    // Before any other character a backslash stays.
    if (!/[\w.()|+?*{}[\]/^<>,:;=#%&@-]/.test(next)) this.#odden("a backslash inside double quotes");
    this.#quoted(`\\${next}`);
  }

  #escaped(): void {
    const cursor = this.#cursor;
    const next = cursor.text[cursor.at + 1];
    if (next === undefined) throw new NotUnderstood("an unusual backslash");
    cursor.at += 2;
    if (next === "\n") {
      this.#odden("a continued line");
      return;
    }
    if (!ESCAPABLE.test(next)) this.#odden("an unusual backslash");
    this.#quoted(next);
  }

  #brace(): void {
    const cursor = this.#cursor;
    INERT_BRACES.lastIndex = cursor.at;
    const inert = INERT_BRACES.exec(cursor.text)?.[0];
    const at = cursor.at;
    if (inert !== undefined) {
      cursor.at += inert.length;
      if (cursor.text[at - 1] !== "@" || inert === "{}") this.#odden("`{`");
      this.#quoted(inert);
      return;
    }
    cursor.at += 1;
    this.#expansion("`{`", at, true);
  }

  #dollar(inDouble: boolean): void {
    const cursor = this.#cursor;
    const { text } = cursor;
    const start = cursor.at;
    const next = text[start + 1];
    if (next === "'" && !inDouble) {
      this.#ansiQuoted();
      return;
    }
    if (next === '"' && !inDouble) {
      this.#odden("`$`");
      cursor.at += 2;
      this.#doubleQuoted();
      return;
    }
    if (next === "(" && text[start + 2] === "(") {
      cursor.at += 3;
      this.#arithmetic("))");
      this.#expansion("arithmetic", start, false);
      return;
    }
    if (next === "(") {
      cursor.at += 2;
      this.#scripts.push(cursor.script());
      this.#expansion("a command substitution", start, false);
      return;
    }
    if (next === "[") {
      cursor.at += 2;
      this.#arithmetic("]");
      this.#expansion("arithmetic", start, false);
      return;
    }
    if (next === "{") {
      this.#parameter(start, inDouble);
      return;
    }
    VARIABLE.lastIndex = start + 1;
    const name = VARIABLE.exec(text)?.[0];
    if (name === undefined) {
      cursor.at += 1;
      this.#odden("`$`");
      this.#quoted("$");
      return;
    }
    cursor.at += 1 + name.length;
    this.#expansion("`$`", start, true);
  }

  /** `${…}`. Only `${NAME}` is known to run nothing. */
  #parameter(start: number, inDouble: boolean): void {
    const cursor = this.#cursor;
    BRACED_VARIABLE.lastIndex = start + 1;
    const simple = BRACED_VARIABLE.exec(cursor.text)?.[0];
    if (simple !== undefined) {
      cursor.at += 1 + simple.length;
      this.#expansion("`$`", start, true);
      return;
    }
    cursor.at += 2;
    cursor.deeper(() => this.#balanced("}", "{", inDouble));
    this.#expansion("`${`", start, false);
  }

  #arithmetic(close: "))" | "]"): void {
    this.#cursor.deeper(() => this.#balanced(close, close === "]" ? "[" : "(", false));
    this.#dynamic = true;
    this.#inert = false;
  }

  /** Skips to `close`, collecting what expansions on the way would run. */
  #balanced(close: string, open: string, inDouble: boolean): void {
    const cursor = this.#cursor;
    const { text } = cursor;
    let depth = 0;
    while (cursor.at < text.length) {
      const char = text[cursor.at]!;
      if (depth === 0 && text.startsWith(close, cursor.at)) {
        cursor.at += close.length;
        return;
      }
      if (char === open) depth += 1;
      // `$((a) b)` is a subshell in a substitution: bash finds out by trying.
      if (char === close[0]) {
        if (depth === 0) throw new NotUnderstood("an ambiguous parenthesis");
        depth -= 1;
      }
      if (char === "$") this.#dollarInside(inDouble);
      else if (char === "`") this.#backquotes(inDouble);
      else if (char === "'" || char === '"') {
        // Whether these quote depends on the operator before them, and on the shell.
        if (inDouble) throw new NotUnderstood("a quote inside `${`");
        this.#skipQuoted(char);
      } else cursor.at += char === "\\" ? 2 : 1;
    }
    throw new NotUnderstood("an unterminated expansion");
  }

  #dollarInside(inDouble: boolean): void {
    const [text, pattern] = [this.#text, this.#pattern];
    this.#dollar(inDouble);
    this.#text = text;
    this.#pattern = pattern;
  }

  #skipQuoted(quote: string): void {
    const [text, pattern] = [this.#text, this.#pattern];
    if (quote === "'") this.#singleQuoted();
    else {
      this.#cursor.at += 1;
      this.#doubleQuoted();
    }
    this.#text = text;
    this.#pattern = pattern;
  }

  #processSubstitution(): void {
    const start = this.#cursor.at;
    this.#cursor.at += 2;
    this.#scripts.push(this.#cursor.script());
    this.#expansion("a process substitution", start, false);
  }

  #backquotes(inDouble: boolean): void {
    const cursor = this.#cursor;
    const { text } = cursor;
    const start = cursor.at;
    let inner = "";
    for (let at = start + 1; at < text.length; at++) {
      const char = text[at]!;
      if (char === "`") {
        cursor.at = at + 1;
        this.#scripts.push(cursor.nested(inner));
        this.#expansion("a command substitution", start, false);
        return;
      }
      if (char === "\\" && at + 1 < text.length) {
        const next = text[++at]!;
        inner += /[$`\\]/.test(next) || (inDouble && next === '"') ? next : `\\${next}`;
      } else inner += char;
    }
    throw new NotUnderstood("an unterminated quote");
  }

  /** `$'…'`: decoded for deny rules, never plain. */
  #ansiQuoted(): void {
    const cursor = this.#cursor;
    const match = /^\$'((?:[^'\\]|\\[\s\S])*)'/.exec(cursor.text.slice(cursor.at));
    if (!match) throw new NotUnderstood("an unterminated quote");
    cursor.at += match[0].length;
    this.#odden("`$`");
    this.#quoted(
      match[1]!.replace(
        /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c([\s\S])|([\s\S]))/g,
        (_, hex, short, long, octal, control: string | undefined, other: string | undefined) => {
          const code = hex ?? short ?? long;
          if (code !== undefined) return fromCode(Number.parseInt(code, 16));
          if (octal !== undefined) return fromCode(Number.parseInt(octal, 8) & 0xff);
          if (control !== undefined) return fromCode(control.charCodeAt(0) & 0x1f);
          return ANSI_ESCAPES[other!] ?? (/['"?\\]/.test(other!) ? other! : `\\${other}`);
        },
      ),
    );
  }
}

function fromCode(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}

/** Letters of other scripts are literal in every shell; look-alikes of ASCII (fullwidth forms) are left out. */
function isPlainLetter(char: string): boolean {
  return char > "\u007f" && /[\p{L}\p{M}\p{N}]/u.test(char) && char.normalize("NFKC") === char;
}
