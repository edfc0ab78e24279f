// The block of code around a line, found by indentation alone: it works for every language that is indented.

export interface BlockOptions {
  maxLines: number;
  /** Levels of indentation (4 columns) above the anchor's; 0: up to the left margin. */
  maxLevels: number;
  /** More than one line at the outermost level on each side. */
  siblings: boolean;
  /** Comments directly above the outermost line. */
  header: boolean;
}

/** Line numbers, from 1, of the first and last line. Grows in turns, one line above, one below. */
export function blockAround(lines: string[], anchor: number, options: BlockOptions): { first: number; last: number } {
  const indents = effectiveIndents(lines);
  const outermost = options.maxLevels === 0 ? 0 : Math.max(0, indents[anchor - 1]! - 4 * options.maxLevels);
  const up = new Edge(anchor - 1, -1);
  const down = new Edge(anchor - 1, 1);
  const takes = (edge: Edge): boolean => {
    const at = edge.next;
    const indent = indents[at];
    if (edge.closed || indent === undefined || indent < outermost) return false;
    if (options.siblings) return true;
    const header = edge === up && options.header && /^\s*(?:#|\/\/|--)/.test(lines[at]!);
    // Behind the outermost line, which opens or closes the block, the neighbour begins.
    if (edge.outermost > 0 && !header) return false;
    if (indent > outermost) return true;
    edge.outermost++;
    return true;
  };
  for (let count = 1; count < options.maxLines && !(up.closed && down.closed); ) {
    for (const edge of [up, down]) {
      if (count >= options.maxLines) break;
      if (!takes(edge)) edge.closed = true;
      else {
        edge.at = edge.next;
        count++;
      }
    }
  }
  return withoutBlankEdges(lines, up.at, down.at);
}

class Edge {
  closed = false;
  /** Lines of the outermost level taken. */
  outermost = 0;
  constructor(
    public at: number,
    private readonly step: 1 | -1,
  ) {}

  get next(): number {
    return this.at + this.step;
  }
}

/** Blank lines have the indentation of the line before. */
function effectiveIndents(lines: string[]): number[] {
  let last = 0;
  return lines.map((line) => {
    const white = /^[ \t]*/.exec(line)![0];
    if (line.trim() !== "") last = white.replaceAll("\t", "    ").length;
    return last;
  });
}

function withoutBlankEdges(lines: string[], first: number, last: number): { first: number; last: number } {
  let [from, to] = [first, last];
  while (from < to && lines[from]!.trim() === "") from++;
  while (to > from && lines[to]!.trim() === "") to--;
  return { first: from + 1, last: to + 1 };
}
