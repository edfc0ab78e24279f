// Streamed text of the model on its way to the reader. Two ways: formatted blocks with a live tail (terminal), or the
// text as it comes (dumb terminals and pipes, where nothing can be drawn again).

import { toPlainText } from "@/lib/terminal-text.ts";
import { MarkdownStream } from "./markdown.ts";

export interface TextFlow {
  push(delta: string): void;
  /** The text is complete, or was cut. */
  finish(): void;
  /** Lines that are not final yet. */
  tail(): string[];
  /** Something is on screen that `finish` still has to end. */
  readonly open: boolean;
}

export interface FlowOutput {
  commit(lines: string[]): void;
  /** Without a newline at its end; plain output only. */
  append(text: string): void;
}

export function markdownFlow(output: FlowOutput, options: { columns(): number; colors: boolean }): TextFlow {
  const stream = new MarkdownStream(options);
  let open = false;
  const commit = (lines: string[]): void => {
    if (lines.length > 0) output.commit(lines);
  };
  return {
    get open() {
      return open;
    },
    push(delta) {
      open = true;
      commit(stream.push(delta));
    },
    finish() {
      open = false;
      commit(stream.finish());
    },
    tail: () => (open ? stream.tail() : []),
  };
}

export function plainFlow(output: FlowOutput): TextFlow {
  let held = "";
  let open = false;
  let atLineStart = true;
  const write = (text: string): void => {
    const plain = toPlainText(text);
    if (plain === "") return;
    atLineStart = plain.endsWith("\n");
    output.append(plain);
  };
  return {
    get open() {
      return open;
    },
    push(delta) {
      // An escape sequence may be cut anywhere: what could be its beginning waits for the rest.
      const text = held + delta;
      const start = text.search(/[\x1b\x90\x98\x9b\x9d-\x9f][^\n]{0,200}$/);
      const cut = start === -1 ? (text.endsWith("\r") ? text.length - 1 : text.length) : start;
      held = text.slice(cut);
      // Blank lines before the first word would only push it away.
      const ready = open ? text.slice(0, cut) : text.slice(0, cut).replace(/^\s+/, "");
      if (ready === "") return;
      write(ready);
      open = true;
    },
    finish() {
      write(held);
      held = "";
      if (open && !atLineStart) output.append("\n");
      open = false;
      atLineStart = true;
    },
    tail: () => [],
  };
}
