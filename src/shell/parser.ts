// The parser of shell text: the grammar of bash, read top down. It fails closed: a production it does not know, or one
// that shells read differently, makes the whole text not understood, and the caller asks. It never throws, and its time
// is proportional to the length, which is bounded, as are nesting and the number of commands.

import type { Command, ListItem, Pipeline, Redirect, Script, SimpleCommand, Word } from "./ast.ts";
import { type Cursor, NotUnderstood, WordReader } from "./word-reader.ts";

export type Parse =
  | {
      ok: true;
      script: Script;
      /** Comments, continued lines, here-documents: why the text is outside the plain subset. "" when it is not. */
      odd: string;
    }
  | { ok: false; why: string };

/** Longer commands are not analysed. */
const MAX_LENGTH = 16_384;
/** More simple commands than this are not analysed; an unbounded list was how another product lost count. */
const MAX_COMMANDS = 64;
const MAX_DEPTH = 32;

/** C0 except tab and newline, DEL, C1, and every Unicode space, separator, format or private character but the space:
 *  they blur where words end, or what a person sees. Lone surrogates are not text. */
const SUSPICIOUS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|(?! )[\p{Zs}\p{Zl}\p{Zp}]|[\p{Cf}\p{Cs}\p{Co}]/u;
const ASCII_TEXT = /^[\t\n -~]*$/;

const REDIRECT = /(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|>>|>&|>\||&>>|&>|<|>)/y;
/** `NAME=`, `NAME+=`, `NAME[…]=`: an assignment when it leads a command. */
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/;
const KEYWORD = /(?:[a-z]+|[{}!]|\[\[)(?=[ \t\n;&|()<>]|$)/y;
const CLOSERS = new Set(["then", "elif", "else", "fi", "do", "done", "esac", "}"]);

export function parseShell(text: string): Parse {
  if (text.length > MAX_LENGTH) return { ok: false, why: "longer than 16 KiB" };
  if (!ASCII_TEXT.test(text) && SUSPICIOUS.test(text))
    return { ok: false, why: "contains control or invisible characters" };
  const parser = new Parser(text, { commands: 0, depth: 0, odd: "" });
  try {
    return { ok: true, script: parser.whole(), odd: parser.limits.odd };
  } catch (error) {
    if (error instanceof NotUnderstood) return { ok: false, why: error.message };
    // Nesting is bounded; should a bound be missing somewhere, the stack is one.
    if (error instanceof RangeError) return { ok: false, why: "nested too deeply" };
    throw error;
  }
}

/** Shared by a text and the texts nested in it. */
interface Limits {
  commands: number;
  depth: number;
  odd: string;
}

class Parser implements Cursor {
  at = 0;
  /** Here-documents whose text starts after the next newline. */
  #waiting: Redirect[] = [];
  constructor(
    readonly text: string,
    readonly limits: Limits,
  ) {}

  whole(): Script {
    const script = this.#list();
    if (this.at < this.text.length) throw new NotUnderstood(`an unexpected \`${this.text[this.at]}\``);
    if (this.#waiting.length > 0) throw new NotUnderstood("a here-document without its end");
    if (script.items.length === 0) throw new NotUnderstood("an empty command");
    return script;
  }

  script(): Script {
    return this.deeper(() => {
      const script = this.#list();
      if (this.text[this.at] !== ")") throw new NotUnderstood("an unbalanced parenthesis");
      // Where the text of a here-document lies that starts in there, shells disagree.
      if (this.#waiting.length > 0) throw new NotUnderstood("a here-document across a parenthesis");
      this.at += 1;
      return script;
    });
  }

  nested(text: string): Script {
    return this.deeper(() => {
      const parser = new Parser(text, this.limits);
      return text.trim() === "" ? { items: [] } : parser.whole();
    });
  }

  deeper<Result>(read: () => Result): Result {
    if (++this.limits.depth > MAX_DEPTH) throw new NotUnderstood("nested too deeply");
    const result = read();
    this.limits.depth -= 1;
    return result;
  }

  #odden(why: string): void {
    if (this.limits.odd === "") this.limits.odd = why;
  }

  /** Commands up to something that ends a list; what it is, the caller checks. */
  #list(): Script {
    const items: ListItem[] = [];
    for (;;) {
      this.#newlines();
      if (this.#atListEnd()) return { items };
      const pipeline = this.#pipeline();
      const operator = this.#operator();
      items.push({ pipeline, operator });
      if (operator === "") return { items };
      if (operator === "&&" || operator === "||") {
        this.#newlines();
        if (this.#atListEnd()) throw new NotUnderstood("an empty command");
      }
    }
  }

  #atListEnd(): boolean {
    if (this.at >= this.text.length || this.text[this.at] === ")") return true;
    return this.text.startsWith(";;", this.at) || this.text.startsWith(";&", this.at) || CLOSERS.has(this.#keyword());
  }

  #operator(): ListItem["operator"] {
    this.#blanks();
    const { text, at } = this;
    const char = text[at];
    if (char === "\n") {
      this.#newlines();
      return "\n";
    }
    if ((char === "&" || char === "|") && text[at + 1] === char) {
      this.at += 2;
      return char === "&" ? "&&" : "||";
    }
    if (char === "&" || (char === ";" && text[at + 1] !== ";" && text[at + 1] !== "&")) {
      this.at += 1;
      return char;
    }
    return "";
  }

  #pipeline(): Pipeline {
    const pipeline: Pipeline = { negated: false, timed: false, commands: [] };
    for (let word = this.#keyword(); word === "!" || word === "time"; word = this.#keyword()) {
      this.at += word.length;
      if (word === "!") pipeline.negated = true;
      else pipeline.timed = true;
      this.#blanks();
      if (pipeline.timed && /^-p[ \t]/.test(this.text.slice(this.at, this.at + 3))) {
        this.at += 2;
        this.#blanks();
      }
    }
    for (;;) {
      pipeline.commands.push(this.#command());
      this.#blanks();
      if (this.text[this.at] !== "|" || this.text[this.at + 1] === "|") return pipeline;
      this.at += 1;
      if (this.text[this.at] === "&") {
        this.#odden("`|&`");
        this.at += 1;
      }
      this.#newlines();
    }
  }

  #command(): Command {
    if (++this.limits.commands > MAX_COMMANDS) throw new NotUnderstood("more than 64 commands");
    const keyword = this.#keyword();
    if (keyword !== "") {
      const compound = this.deeper(() => this.#compound(keyword));
      if (compound) return compound;
    }
    if (this.text[this.at] === "(") return this.#parenthesis();
    return this.#simple();
  }

  /** Null when the word is an ordinary one. */
  #compound(keyword: string): Command | null {
    const start = this.at;
    this.at += keyword.length;
    const done = (scripts: Script[], words: Word[] = []): Command => ({
      kind: "compound",
      name: keyword,
      scripts,
      words,
      redirects: this.#redirects(),
    });
    switch (keyword) {
      case "if":
        return done(this.#condition());
      case "while":
      case "until":
        return done([this.#list(), this.#body()]);
      case "for":
      case "select": {
        const words = this.#loopHead();
        return done([this.#body()], words);
      }
      case "case":
        return this.#cases(done);
      case "{": {
        const script = this.#filled();
        this.#expect("}");
        return done([script]);
      }
      case "[[":
        return done([], this.#test());
      case "function":
        return this.#function(this.#readWord());
      case "coproc":
        this.#blanks();
        return done([{ items: [{ pipeline: this.#pipeline(), operator: "" }] }]);
      default:
        if (CLOSERS.has(keyword)) throw new NotUnderstood(`an unexpected \`${keyword}\``);
        this.at = start;
        return null;
    }
  }

  #condition(): Script[] {
    const scripts = [this.#filled()];
    this.#expect("then");
    scripts.push(this.#filled());
    for (;;) {
      const next = this.#keyword();
      this.at += next.length;
      if (next === "fi") return scripts;
      scripts.push(this.#filled());
      if (next === "elif") {
        this.#expect("then");
        scripts.push(this.#filled());
      } else if (next !== "else") throw new NotUnderstood("an `if` without its end");
    }
  }

  #filled(): Script {
    const script = this.#list();
    if (script.items.length === 0) throw new NotUnderstood("an empty command");
    return script;
  }

  #body(): Script {
    this.#expect("do");
    const script = this.#filled();
    this.#expect("done");
    return script;
  }

  #expect(keyword: string): void {
    if (this.#keyword() !== keyword) throw new NotUnderstood(`a missing \`${keyword}\``);
    this.at += keyword.length;
  }

  /** `for NAME [in WORDS]` and `for ((…))`, with what may stand before `do`. */
  #loopHead(): Word[] {
    this.#blanks();
    if (this.text.startsWith("((", this.at)) {
      this.at += 2;
      const words = [new WordReader(this).readArithmetic("))")];
      this.#semicolonOrNewlines();
      return words;
    }
    const words = [this.#readWord()];
    this.#newlines();
    if (this.#keyword() === "in") {
      this.at += 2;
      while (this.#atWord()) words.push(this.#readWord());
    }
    this.#semicolonOrNewlines();
    return words;
  }

  #semicolonOrNewlines(): void {
    this.#blanks();
    if (this.text[this.at] === ";") this.at += 1;
    this.#newlines();
  }

  #cases(done: (scripts: Script[], words: Word[]) => Command): Command {
    const words = [this.#readWord()];
    const scripts: Script[] = [];
    this.#newlines();
    this.#expect("in");
    for (;;) {
      this.#newlines();
      if (this.#keyword() === "esac") {
        this.at += 4;
        return done(scripts, words);
      }
      if (this.text[this.at] === "(") this.at += 1;
      for (;;) {
        words.push(this.#readWord());
        this.#blanks();
        if (this.text[this.at] !== "|") break;
        this.at += 1;
      }
      if (this.text[this.at] !== ")") throw new NotUnderstood("a pattern without its end");
      this.at += 1;
      scripts.push(this.#list());
      const end = /^;(?:;&|;|&)/.exec(this.text.slice(this.at, this.at + 3))?.[0];
      if (end !== undefined) this.at += end.length;
      else if (this.#keyword() !== "esac") throw new NotUnderstood("a `case` without its end");
    }
  }

  /** Words of `[[ … ]]`; its operators and parentheses do not matter here. */
  #test(): Word[] {
    const words: Word[] = [];
    for (;;) {
      this.#newlines();
      if (this.at >= this.text.length) throw new NotUnderstood("a `[[` without its end");
      if (/^\]\](?:[ \t\n;&|()<>]|$)/.test(this.text.slice(this.at, this.at + 3))) {
        this.at += 2;
        // Comparisons evaluate subscripts: no operand is only data.
        return words.map((word) => ({ ...word, kind: "dynamic", inert: false, odd: "`[[`" }));
      }
      if ("()<>|&;".includes(this.text[this.at]!)) this.at += 1;
      else words.push(this.#readWord());
    }
  }

  #parenthesis(): Command {
    if (this.text[this.at + 1] === "(") {
      this.at += 2;
      const words = [new WordReader(this).readArithmetic("))")];
      return { kind: "compound", name: "((", scripts: [], words, redirects: this.#redirects() };
    }
    this.at += 1;
    const script = this.script();
    if (script.items.length === 0) throw new NotUnderstood("an empty command");
    return { kind: "compound", name: "(", scripts: [script], words: [], redirects: this.#redirects() };
  }

  #function(name: Word): Command {
    this.#blanks();
    if (/^\([ \t]*\)/.test(this.text.slice(this.at, this.at + 20))) this.at = this.text.indexOf(")", this.at) + 1;
    this.#newlines();
    const body = this.deeper(() => this.#command());
    if (body.kind !== "compound") throw new NotUnderstood("a function without a group");
    const scripts = [
      { items: [{ pipeline: { negated: false, timed: false, commands: [body] }, operator: "" as const }] },
    ];
    return { kind: "compound", name: "function", scripts, words: [name], redirects: [] };
  }

  #simple(): Command {
    const command: SimpleCommand = { kind: "simple", assignments: [], words: [], redirects: [] };
    for (;;) {
      this.#blanks();
      const redirect = this.#redirect();
      if (redirect) {
        command.redirects.push(redirect);
        continue;
      }
      if (this.text[this.at] === "(") {
        if (command.words.length === 1 && command.assignments.length === 0) return this.#functionNamed(command);
        throw new NotUnderstood("`(`");
      }
      if (!this.#atWord()) break;
      const word = this.#readWord();
      if (command.words.length > 0 || !ASSIGNMENT.test(word.source)) command.words.push(word);
      else command.assignments.push(this.text[this.at] === "(" ? this.#array(word) : word);
    }
    if (command.words.length + command.assignments.length + command.redirects.length === 0)
      throw new NotUnderstood("an empty command");
    return command;
  }

  #functionNamed({ words }: SimpleCommand): Command {
    if (!/^\([ \t]*\)/.test(this.text.slice(this.at, this.at + 20))) throw new NotUnderstood("`(`");
    return this.#function(words[0]!);
  }

  /** `NAME=(…)`. */
  #array(word: Word): Word {
    this.at += 1;
    const scripts = [...word.scripts];
    for (;;) {
      this.#newlines();
      if (this.text[this.at] === ")") break;
      if (!this.#atWord()) throw new NotUnderstood("an array without its end");
      scripts.push(...this.#readWord().scripts);
    }
    this.at += 1;
    return { ...word, kind: "dynamic", odd: "an array", inert: false, scripts };
  }

  #redirects(): Redirect[] {
    const redirects: Redirect[] = [];
    for (;;) {
      this.#blanks();
      const redirect = this.#redirect();
      if (!redirect) return redirects;
      redirects.push(redirect);
    }
  }

  #redirect(): Redirect | null {
    const { text } = this;
    const first = text.charCodeAt(this.at);
    // `<` `>` `&` `{` or a digit.
    if (first !== 60 && first !== 62 && first !== 38 && first !== 123 && !(first >= 48 && first <= 57)) return null;
    REDIRECT.lastIndex = this.at;
    const match = REDIRECT.exec(text);
    if (!match) return null;
    const [whole, fd = "", operator = ""] = match;
    if (text[this.at + whole.length] === "(" && (operator === "<" || operator === ">")) return null;
    if (fd !== "" && operator.startsWith("&")) return null;
    this.at += whole.length;
    this.#blanks();
    // `#` begins a comment there, too.
    if (!this.#atWord() || text[this.at] === "#") throw new NotUnderstood("a redirect without its target");
    const redirect: Redirect = { operator, fd, target: this.#readWord() };
    if (/^\d+$/.test(redirect.target.source) && /[<>]/.test(text[this.at] ?? ""))
      throw new NotUnderstood("a redirect without its target");
    if (operator === "<<" || operator === "<<-") {
      this.#odden("a here-document");
      this.#waiting.push(redirect);
    }
    return redirect;
  }

  #atWord(): boolean {
    this.#blanks();
    const char = this.text[this.at];
    if (char === undefined || "\n;|&()".includes(char)) return false;
    return (char !== "<" && char !== ">") || this.text[this.at + 1] === "(";
  }

  #readWord(): Word {
    this.#blanks();
    const start = this.at;
    const word = new WordReader(this).read();
    if (this.at === start) throw new NotUnderstood("a missing word");
    return word;
  }

  /** The bare word here when it could be grammar; "" otherwise. */
  #keyword(): string {
    this.#blanks();
    KEYWORD.lastIndex = this.at;
    return KEYWORD.exec(this.text)?.[0] ?? "";
  }

  #blanks(): void {
    const { text } = this;
    for (;;) {
      const char = text[this.at];
      if (char === " " || char === "\t") this.at += 1;
      else if (char === "\\" && text[this.at + 1] === "\n") {
        this.#odden("a continued line");
        this.at += 2;
      } else if (char === "#" && this.#atCommentStart()) {
        this.#odden("a comment");
        const end = text.indexOf("\n", this.at);
        this.at = end === -1 ? text.length : end;
      } else return;
    }
  }

  #atCommentStart(): boolean {
    return this.at === 0 || " \t\n;|&()".includes(this.text[this.at - 1]!);
  }

  #newlines(): void {
    for (;;) {
      this.#blanks();
      if (this.text[this.at] !== "\n") return;
      this.at += 1;
      for (const redirect of this.#waiting.splice(0)) this.#hereDocument(redirect);
    }
  }

  #hereDocument(redirect: Redirect): void {
    const { target, operator } = redirect;
    const quoted = /['"\\]/.test(target.source);
    if (target.kind === "dynamic") throw new NotUnderstood("a here-document with a computed end");
    const lines: string[] = [];
    for (;;) {
      if (this.at >= this.text.length) throw new NotUnderstood("a here-document without its end");
      const newline = this.text.indexOf("\n", this.at);
      const end = newline === -1 ? this.text.length : newline;
      let line = this.text.slice(this.at, end);
      if (operator === "<<-") line = line.replace(/^\t+/, "");
      this.at = newline === -1 ? end : end + 1;
      if (line === target.text) break;
      // A continued line can hide the end from us, or show us one that is none.
      if (!quoted && line.endsWith("\\")) throw new NotUnderstood("a continued line in a here-document");
      lines.push(line);
    }
    redirect.body = lines.join("\n");
    if (quoted || !/[$`]/.test(redirect.body)) return;
    const scripts = this.deeper(() => new WordReader(new Parser(redirect.body!, this.limits)).readBody());
    redirect.target = { ...target, scripts };
  }
}
