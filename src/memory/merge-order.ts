// Where the members of a merged list stand: sections of a document, keys of a frontmatter.

/** `kept`: what the result has. The side that moved something wins, ours when both did; what a side added stands behind
 *  what stood before it there, ours first. */
export function mergeOrder(
  { base, ours, theirs }: { base: string[]; ours: string[]; theirs: string[] },
  kept: ReadonlySet<string>,
): string[] {
  const old = new Set(base.filter((id) => kept.has(id)));
  const [was, our, their] = [base, ours, theirs].map((ids) => ids.filter((id) => old.has(id)));
  const order = isMoved(our!, was!) ? our! : their!;
  for (const id of old) if (!order.includes(id)) insert(id, base, order);
  for (const side of [ours, theirs]) {
    for (const id of side) if (kept.has(id) && !order.includes(id)) insert(id, side, order);
  }
  return order;

  function insert(id: string, side: string[], into: string[]): void {
    const before = side.slice(0, side.indexOf(id)).findLast((other) => into.includes(other));
    let at = before === undefined ? 0 : into.indexOf(before) + 1;
    // Behind what the other side added at the same place.
    while (at < into.length && !side.includes(into[at]!) && !base.includes(into[at]!)) at++;
    into.splice(at, 0, id);
  }
}

function isMoved(side: string[], base: string[]): boolean {
  const order = base.filter((id) => side.includes(id));
  return side.some((id, at) => id !== order[at]);
}
