// Spellings of what an option table lets through.

import type { OptionTable } from "@/shell/options.ts";

/** All options of a table, with values that could matter. */
export function spellOptions(table: OptionTable): string[] {
  const { flags = "", valued = "", glued = "", long = [], longValued = [], longLast = [], whole = [] } = table;
  return [
    ...[...flags].map((letter) => `-${letter}`),
    ...[...valued].flatMap((letter) => [`-${letter}1`, `-${letter} KEY`]),
    ...[...glued].map((letter) => `-${letter}9`),
    ...long.map((name) => `--${name.replace("=?", "")}`),
    ...long.filter((name) => name.endsWith("=?")).map((name) => `--${name.replace("=?", "=1")}`),
    ...[...longValued, ...longLast].map((name) => `--${name}=1`),
    ...whole,
  ];
}

/** Options that could take, or leave, a word we judged otherwise: bare, and joined to another one. */
export function spellBare({
  flags = "",
  valued = "",
  long = [],
  longValued = [],
  longLast = [],
}: OptionTable): string[] {
  const letters = [...flags, ...valued];
  return [
    ...letters.map((letter) => `-${letter}`),
    ...[...flags].slice(0, 3).flatMap((first) => letters.map((second) => `-${first}${second}`)),
    ...[...valued].flatMap((first) => ["o", "r", "f", "i", "w"].map((second) => `-${first}${second}`)),
    ...[...long, ...longValued, ...longLast].map((name) => `--${name.replace("=?", "")}`),
  ];
}
