// Server-sent events out of text that arrives in pieces cut anywhere.

export interface ServerEvent {
  event: string | undefined;
  data: string;
}

export interface EventParser {
  push(text: string): ServerEvent[];
  /** The last piece; an event without its closing blank line counts too. */
  end(text: string): ServerEvent[];
  /** Characters of the event that is still arriving. */
  readonly waiting: number;
}

/** Lines may end in `\n`, `\r\n` or `\r`, wherever the chunks are cut. Events without data are dropped. */
export function createEventParser(): EventParser {
  let rest: string[] = [];
  let name: string | undefined;
  let data: string[] = [];
  let restChars = 0;
  let dataChars = 0;

  function line(text: string, events: ServerEvent[]): void {
    if (text === "") {
      if (data.length > 0 && data.some((part) => part !== "")) events.push({ event: name, data: data.join("\n") });
      name = undefined;
      data = [];
      dataChars = 0;
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    else if (field === "data") {
      data.push(value);
      dataChars += value.length;
    }
  }

  function push(text: string): ServerEvent[] {
    // An event may be megabytes in one line: what was seen to hold no line break is not looked at again.
    if (!LINE_BREAK.test(text) && !rest.at(-1)?.endsWith("\r")) {
      rest.push(text);
      restChars += text.length;
      return [];
    }
    const events: ServerEvent[] = [];
    const all = rest.join("") + text;
    const next = all.includes("\r") ? nextBreak : nextNewline;
    let start = 0;
    for (let at = next(all, start); at !== -1; at = next(all, start)) {
      // A `\r` at the very end may be half of a `\r\n`: wait for the next chunk.
      if (all[at] === "\r" && at + 1 === all.length) break;
      line(all.slice(start, at), events);
      start = all[at] === "\r" && all[at + 1] === "\n" ? at + 2 : at + 1;
    }
    rest = [all.slice(start)];
    restChars = all.length - start;
    return events;
  }

  return {
    push,
    get waiting() {
      return restChars + dataChars;
    },
    end: (text) => [...push(text), ...push(`\n\n`), ...push("\n")],
  };
}

const LINE_BREAK = /[\r\n]/;

function nextNewline(text: string, from: number): number {
  return text.indexOf("\n", from);
}

function nextBreak(text: string, from: number): number {
  const newline = text.indexOf("\n", from);
  const before = newline === -1 ? text.length : newline;
  const carriage = text.indexOf("\r", from);
  return carriage !== -1 && carriage < before ? carriage : newline;
}
