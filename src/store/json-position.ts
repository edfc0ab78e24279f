// Finds where JSON text stops being JSON. The runtime's parser says what is wrong but not where, and a person who has
// to repair a settings file needs the line. Only called after `JSON.parse` failed.

/** Line and column (both from 1) of the first offending character; the end of the text when it is cut. */
export function findJsonError(text: string): { line: number; column: number } {
  const scanner = new Scanner(text);
  const offset = scanner.firstError();
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const ATOM = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y;

/** An explicit stack instead of recursion: a hostile file may nest a million brackets. */
class Scanner {
  #at = 0;
  constructor(readonly text: string) {}

  firstError(): number {
    const open: ("{" | "[")[] = [];
    for (;;) {
      this.#space();
      const char = this.text[this.#at];
      if (char === "{" || char === "[") {
        this.#at += 1;
        this.#space();
        const close = char === "{" ? "}" : "]";
        if (this.text[this.#at] !== close) {
          open.push(char);
          if (char === "{" && !this.#key()) return this.#at;
          continue;
        }
        this.#at += 1;
      } else if (!this.#match(STRING) && !this.#match(ATOM)) return this.#at;
      if (!this.#afterValue(open)) return this.#at;
      if (open.length === 0) return this.#at;
    }
  }

  /** Closes what ends here and moves to the next value. False at an error. */
  #afterValue(open: ("{" | "[")[]): boolean {
    for (;;) {
      this.#space();
      const top = open.at(-1);
      if (top === undefined) return true;
      const char = this.text[this.#at];
      if (char === ",") {
        this.#at += 1;
        this.#space();
        return top === "[" || this.#key();
      }
      if (char !== (top === "{" ? "}" : "]")) return false;
      this.#at += 1;
      open.pop();
    }
  }

  #key(): boolean {
    this.#space();
    if (!this.#match(STRING)) return false;
    this.#space();
    if (this.text[this.#at] !== ":") return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text);
    if (found) this.#at = pattern.lastIndex;
    return found !== null;
  }

  #space(): void {
    while (/^[ \t\r\n]$/.test(this.text[this.#at] ?? "")) this.#at += 1;
  }
}
