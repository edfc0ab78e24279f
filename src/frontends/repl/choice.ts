// A list to choose from, as a pure state machine: approvals, questions, pickers and confirmations are all one of these.
// An item may take typed text (a reason, an answer of one's own); a long list narrows as one types.

import type { Key } from "@/lib/terminal-keys.ts";
import { graphemes, textWidth, toPlainLine, truncate, wrap } from "@/lib/terminal-text.ts";
import type { Theme } from "./theme.ts";

export interface ChoiceItem<T> {
  value: T;
  label: string;
  /** Shown dimmed behind the label. */
  hint?: string;
  /** Keys that choose it at once, besides its number. */
  keys?: string[];
  /** Choosing it opens a line to type; Enter sends. Text typed anywhere goes here. */
  input?: boolean;
}

export interface Choice<T> {
  /** Lines above the list, ready to print. */
  title: string[];
  items: ChoiceItem<T>[];
  /** Typing narrows the list instead of choosing by number. */
  filter?: boolean;
  /** Several may be chosen: Space toggles, Enter sends. */
  multi?: boolean;
  /** Index selected at first. Default 0. */
  initial?: number;
}

export interface Answer<T> {
  values: T[];
  /** What was typed into the input item; "" when it was left empty. */
  text?: string;
}

export interface ChoiceState<T> {
  choice: Choice<T>;
  selected: number;
  marked: ReadonlySet<number>;
  /** The input line is open. */
  typing: boolean;
  text: string;
  query: string;
}

export type ChoiceStep<T> = { state: ChoiceState<T> } | { done: Answer<T> | null };

const MAX_ROWS = 10;

export function openChoice<T>(choice: Choice<T>): ChoiceState<T> {
  return { choice, selected: choice.initial ?? 0, marked: new Set(), typing: false, text: "", query: "" };
}

export function choiceKey<T>(state: ChoiceState<T>, key: Key): ChoiceStep<T> {
  if (key.name === "escape" || (key.ctrl && (key.name === "c" || key.name === "d" || key.name === "[")))
    return { done: null };
  const step = key.name === "up" || (key.ctrl && key.name === "p") ? -1 : 1;
  if (key.name === "up" || key.name === "down" || key.name === "tab" || (key.ctrl && /^[pn]$/.test(key.name)))
    return { state: moveSelection(state, key.name === "tab" && key.shift ? -1 : step) };
  if (key.name === "enter") return accept(state);
  if (state.typing) return { state: { ...state, text: editField(state.text, key) } };
  if (state.choice.filter) return { state: { ...state, query: editField(state.query, key), selected: 0 } };
  return hotKey(state, key);
}

/** Items in view order; filtered ones are out. */
function visibleItems<T>({ choice, query }: ChoiceState<T>): { item: ChoiceItem<T>; index: number }[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return choice.items
    .map((item, index) => ({ item, index }))
    .filter(({ item }) => words.every((word) => `${item.label} ${item.hint ?? ""}`.toLowerCase().includes(word)));
}

export function choiceLines<T>(
  state: ChoiceState<T>,
  theme: Theme,
  columns: number,
): { lines: string[]; cursor: { row: number; column: number } | null } {
  const { choice } = state;
  const lines = [...choice.title];
  let cursor: { row: number; column: number } | null = null;
  if (choice.filter) {
    cursor = { row: lines.length, column: 2 + textWidth(toPlainLine(state.query)) };
    lines.push(`${theme.dim("/")} ${toPlainLine(state.query)}`);
  }
  const items = visibleItems(state);
  const from = Math.max(0, Math.min(state.selected - MAX_ROWS + 2, items.length - MAX_ROWS));
  for (const [offset, { item, index }] of items.slice(from, from + MAX_ROWS).entries()) {
    const at = from + offset;
    const current = at === state.selected;
    const mark = choice.multi && !item.input ? (state.marked.has(index) ? "☒ " : "☐ ") : "";
    const number = choice.filter ? "" : `${at + 1}. `;
    const head = `${current ? theme.cyan("❯") : " "} ${number}${mark}`;
    const label = current ? theme.bold(toPlainLine(item.label)) : toPlainLine(item.label);
    const hint = item.hint ? `  ${theme.dim(toPlainLine(item.hint))}` : "";
    if (item.input && state.typing && current) {
      const prompt = `${head}${label}: `;
      const room = Math.max(4, columns - textWidth(prompt) - 2);
      const shown = lastCells(toPlainLine(`${state.text}|`).slice(0, -1), room);
      cursor = { row: lines.length, column: textWidth(prompt) + textWidth(shown) };
      lines.push(`${prompt}${shown}`);
    } else if (choice.filter) lines.push(truncate(`${head}${label}${hint}`, columns - 1));
    else lines.push(...itemRows(head, `${label}${hint}`, columns));
  }
  if (items.length === 0) lines.push(theme.dim("  nothing matches"));
  else if (items.length > MAX_ROWS) lines.push(theme.dim(`  ${state.selected + 1} of ${items.length}`));
  if (choice.multi) lines.push(theme.dim("  Space marks, Enter answers"));
  return { lines, cursor };
}

/** An answer is shown whole: what is agreed to must not end in an ellipsis. */
function itemRows(head: string, text: string, columns: number): string[] {
  const indent = textWidth(head);
  return wrap(text, Math.max(8, columns - indent - 1)).map(
    (row, index) => (index === 0 ? head : " ".repeat(indent)) + row,
  );
}

/** A line typed at a `[1/2/3]` prompt, where no keys can be read. Undefined: not understood, ask again. */
export function parseAnswer<T>(choice: Choice<T>, line: string): Answer<T> | undefined {
  const text = line.trim();
  const input = choice.items.find((item) => item.input);
  const numbers = text.split(/[\s,]+/);
  const byNumber = numbers.map((number) => (/^\d+$/.test(number) ? choice.items[Number(number) - 1] : undefined));
  const chosen = byNumber.filter((item) => item !== undefined);
  if (chosen.length > 0 && chosen.length === numbers.length && (choice.multi || chosen.length === 1))
    return answer(chosen);
  const word = text.toLowerCase();
  const byKey = choice.items.find((item) => item.keys?.some((key) => key === word || WORDS[key] === word));
  if (byKey) return answer([byKey]);
  return input && text !== "" ? { values: [input.value], text } : undefined;
}

const WORDS: Record<string, string> = { y: "yes", n: "no" };

function answer<T>(items: ChoiceItem<T>[]): Answer<T> {
  const values = items.map((item) => item.value);
  return items.some((item) => item.input) ? { values, text: "" } : { values };
}

function moveSelection<T>(state: ChoiceState<T>, step: number): ChoiceState<T> {
  const count = visibleItems(state).length;
  if (count === 0) return state;
  return { ...state, selected: (state.selected + step + count) % count, typing: false };
}

function accept<T>(state: ChoiceState<T>): ChoiceStep<T> {
  const entry = visibleItems(state)[state.selected];
  if (!entry) return { state };
  if (entry.item.input && !state.typing) return { state: { ...state, typing: true } };
  const text = entry.item.input ? { text: state.text.trim() } : {};
  if (!state.choice.multi) return { done: { values: [entry.item.value], ...text } };
  const marked = state.choice.items.filter(
    (item, index) => state.marked.has(index) || (item.input && item === entry.item),
  );
  // Enter on an unmarked line means that line: nobody marks one item to choose one item.
  return { done: { values: (marked.length > 0 ? marked : [entry.item]).map((item) => item.value), ...text } };
}

function hotKey<T>(state: ChoiceState<T>, key: Key): ChoiceStep<T> {
  const { choice } = state;
  const pick = (index: number): ChoiceStep<T> => {
    const selected = { ...state, selected: index };
    return choice.multi && !choice.items[index]?.input ? { state: toggle(selected) } : accept(selected);
  };
  if (key.ctrl || key.alt) return { state };
  // Pasted text is never a decision, even when it is one letter.
  const typed = key.name === "paste" ? "" : key.text;
  if (choice.multi && typed === " ") return { state: toggle(state) };
  if (/^[1-9]$/.test(typed) && Number(typed) <= choice.items.length) return pick(Number(typed) - 1);
  const byKey = choice.items.findIndex((item) => item.keys?.includes(typed.toLowerCase()));
  if (typed !== "" && byKey !== -1) return pick(byKey);
  const input = choice.items.findIndex((item) => item.input);
  const text = editField("", key);
  if (text.trim() === "" || input === -1) return { state };
  return { state: { ...state, selected: input, typing: true, text } };
}

function toggle<T>(state: ChoiceState<T>): ChoiceState<T> {
  const marked = new Set(state.marked);
  if (!marked.delete(state.selected)) marked.add(state.selected);
  return { ...state, marked };
}

/** The few editing keys of a one-line field. */
export function editField(text: string, key: Key): string {
  if (key.name === "backspace" || (key.ctrl && key.name === "h")) return graphemes(text).slice(0, -1).join("");
  if (key.ctrl && key.name === "u") return "";
  if (key.ctrl && key.name === "w") return text.replace(/\S*\s*$/, "");
  if (key.name === "paste") return text + key.text.replaceAll("\n", " ");
  return key.ctrl || key.alt ? text : text + key.text;
}

/** The end of a text that is longer than its field. */
function lastCells(text: string, cells: number): string {
  const width = textWidth(text);
  return width <= cells ? text : `…${Bun.sliceAnsi(text, width - cells + 1)}`;
}

/** The list for terminals that cannot redraw. */
export function plainChoiceLines<T>(choice: Choice<T>): string[] {
  const items = choice.items.map(({ label, hint }, index) => {
    const tail = hint ? ` - ${toPlainLine(hint)}` : "";
    return `  ${index + 1}. ${toPlainLine(label)}${tail}`;
  });
  return [...choice.title, ...items];
}

/** What stands before the cursor of a plain prompt. */
export function plainChoicePrompt<T>(choice: Choice<T>): string {
  const numbers =
    choice.items.length <= 5 ? choice.items.map((_, index) => index + 1).join("/") : `1-${choice.items.length}`;
  return `[${numbers}]${choice.multi ? " (several: 1,3)" : ""} `;
}
