// Three-way merge of lines. Where two sides changed neighbouring lines, a plain merge gives up; list items and table rows
// stand for themselves, so they are merged one by one there. Nothing is lost and nothing doubled: what cannot keep that
// promise is null, a conflict.

import { changedRanges, commonLines, countLines, threeWayRegions } from "./compare-lines.ts";

/** Lines without their ends. */
export interface Lines {
  /** Undefined: both sides are new. */
  base: string[] | undefined;
  ours: string[];
  theirs: string[];
}

const ITEM = /^([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const TABLE_ROW = /^[ \t]*\|.*\|[ \t]*$/;
const FENCE = /^[ \t]*(?:```|~~~)/;

/** For text of any kind: changes of the same or of touching lines are a conflict. */
export function mergePlainLines({ base, ours, theirs }: Lines): string[] | null {
  return mergeRegions({ base, ours, theirs }, () => null);
}

/** For Markdown: list items and table rows are units of their own; what both sides appended is joined, ours first. */
export function mergeMarkdownLines(lines: Lines): string[] | null {
  const base = lines.base ?? commonLines(lines.ours, lines.theirs);
  if (base === null) return null;
  const sides = { base, ours: lines.ours, theirs: lines.theirs };
  const merged = mergeRegions(sides, mergeItems);
  if (merged === null) return null;
  const result = withoutDoubles(merged, sides);
  return doublesProse(result, sides) ? null : result;
}

/** True when the result adds up: each line is there as often as both sides' changes make it, where the same change on
 *  both sides may count once or twice. Blank lines do not count. */
export function addsUp({ base, ours, theirs }: Lines, result: string[]): boolean {
  const [was, our, their, is] = [base ?? [], ours, theirs, result].map(countLines);
  return [was, our, their, is].every((counts) =>
    [...counts!.keys()].every((line) => {
      const [b = 0, o = 0, t = 0, r = 0] = [was, our, their, is].map((of) => of!.get(line) ?? 0);
      const both = o + t - b;
      // One side added and the other removed: both changes count.
      const once = o > b === t > b || o === b || t === b ? (o > b || t > b ? Math.max(o, t) : Math.min(o, t)) : both;
      return r >= Math.min(both, once) && r <= Math.max(both, once);
    }),
  );
}

type RegionMerger = (region: { base: string[]; ours: string[]; theirs: string[] }) => string[] | null;

function mergeRegions({ base, ours, theirs }: Lines, mergeRegion: RegionMerger): string[] | null {
  if (!base) return sameLines(ours, theirs) ? ours : null;
  const merged: string[][] = [];
  for (const region of threeWayRegions(base, ours, theirs) ?? [null]) {
    const lines = region && ("ok" in region ? region.ok : mergeRegion(region.conflict));
    if (lines === null) return null;
    merged.push(lines);
  }
  return merged.flat();
}

/** One item with the lines that belong to it, and the blank lines before it. */
interface Unit {
  lines: string[];
  /** Without blank lines: two units with the same text are the same item. */
  text: string;
}

function mergeItems({ base, ours, theirs }: { base: string[]; ours: string[]; theirs: string[] }): string[] | null {
  const indent = itemIndent([...base, ...ours, ...theirs]);
  if (indent === null) return null;
  const [was, our, their] = [base, ours, theirs].map((lines) => itemsOf(lines, indent));
  if (!was || !our || !their) return null;
  const lead = mergePlainLines({ base: was.lead, ours: our.lead, theirs: their.lead });
  const units = mergeUnits(was.units, our.units, their.units);
  return lead && units && [...lead, ...units];
}

/** Null where anything but items and rows is among the lines. `lead`: the rest of an item that began before them. */
function itemsOf(lines: string[], indent: number): { lead: string[]; units: Unit[] } | null {
  const lead: string[] = [];
  const units: Unit[] = [];
  let blank: string[] = [];
  for (const line of lines) {
    if (line.trim() === "") {
      blank.push(line);
      continue;
    }
    const unit = units.at(-1);
    if (itemDepth(line) === indent) units.push({ lines: [...blank, line], text: line.trim() });
    else if (depth(line) <= indent) return null;
    else if (unit) {
      unit.lines.push(...blank, line);
      unit.text += `\n${line.trimEnd()}`;
    } else lead.push(...blank, line);
    blank = [];
  }
  if (blank.length > 0) units.push({ lines: blank, text: "" });
  return { lead, units };
}

interface Hunk {
  start: number;
  length: number;
  units: Unit[];
}

function mergeUnits(base: Unit[], ours: Unit[], theirs: Unit[]): string[] | null {
  const [our, their] = [hunksOf(base, ours), hunksOf(base, theirs)];
  if (!our || !their) return null;
  const merged: Unit[] = [];
  for (let at = 0; at <= base.length; ) {
    const added = [our, their].map(
      (hunks) => hunks.find(({ start, length }) => start === at && length === 0)?.units ?? [],
    );
    merged.push(...added[0]!, ...added[1]!.filter(({ text }) => !added[0]!.some((unit) => unit.text === text)));
    if (at === base.length) break;

    const mine = our.find((hunk) => covers(hunk, at));
    const yours = their.find((hunk) => covers(hunk, at));
    const hunk = mine ?? yours;
    if (!hunk) merged.push(base[at++]!);
    else {
      const settled = mine && yours ? mergeSameUnit(base[at]!, mine, yours) : hunk.units;
      if (settled === null) return null;
      if (interferes(mine ? their : our, hunk)) return null;
      merged.push(...settled);
      at += hunk.length;
    }
  }
  return merged.flatMap(({ lines }) => lines);
}

/** Both replaced the same units: fine when they agree, or when it is one item of which they changed different lines. */
function mergeSameUnit(base: Unit, ours: Hunk, theirs: Hunk): Unit[] | null {
  if (ours.start !== theirs.start || ours.length !== theirs.length) return null;
  const texts = (hunk: Hunk): string[] => hunk.units.map(({ text }) => text);
  if (sameLines(texts(ours), texts(theirs))) return ours.units;
  const [our, their] = [ours.units[0], theirs.units[0]];
  if (!our || !their || ours.length !== 1 || ours.units.length !== 1 || theirs.units.length !== 1) return null;
  const lines = mergePlainLines({ base: base.lines, ours: our.lines, theirs: their.lines });
  return lines && [{ lines, text: lines.join("\n").trim() }];
}

/** The other side changes or inserts inside what the hunk replaces. */
function interferes(others: Hunk[], { start, length }: Hunk): boolean {
  return others.some((other) => other.start > start && other.start < start + length);
}

function covers({ start, length }: Hunk, at: number): boolean {
  return start <= at && at < start + length;
}

/** Changes taken apart into those of single units, and what was added behind them: the less a hunk spans, the less it
 *  meets. Only fewer units in the place of several stay together. */
function hunksOf(base: Unit[], side: Unit[]): Hunk[] | null {
  const texts = (units: Unit[]): string[] => units.map(({ text }) => text);
  const ranges = changedRanges(texts(base), texts(side));
  if (ranges === null) return null;
  return ranges.flatMap(({ start, length, from, count }): Hunk[] => {
    const units = side.slice(from, from + count);
    if (length === 0 || (0 < count && count < length)) return [{ start, length, units }];
    const single = Array.from({ length }, (_, at) => ({
      start: start + at,
      length: 1,
      units: units.slice(at, at + 1),
    }));
    return count > length ? [...single, { start: start + length, length: 0, units: units.slice(length) }] : single;
  });
}

/** An item both sides put into the same list at different places stays where it comes first. */
function withoutDoubles(merged: string[], { ours, theirs }: { ours: string[]; theirs: string[] }): string[] {
  const lists = listsOf(merged);
  const sides = [listsOf(ours), listsOf(theirs)];
  const inOneList = (all: Unit[][], text: string): number => Math.max(0, ...all.map((list) => count(list, text)));
  const dropped = new Set<number>();
  let left = lists.flat();
  for (const list of lists) {
    const seen: Unit[] = [];
    for (const unit of list) {
      seen.push(unit);
      const { text } = unit;
      const own = sides.map((side) => inOneList(side, text));
      if (own.includes(0) || count(seen, text) <= Math.max(...own)) continue;
      if (count(left, text) <= Math.max(...sides.map((side) => count(side.flat(), text)))) continue;
      seen.pop();
      left = left.filter((other) => other !== unit);
      for (let line = unit.from; line < unit.from + unit.lines.length; line++) dropped.add(line);
    }
  }
  return dropped.size === 0 ? merged : merged.filter((_, at) => !dropped.has(at));
}

function count(units: readonly Unit[], text: string): number {
  return units.filter((unit) => unit.text === text).length;
}

interface PlacedUnit extends Unit {
  /** Index of its first line. */
  from: number;
}

/** The lists of a text, each as its items of the outermost level. */
function listsOf(lines: string[]): PlacedUnit[][] {
  const lists: PlacedUnit[][] = [];
  let list: PlacedUnit[] | null = null;
  let indent = 0;
  let blank = 0;
  let fenced = false;
  for (const [at, line] of lines.entries()) {
    if (FENCE.test(line) && !(list && depth(line) > indent)) fenced = !fenced;
    if (line.trim() === "") {
      blank++;
      continue;
    }
    const own = fenced ? null : itemDepth(line);
    if (own !== null && (!list || own <= indent)) {
      if (!list || own < indent) {
        list = [];
        lists.push(list);
      }
      indent = own;
      list.push({ from: at - blank, lines: lines.slice(at - blank, at + 1), text: line.trim() });
    } else if (list && depth(line) > indent) {
      const unit = list.at(-1)!;
      unit.lines = lines.slice(unit.from, at + 1);
      unit.text += `\n${line.trimEnd()}`;
    } else list = null;
    blank = 0;
  }
  return lists;
}

/** A line of words that is there more often than on any side: both sides wrote the same at different places. */
function doublesProse(
  result: string[],
  { base, ours, theirs }: { base: string[]; ours: string[]; theirs: string[] },
): boolean {
  const [was, our, their] = [base, ours, theirs].map(countLines);
  for (const [line, times] of countLines(result)) {
    if (itemDepth(line) !== null || !/\w{3}/.test(line) || /^[ \t]/.test(line)) continue;
    if (times > Math.max(was!.get(line) ?? 0, our!.get(line) ?? 0, their!.get(line) ?? 0)) return true;
  }
  return false;
}

/** Of an item or row; null for any other line. */
function itemDepth(line: string): number | null {
  return ITEM.test(line) || TABLE_ROW.test(line) ? depth(line) : null;
}

function itemIndent(lines: string[]): number | null {
  const depths = lines.map(itemDepth).filter((own) => own !== null);
  return depths.length === 0 ? null : Math.min(...depths);
}

function depth(line: string): number {
  return /^[ \t]*/.exec(line)![0].length;
}

function sameLines(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at]);
}
