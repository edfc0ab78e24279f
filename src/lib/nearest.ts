// "Did you mean": the candidate closest to what was typed.

/** Undefined when nothing is close enough to be what was meant. */
export function findNearest(typed: string, candidates: Iterable<string>): string | undefined {
  const wanted = typed.toLowerCase();
  let best: string | undefined;
  let bestScore = Math.max(1, Math.floor(wanted.length / 2)) + 1;
  for (const candidate of candidates) {
    const name = candidate.toLowerCase();
    const score = isPart(wanted, name) || isPart(name, wanted) ? 1 : editDistance(wanted, name, bestScore);
    if (score < bestScore) {
      best = candidate;
      bestScore = score;
    }
  }
  return best;
}

/** A part of the other, or an abbreviation of it, counts as one slip: `path` for `file_path`, `cmd` for `command`. */
function isPart(short: string, long: string): boolean {
  if (short.length < 3) return false;
  if (long.includes(short)) return true;
  let at = 0;
  for (const letter of long) if (letter === short[at]) at++;
  return at === short.length && short[0] === long[0] && short.length * 3 >= long.length;
}

/** Insertions, deletions, replacements and swaps of neighbours. Stops counting at `limit`. */
export function editDistance(a: string, b: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    if (Math.min(...row) >= limit) return limit;
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
