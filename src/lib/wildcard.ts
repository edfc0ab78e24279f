// Matching of a list against a pattern with wildcards, for names (characters), paths (names) and commands (words).

export interface WildcardOptions<Part, Value> {
  isWildcard(part: Part): boolean;
  /** Of a part that is no wildcard. */
  matches(part: Part, value: Value): boolean;
  /** A pattern that is used up matches, whatever follows. */
  prefix: boolean;
  /** At the end, wildcards may stand for nothing. Elsewhere they always may. */
  emptyEnd: boolean;
}

/** A wildcard stands for any run of values. No backtracking but to the last wildcard: time is at most the product of the
 *  lengths. */
export function matchWildcards<Part, Value>(
  pattern: readonly Part[],
  values: ArrayLike<Value>,
  { isWildcard, matches, prefix, emptyEnd }: WildcardOptions<Part, Value>,
): boolean {
  let [at, wildcard, mark, position] = [0, -1, 0, 0];
  while (position < values.length) {
    const used = at === pattern.length;
    if (used && prefix) return true;
    if (!used && isWildcard(pattern[at]!)) {
      wildcard = at++;
      mark = position;
    } else if (!used && matches(pattern[at]!, values[position]!)) {
      at += 1;
      position += 1;
    } else if (wildcard !== -1) {
      at = wildcard + 1;
      position = ++mark;
    } else return false;
  }
  while (emptyEnd && at < pattern.length && isWildcard(pattern[at]!)) at += 1;
  return at === pattern.length;
}
