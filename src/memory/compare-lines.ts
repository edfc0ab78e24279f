// Comparing lines with node-diff3, kept from its bad cases: its time grows with the number of equal pairs, and blank
// lines alone make thousands. Lines that are there exactly once on every side cut a text into short stretches first.

import { diff3Merge, diffComm, diffIndices } from "node-diff3";

export type Region = { ok: string[] } | { conflict: { base: string[]; ours: string[]; theirs: string[] } };

/** A fifth of a second or so of one comparison. */
const MAX_COST = 3e8;

/** Null: too much alike at too many places to be compared in reasonable time. */
export function threeWayRegions(base: string[], ours: string[], theirs: string[]): Region[] | null {
  const regions: Region[] = [];
  const done = [0, 0, 0];
  const ends = [base.length, ours.length, theirs.length];
  for (const anchor of [...anchorsOf(base, ours, theirs), ends]) {
    const [o, a, b] = [base, ours, theirs].map((lines, side) => lines.slice(done[side]!, anchor[side]!)) as Sides;
    if (!isAffordable(o, a) || !isAffordable(o, b)) return null;
    for (const { ok, conflict } of diff3Merge(a, o, b)) {
      regions.push(ok ? { ok } : { conflict: { base: conflict!.o, ours: conflict!.a, theirs: conflict!.b } });
    }
    if (anchor !== ends) regions.push({ ok: [base[anchor[0]!]!] });
    for (const side of [0, 1, 2]) done[side] = anchor[side]! + 1;
  }
  return regions;
}

/** What of `base` was replaced by what of `side`, as ranges of both; null as above. */
export function changedRanges(
  base: string[],
  side: string[],
): { start: number; length: number; from: number; count: number }[] | null {
  if (!isAffordable(base, side)) return null;
  return diffIndices(base, side).map(({ buffer1: [start, length], buffer2: [from, count] }) => ({
    start,
    length,
    from,
    count,
  }));
}

/** The longest text both contain; null as above. */
export function commonLines(a: string[], b: string[]): string[] | null {
  return isAffordable(a, b) ? diffComm(a, b).flatMap(({ common }) => common ?? []) : null;
}

/** How often each line is there; blank ones say nothing. */
export function countLines(lines: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) if (line.trim() !== "") counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

type Sides = [base: string[], ours: string[], theirs: string[]];

/** Positions, on each side, of lines that every side has once and in the same order. */
function anchorsOf(...sides: Sides): number[][] {
  const [base, ours, theirs] = sides.map(placesOfSingles);
  const shared: number[][] = [];
  for (const [line, at] of base!) {
    const [our, their] = [ours!.get(line), theirs!.get(line)];
    if (our !== undefined && their !== undefined) shared.push([at, our, their]);
  }
  return increasing(increasing(shared, 1), 2);
}

function placesOfSingles(lines: string[]): Map<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (places.has(line)) repeated.add(line);
    places.set(line, at);
  }
  for (const line of repeated) places.delete(line);
  return places;
}

/** The longest selection in which the number at `key` only grows. */
function increasing(rows: number[][], key: number): number[][] {
  const ends: number[] = [];
  const previous = new Array<number>(rows.length);
  for (const [at, row] of rows.entries()) {
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (rows[ends[middle]!]![key]! < row[key]!) low = middle + 1;
      else high = middle;
    }
    previous[at] = low === 0 ? -1 : ends[low - 1]!;
    ends[low] = at;
  }
  const chosen: number[][] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at]!) chosen.push(rows[at]!);
  return chosen.reverse();
}

function isAffordable(a: string[], b: string[]): boolean {
  const counts = new Map<string, number>();
  for (const line of b) counts.set(line, (counts.get(line) ?? 0) + 1);
  let pairs = 0;
  for (const line of a) pairs += counts.get(line) ?? 0;
  return pairs * Math.max(a.length, b.length) <= MAX_COST;
}
