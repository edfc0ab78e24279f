// What the parser makes of shell text. Lists are flat: what matters here is which programs may run, with which words, in
// which order, not how bash would group them.

/** One word, with quotes taken away. */
export interface Word {
  /** The argument a program gets; where parts are only known at run time, their source text. */
  text: string;
  /** `literal`: `text` is the argument. `globbed`: file names replace it. `dynamic`: only known when it runs. */
  kind: "literal" | "globbed" | "dynamic";
  /** Why it is outside the plain subset; "" inside. */
  odd: string;
  /** A dynamic word whose expansions only insert values (`$NAME`), so that evaluating it runs and assigns nothing. */
  inert: boolean;
  /** For globbed words: `text` with a backslash before every literal special character. */
  pattern: string;
  /** Scripts of substitutions inside the word. */
  scripts: Script[];
  source: string;
}

export interface Redirect {
  /** `>`, `>>`, `<`, `<<`, `<<<`, `>&`, … */
  operator: string;
  /** `2` of `2>&1`; "" when not given. */
  fd: string;
  target: Word;
  /** Text of a here-document. */
  body?: string;
}

export interface SimpleCommand {
  kind: "simple";
  assignments: Word[];
  words: Word[];
  redirects: Redirect[];
}

/** Loops, conditions, groups, functions, tests: everything with a grammar of its own. */
export interface CompoundCommand {
  kind: "compound";
  /** The word it starts with. */
  name: string;
  scripts: Script[];
  /** Words of its head: items of a loop, patterns, operands of a test. */
  words: Word[];
  redirects: Redirect[];
}

export type Command = SimpleCommand | CompoundCommand;

export interface Pipeline {
  negated: boolean;
  timed: boolean;
  commands: Command[];
}

export interface ListItem {
  pipeline: Pipeline;
  /** What follows it. */
  operator: "&&" | "||" | ";" | "\n" | "&" | "";
}

export interface Script {
  items: ListItem[];
}
