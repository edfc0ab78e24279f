// Bytes of a terminal in raw mode → keys. Sequences may arrive in pieces, so an unfinished one waits; the caller calls
// `flush` when nothing followed for a moment, which turns a lone ESC into the Escape key. Text between bracketed-paste
// marks is one `paste` key and never interpreted.

export interface Key {
  /** A character ("a"), or a name: enter tab backspace delete escape up down left right home end pageup pagedown
   *  insert paste. */
  name: string;
  /** What it inserts; empty for everything that is not text. */
  text: string;
  ctrl: boolean;
  alt: boolean;
  shift: boolean;
}

const ESC = "\x1b";
const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** No real sequence is longer; garbage must not hold back later keys. */
const MAX_SEQUENCE = 64;

const FINAL_NAMES: Record<string, string> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  M: "enter",
};
const TILDE_NAMES: Record<string, string> = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
};
const CODE_NAMES: Record<number, string> = { 9: "tab", 13: "enter", 27: "escape", 127: "backspace", 57414: "enter" };

export class KeyDecoder {
  #decoder = new TextDecoder();
  #pending = "";
  #paste: string | null = null;

  /** True while an unfinished sequence waits for more bytes or for `flush`. */
  get waiting(): boolean {
    return this.#pending !== "" || this.#paste !== null;
  }

  /** A paste may pause longer than an escape sequence. */
  get pasting(): boolean {
    return this.#paste !== null;
  }

  push(bytes: Uint8Array): Key[] {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    return this.#drain(false);
  }

  /** Nothing followed: what waits is taken as it is. */
  flush(): Key[] {
    const keys = this.#drain(true);
    if (this.#paste !== null) {
      keys.push(pasteKey(this.#paste + this.#pending));
      this.#paste = null;
      this.#pending = "";
    }
    return keys;
  }

  #drain(final: boolean): Key[] {
    const keys: Key[] = [];
    while (this.#pending !== "") {
      if (this.#paste !== null) {
        if (!this.#takePaste(keys)) break;
        continue;
      }
      const used = this.#takeKey(keys, final);
      if (used === 0) break;
      this.#pending = this.#pending.slice(used);
    }
    return keys;
  }

  /** Moves pasted text out of the buffer; false while the end mark has not arrived. */
  #takePaste(keys: Key[]): boolean {
    const end = this.#pending.indexOf(PASTE_END);
    if (end === -1) {
      // The mark itself may be cut: keep what could be its beginning.
      const keep = longestSuffixThatStarts(this.#pending, PASTE_END);
      this.#paste += this.#pending.slice(0, this.#pending.length - keep);
      this.#pending = this.#pending.slice(this.#pending.length - keep);
      return false;
    }
    keys.push(pasteKey((this.#paste ?? "") + this.#pending.slice(0, end)));
    this.#paste = null;
    this.#pending = this.#pending.slice(end + PASTE_END.length);
    return true;
  }

  /** Characters used; 0 = incomplete. */
  #takeKey(keys: Key[], final: boolean): number {
    const buffer = this.#pending;
    if (buffer[0] !== ESC) {
      const char = String.fromCodePoint(buffer.codePointAt(0) ?? 0);
      keys.push(plainKey(char));
      return char.length;
    }
    if (buffer.startsWith(PASTE_START)) {
      this.#paste = "";
      return PASTE_START.length;
    }
    const next = buffer[1];
    if (next === undefined) {
      if (!final) return 0;
      keys.push(key("escape"));
      return 1;
    }
    if (next === "[") return takeCsi(buffer, keys, final);
    if (next === "O") {
      const letter = buffer[2];
      if (letter === undefined && !final) return 0;
      const name = letter === undefined ? undefined : FINAL_NAMES[letter];
      if (letter === undefined) keys.push({ ...key("O", "O"), alt: true, text: "" });
      else if (name) keys.push(key(name));
      return letter === undefined ? 2 : 3;
    }
    if (next === "]" || next === "P" || next === "_") {
      // A reply of the terminal (colours, version): swallowed whole, or Alt plus the character when it stands alone.
      const reply = /^\x1b[\]P_][^\x07\x1b]*(?:\x07|\x1b\\)/.exec(buffer);
      if (reply) return reply[0].length;
      if (!final && buffer.length < 4096) return 0;
    }
    if (next === ESC) {
      keys.push(key("escape"));
      return 1;
    }
    const char = String.fromCodePoint(buffer.codePointAt(1) ?? 0);
    keys.push({ ...plainKey(char), alt: true, text: "" });
    return 1 + char.length;
  }
}

function takeCsi(buffer: string, keys: Key[], final: boolean): number {
  const match = /^\x1b\[([0-?]*)[ -/]*([@-~])/.exec(buffer);
  if (!match) {
    if (/^\x1b\[[0-?]*[ -/]*$/.test(buffer) && !final && buffer.length < MAX_SEQUENCE) return 0;
    if (buffer.length === 2) keys.push({ ...key("["), alt: true });
    return /^\x1b\[[0-?]*[ -/]*/.exec(buffer)?.[0].length ?? 2;
  }
  const found = csiKey(match[1] ?? "", match[2] ?? "");
  if (found) keys.push(found);
  return match[0].length;
}

/** Undefined for sequences that are no keys of ours (focus, mouse, replies). */
function csiKey(parameters: string, last: string): Key | undefined {
  if (/^[<=>?]/.test(parameters)) return undefined;
  const numbers = parameters.split(";").map((part) => Number.parseInt(part, 10));
  if (last === "Z") return { ...key("tab"), shift: true };
  // Kitty: code;modifiers u. xterm modifyOtherKeys: 27;modifiers;code ~.
  if (last === "u") return codeKey(numbers[0], numbers[1]);
  if (last === "~" && numbers[0] === 27) return codeKey(numbers[2], numbers[1]);
  const name = last === "~" ? TILDE_NAMES[String(numbers[0])] : FINAL_NAMES[last];
  return name ? { ...key(name), ...modifiers(numbers[1]) } : undefined;
}

function codeKey(code: number | undefined, mask: number | undefined): Key | undefined {
  if (code === undefined || Number.isNaN(code) || code > 0x10ffff) return undefined;
  const mods = modifiers(mask);
  const name = CODE_NAMES[code];
  if (name) return { ...key(name), ...mods };
  // Kitty reports function keys in a private range; none of them is text.
  if (code < 32 || (code >= 57344 && code <= 63743)) return undefined;
  const char = String.fromCodePoint(code);
  const shifted = mods.shift && !mods.ctrl ? char.toUpperCase() : char;
  return { ...key(shifted), ...mods, text: mods.ctrl || mods.alt ? "" : shifted };
}

function modifiers(mask: number | undefined): Pick<Key, "ctrl" | "alt" | "shift"> {
  const bits = mask === undefined || Number.isNaN(mask) ? 0 : mask - 1;
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 };
}

function plainKey(char: string): Key {
  const code = char.codePointAt(0) ?? 0;
  if (char === "\r") return key("enter");
  if (char === "\t") return key("tab");
  if (code === 0x7f || code === 0x08) return key("backspace");
  if (code === 0) return { ...key(" "), ctrl: true };
  if (code < 0x20) return { ...key(String.fromCharCode(code + 0x40).toLowerCase()), ctrl: true };
  if (code >= 0x80 && code < 0xa0) return key("unknown");
  return key(char, char);
}

function pasteKey(text: string): Key {
  return key("paste", text.replace(/\r\n?/g, "\n"));
}

function key(name: string, text = ""): Key {
  return { name, text, ctrl: false, alt: false, shift: false };
}

function longestSuffixThatStarts(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (mark.startsWith(text.slice(-length))) return length;
  return 0;
}
