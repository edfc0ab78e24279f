// Asking a person for a line, and for a secret without showing it. Questions go to stderr, so that stdout stays the
// command's result.

import { isatty } from "node:tty";
import { LettaError } from "@/lib/errors.ts";

export interface Asking {
  /** Everything on standard input. */
  readStdin(): Promise<string>;
  /** One visible line; absent when nobody can answer. */
  ask?: (question: string) => Promise<string>;
  /** One line without echo; absent when nobody can answer. Throws `cancelled` on Ctrl-C. */
  askSecret?: (question: string) => Promise<string>;
}

export function processAsking(): Asking {
  const readStdin = (): Promise<string> => Bun.stdin.text();
  if (!isatty(0) || !isatty(2)) return { readStdin };
  return { readStdin, ask: (question) => readLine(question, true), askSecret: (question) => readLine(question, false) };
}

/** Raw mode works on every terminal, `TERM=dumb` too; nothing is drawn but the question. */
async function readLine(question: string, echo: boolean): Promise<string> {
  const { stdin, stderr } = process;
  // First the mode, then the question: what is typed early must not be echoed either.
  stdin.setRawMode(true);
  stdin.resume();
  stderr.write(question);
  let line = "";
  try {
    for await (const chunk of stdin) {
      for (const character of String(chunk)) {
        if (character === "\r" || character === "\n") return line;
        if (character === "\u0003" || (character === "\u0004" && line === ""))
          throw new LettaError("cancelled", "Nothing was stored.");
        if (character === "\u007f" || character === "\b") {
          if (echo && line !== "") stderr.write("\b \b");
          line = [...line].slice(0, -1).join("");
        } else if (character >= " ") {
          line += character;
          if (echo) stderr.write(character);
        }
      }
    }
    return line;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}
