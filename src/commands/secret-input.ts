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
  const line = new TypedLine((text) => {
    if (echo) stderr.write(text);
  });
  // Listeners, not `for await`: leaving such a loop would destroy stdin, and the next question could not be asked.
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onEnd = (): void => resolve(line.text);
  const onData = (chunk: Buffer | string): void => {
    const { state, rest } = line.push(String(chunk));
    if (state === "typing") return;
    stdin.off("data", onData);
    if (rest !== "") stdin.unshift(Buffer.from(rest));
    if (state === "done") resolve(line.text);
    else reject(new LettaError("cancelled", "Nothing was stored."));
  };
  stdin.on("data", onData).once("end", onEnd);
  try {
    return await promise;
  } finally {
    stdin.off("data", onData).off("end", onEnd);
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

/** A line as it is typed: Backspace takes back, Ctrl-C and Ctrl-D on an empty line cancel. */
class TypedLine {
  text = "";

  constructor(private readonly show: (text: string) => void) {}

  /** `rest` is what came after the end of the line. */
  push(chunk: string): { state: "typing" | "done" | "cancelled"; rest: string } {
    const characters = [...chunk];
    for (const [index, character] of characters.entries()) {
      const rest = characters.slice(index + 1).join("");
      if (character === "\r" || character === "\n") return { state: "done", rest };
      if (character === "\u0003" || (character === "\u0004" && this.text === "")) return { state: "cancelled", rest };
      if (character === "\u007f" || character === "\b") {
        if (this.text !== "") this.show("\b \b");
        this.text = [...this.text].slice(0, -1).join("");
      } else if (character >= " ") {
        this.text += character;
        this.show(character);
      }
    }
    return { state: "typing", rest: "" };
  }
}
