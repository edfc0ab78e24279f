// The line editor as a pure state machine: state + key → state, and now and then an effect for the caller (send this,
// complete that). It knows nothing of terminals, files or turns. Positions are UTF-16 indices at grapheme boundaries;
// `columns` is only needed to move between visual rows.

import type { Key } from "@/lib/terminal-keys.ts";
import { graphemes } from "@/lib/terminal-text.ts";
import { layout, moveRow } from "./editor-layout.ts";
import { PASTE_CHARS, PASTE_LINES, RECALL_CHARS, UNDO_STEPS } from "./limits.ts";

export interface Snapshot {
  text: string;
  cursor: number;
}

export interface EditorState extends Snapshot {
  /** `!` mode: the line is a command for the user's shell. */
  shell: boolean;
  /** Last killed text. */
  killed: string;
  undo: Snapshot[];
  /** What the last key did: typing and killing group. */
  last: "type" | "kill" | "move" | "other";
  /** Cell column to keep while moving over short rows; null when not moving vertically. */
  goal: number | null;
  /** Contents behind `[Pasted text #N …]`, by N from 1. */
  pastes: string[];
  /** Entries, oldest first; commands of shell mode start with `!`. */
  history: readonly string[];
  /** Entry shown; null for the own draft, which is kept in `draft`. */
  entry: number | null;
  draft: string;
  search: { query: string; entry: number | null; failed: boolean; original: Snapshot } | null;
}

export type EditorEffect =
  | { type: "submit"; text: string; shell: boolean }
  /** Say it now, inside the running turn. */
  | { type: "steer"; text: string }
  /** Enter on an empty line. */
  | { type: "empty_enter" }
  | { type: "interrupt" }
  | { type: "escape" }
  | { type: "eof" }
  | { type: "complete"; backwards: boolean }
  | { type: "clear_screen" }
  | { type: "suspend" }
  | { type: "expand" };

export interface EditorStep {
  state: EditorState;
  effect?: EditorEffect;
}

export function emptyEditor(history: readonly string[] = []): EditorState {
  return {
    text: "",
    cursor: 0,
    shell: false,
    killed: "",
    undo: [],
    last: "other",
    goal: null,
    pastes: [],
    history,
    entry: null,
    draft: "",
    search: null,
  };
}

export function editorKey(state: EditorState, key: Key, columns: number): EditorStep {
  if (state.search) return searchKey(state, state.search, key, columns);
  if (key.name === "paste") return { state: paste(state, key.text) };
  if (key.text && !key.ctrl && !key.alt) return { state: type(state, key.text) };
  if (key.ctrl) return controlKey(state, key, columns);
  if (key.alt) return { state: altKey(state, key) };
  return namedKey(state, key, columns);
}

/** Replaces `start…end`, for completion. */
export function replaceRange(state: EditorState, start: number, end: number, text: string): EditorState {
  return edit(state, state.text.slice(0, start) + text + state.text.slice(end), start + text.length, "other");
}

/** An empty line with the same history, kill buffer and mode. */
export function clearEditor(state: EditorState): EditorState {
  return { ...emptyEditor(state.history), killed: state.killed, shell: state.shell };
}

/** A text put back into the line, cursor at its end. A very long one is a placeholder, as when it was pasted. */
export function withText(state: EditorState, text: string): EditorState {
  const shell = text.startsWith("!");
  const content = shell ? text.slice(1) : text;
  if (content.length > RECALL_CHARS) return paste({ ...clearEditor(state), shell }, content);
  return { ...clearEditor(state), shell, text: content, cursor: content.length };
}

/** The text with pasted contents in place of their placeholders. */
export function expandPastes(text: string, pastes: readonly string[]): string {
  return text.replace(PLACEHOLDER, (whole, number: string) => pastes[Number(number) - 1] ?? whole);
}

const PLACEHOLDER = /\[Pasted text #(\d+)(?: \+\d+ (?:lines|chars))\]/g;

function namedKey(state: EditorState, key: Key, columns: number): EditorStep {
  switch (key.name) {
    case "enter":
      return key.shift ? { state: type(state, "\n") } : enter(state);
    case "tab":
      return { state, effect: { type: "complete", backwards: key.shift } };
    case "backspace":
      return { state: backspace(state) };
    case "delete":
      return { state: erase(state, state.cursor, nextBoundary(state)) };
    case "escape":
      return state.shell && state.text === ""
        ? { state: { ...state, shell: false } }
        : { state, effect: { type: "escape" } };
    case "left":
      return { state: move(state, previousBoundary(state)) };
    case "right":
      return { state: move(state, nextBoundary(state)) };
    case "home":
      return { state: move(state, lineStart(state)) };
    case "end":
      return { state: move(state, lineEnd(state)) };
    case "up":
      return { state: vertical(state, -1, columns) };
    case "down":
      return { state: vertical(state, 1, columns) };
    default:
      return { state };
  }
}

function controlKey(state: EditorState, key: Key, columns: number): EditorStep {
  switch (key.name) {
    case "a":
      return { state: move(state, lineStart(state)) };
    case "e":
      return { state: move(state, lineEnd(state)) };
    case "b":
      return { state: move(state, previousBoundary(state)) };
    case "f":
      return { state: move(state, nextBoundary(state)) };
    case "left":
      return { state: move(state, wordStart(state)) };
    case "right":
      return { state: move(state, wordEnd(state)) };
    case "p":
      return { state: vertical(state, -1, columns) };
    case "n":
      return { state: vertical(state, 1, columns) };
    case "h":
      return { state: backspace(state) };
    case "d":
      if (state.text === "") return { state, effect: { type: "eof" } };
      return { state: erase(state, state.cursor, nextBoundary(state)) };
    case "k":
      return { state: kill(state, state.cursor, killEnd(state)) };
    case "u":
      return { state: kill(state, lineStart(state), state.cursor) };
    case "w":
      return { state: kill(state, blankWordStart(state), state.cursor) };
    case "backspace":
      return { state: kill(state, wordStart(state), state.cursor) };
    case "delete":
      return { state: kill(state, state.cursor, wordEnd(state)) };
    case "y":
      return { state: insert(state, state.killed, "other") };
    case "t":
      return { state: transpose(state) };
    case "_":
    case "/":
    case "z":
      return key.name === "z" ? { state, effect: { type: "suspend" } } : { state: undo(state) };
    case "j":
      return { state: type(state, "\n") };
    case "enter":
      return steer(state);
    case "r":
      return { state: startSearch(state) };
    case "c":
      return { state, effect: { type: "interrupt" } };
    case "l":
      return { state, effect: { type: "clear_screen" } };
    case "o":
      return { state, effect: { type: "expand" } };
    case "i":
      return { state, effect: { type: "complete", backwards: false } };
    case "m":
      return enter(state);
    case "[":
      return { state, effect: { type: "escape" } };
    default:
      return { state };
  }
}

function altKey(state: EditorState, key: Key): EditorState {
  switch (key.name) {
    case "b":
    case "left":
      return move(state, wordStart(state));
    case "f":
    case "right":
      return move(state, wordEnd(state));
    case "d":
      return kill(state, state.cursor, wordEnd(state));
    case "backspace":
      return kill(state, wordStart(state), state.cursor);
    case "enter":
      return type(state, "\n");
    case "<":
      return move(state, 0);
    case ">":
      return move(state, state.text.length);
    default:
      return state;
  }
}

function enter(state: EditorState): EditorStep {
  if (state.text[state.cursor - 1] === "\\" && !state.shell) {
    const text = `${state.text.slice(0, state.cursor - 1)}\n${state.text.slice(state.cursor)}`;
    return { state: edit(state, text, state.cursor, "other") };
  }
  const text = expandPastes(state.text, state.pastes).trimEnd();
  if (text.trim() === "") return { state: clearEditor(state), effect: { type: "empty_enter" } };
  return { state: clearEditor(state), effect: { type: "submit", text, shell: state.shell } };
}

function steer(state: EditorState): EditorStep {
  const text = expandPastes(state.text, state.pastes).trimEnd();
  if (text.trim() === "") return { state };
  return { state: clearEditor(state), effect: { type: "steer", text } };
}

function type(state: EditorState, text: string): EditorState {
  if (text === "!" && state.text === "" && !state.shell) return { ...state, shell: true, last: "other" };
  return insert(state, text, /\s/.test(text) ? "other" : "type");
}

function paste(state: EditorState, text: string): EditorState {
  if (text === "") return state;
  const lines = text.replace(/\n$/, "").split("\n").length;
  if (lines <= PASTE_LINES && text.length <= PASTE_CHARS) return insert(state, text, "other");
  const pastes = [...state.pastes, text];
  const size = lines > 1 ? `+${lines} lines` : `+${text.length} chars`;
  return { ...insert(state, `[Pasted text #${pastes.length} ${size}]`, "other"), pastes };
}

function insert(state: EditorState, text: string, last: EditorState["last"]): EditorState {
  if (text === "") return state;
  return edit(
    state,
    state.text.slice(0, state.cursor) + text + state.text.slice(state.cursor),
    state.cursor + text.length,
    last,
  );
}

/** Every change of the text goes through here, so that every change can be undone. */
function edit(state: EditorState, text: string, cursor: number, last: EditorState["last"]): EditorState {
  const grouped = last === "type" && state.last === "type";
  const undo = grouped ? state.undo : [...state.undo.slice(1 - UNDO_STEPS), { text: state.text, cursor: state.cursor }];
  return { ...state, text, cursor, undo, last, goal: null };
}

function undo(state: EditorState): EditorState {
  const previous = state.undo.at(-1);
  if (!previous) return state;
  return { ...state, ...previous, undo: state.undo.slice(0, -1), last: "other", goal: null };
}

function move(state: EditorState, cursor: number): EditorState {
  return { ...state, cursor, last: "move", goal: null };
}

function erase(state: EditorState, start: number, end: number): EditorState {
  if (start === end) return state;
  return edit(state, state.text.slice(0, start) + state.text.slice(end), start, "other");
}

function backspace(state: EditorState): EditorState {
  if (state.text === "" && state.shell) return { ...state, shell: false };
  return erase(state, previousBoundary(state), state.cursor);
}

/** Killed pieces that follow each other are yanked together. */
function kill(state: EditorState, start: number, end: number): EditorState {
  if (start === end) return state;
  const piece = state.text.slice(start, end);
  const backwards = end === state.cursor;
  const before = state.last === "kill" ? state.killed : "";
  const next = edit(state, state.text.slice(0, start) + state.text.slice(end), start, "kill");
  return { ...next, killed: backwards ? piece + before : before + piece };
}

function transpose(state: EditorState): EditorState {
  const at = state.cursor === state.text.length ? previousBoundary(state) : state.cursor;
  const before = previousBoundary({ ...state, cursor: at });
  const after = nextBoundary({ ...state, cursor: at });
  if (before === at || at === after) return state;
  const swapped = state.text.slice(at, after) + state.text.slice(before, at);
  return edit(state, state.text.slice(0, before) + swapped + state.text.slice(after), after, "other");
}

function vertical(state: EditorState, direction: -1 | 1, columns: number): EditorState {
  const target = moveRow(layout(state.text, state.cursor, columns), state.text, direction, state.goal);
  if (target) return { ...state, cursor: target.cursor, goal: target.goal, last: "move" };
  return browse(state, direction);
}

/** Older or newer history entry; the draft is kept and comes back at the end. */
function browse(state: EditorState, direction: -1 | 1): EditorState {
  const { history } = state;
  const current = state.entry ?? history.length;
  const entry = current + direction;
  if (entry < 0 || entry > history.length || (entry === history.length && state.entry === null)) return state;
  const draft = state.entry === null ? (state.shell ? "!" : "") + state.text : state.draft;
  const shown = entry === history.length ? draft : (history[entry] ?? "");
  const next = withText(state, shown);
  return {
    ...next,
    pastes: next.pastes.length > 0 ? next.pastes : state.pastes,
    entry: entry === history.length ? null : entry,
    draft,
  };
}

function startSearch(state: EditorState): EditorState {
  const original = { text: state.text, cursor: state.cursor };
  return { ...state, search: { query: "", entry: null, failed: false, original } };
}

/** Incremental search backwards, as in bash: typing narrows, Ctrl-R goes on, Enter runs, Esc and arrows take. */
function searchKey(
  state: EditorState,
  search: NonNullable<EditorState["search"]>,
  key: Key,
  columns: number,
): EditorStep {
  const take = (): EditorState => {
    const found = search.entry === null ? undefined : state.history[search.entry];
    const base = { ...state, search: null };
    return found === undefined ? base : { ...withText(base, found), entry: search.entry, draft: search.original.text };
  };
  if ((key.ctrl && (key.name === "g" || key.name === "c")) || (key.ctrl && key.name === "d"))
    return { state: { ...state, ...search.original, search: null } };
  if (key.ctrl && key.name === "r")
    return { state: find(state, search.query, (search.entry ?? state.history.length) - 1) };
  if (key.name === "backspace" || (key.ctrl && key.name === "h"))
    return { state: find(state, graphemes(search.query).slice(0, -1).join(""), state.history.length - 1) };
  const text = key.name === "paste" ? key.text.replaceAll("\n", " ") : key.text;
  if (text && !key.ctrl && !key.alt) {
    return { state: find(state, search.query + text, search.entry ?? state.history.length - 1) };
  }
  if (key.name === "escape" || key.name === "tab") return { state: take() };
  if (search.query === "" && key.name === "enter") return { state: { ...state, search: null } };
  return editorKey(take(), key, columns);
}

function find(state: EditorState, query: string, from: number): EditorState {
  const search = state.search ?? { query: "", entry: null, failed: false, original: state };
  if (query === "") return { ...state, search: { ...search, query, entry: null, failed: false } };
  const wanted = query.toLowerCase();
  for (let entry = from; entry >= 0; entry--) {
    if (state.history[entry]?.toLowerCase().includes(wanted))
      return { ...state, search: { ...search, query, entry, failed: false } };
  }
  return { ...state, search: { ...search, query, failed: true } };
}

function previousBoundary({ text, cursor }: Snapshot): number {
  const placeholder = placeholderAt(text, (_, end) => end === cursor);
  if (placeholder) return placeholder.start;
  // A grapheme longer than this is no character anyone typed.
  const from = Math.max(0, cursor - 64);
  return cursor - (graphemes(text.slice(from, cursor)).at(-1)?.length ?? 0);
}

function nextBoundary({ text, cursor }: Snapshot): number {
  const placeholder = placeholderAt(text, (start) => start === cursor);
  if (placeholder) return placeholder.end;
  return cursor + (graphemes(text.slice(cursor, cursor + 64))[0]?.length ?? 0);
}

/** A placeholder is one unit: half of one would be sent as it is. */
function placeholderAt(text: string, test: (start: number, end: number) => boolean) {
  for (const match of text.matchAll(PLACEHOLDER)) {
    const end = match.index + match[0].length;
    if (test(match.index, end)) return { start: match.index, end };
  }
  return undefined;
}

function lineStart({ text, cursor }: Snapshot): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd({ text, cursor }: Snapshot): number {
  const end = text.indexOf("\n", cursor);
  return end === -1 ? text.length : end;
}

/** Ctrl-K at the end of a line joins it with the next. */
function killEnd(state: Snapshot): number {
  const end = lineEnd(state);
  return end === state.cursor && end < state.text.length ? end + 1 : end;
}

function wordStart({ text, cursor }: Snapshot): number {
  return /[\p{L}\p{N}\p{M}_]*[^\p{L}\p{N}\p{M}_]*$/u.exec(text.slice(0, cursor))?.index ?? 0;
}

function wordEnd({ text, cursor }: Snapshot): number {
  return cursor + (/^[^\p{L}\p{N}\p{M}_]*[\p{L}\p{N}\p{M}_]*/u.exec(text.slice(cursor))?.[0].length ?? 0);
}

function blankWordStart({ text, cursor }: Snapshot): number {
  return /\S*\s*$/.exec(text.slice(0, cursor))?.index ?? 0;
}
