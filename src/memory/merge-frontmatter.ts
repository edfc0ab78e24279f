// Three-way merge of frontmatter, key by key. A key's text is kept as it was written, comments and quotes included.

import { mergeMarkdownLines } from "./merge-lines.ts";
import { mergeOrder } from "./merge-order.ts";

export interface FrontmatterFile {
  /** Key → its lines; null where the file has none. */
  keys: Map<string, string[]> | null;
  body: string[];
}

const KEY = /^("[^"]*"|'[^']*'|[^\s#:"'-][^:]*?)[ \t]*:(?:[ \t]|$)/;
/** When the file last changed: of two times the newer one is right. */
const TIME_KEY = "updated";

/** Null: it begins like frontmatter, and is none that could be merged by key. */
export function splitFrontmatter(lines: string[]): FrontmatterFile | null {
  if (lines[0]?.trimEnd() !== "---") return { keys: null, body: lines };
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === "---");
  if (end < 0) return null;
  const keys = new Map<string, string[]>();
  let current: string[] | null = null;
  for (const line of lines.slice(1, end)) {
    const key = KEY.exec(line)?.[1]?.replace(/^(["'])(.*)\1$/, "$2");
    if (key !== undefined) {
      if (keys.has(key)) return null;
      current = [line];
      keys.set(key, current);
    } else if (current) current.push(line);
    else return null;
  }
  return { keys, body: lines.slice(end + 1) };
}

export function joinFrontmatter({ keys, body }: FrontmatterFile): string[] {
  return keys === null ? body : ["---", ...[...keys.values()].flat(), "---", ...body];
}

/** `undefined` for a base that both sides lack. Null result: both changed a key, differently. */
export function mergeFrontmatter(
  base: FrontmatterFile["keys"] | undefined,
  ours: FrontmatterFile["keys"],
  theirs: FrontmatterFile["keys"],
): { keys: FrontmatterFile["keys"] } | null {
  const [was, our, their] = [base, ours, theirs].map((keys) => keys ?? new Map<string, string[]>());
  const merged = new Map<string, string[]>();
  for (const key of new Set([...was!.keys(), ...our!.keys(), ...their!.keys()])) {
    const value = mergeValue(key, was!.get(key), our!.get(key), their!.get(key));
    if (value === null) return null;
    if (value) merged.set(key, value);
  }
  if (merged.size === 0 && (ours === null || theirs === null)) return { keys: null };
  const order = mergeOrder(
    { base: [...was!.keys()], ours: [...our!.keys()], theirs: [...their!.keys()] },
    new Set(merged.keys()),
  );
  return { keys: new Map(order.map((key) => [key, merged.get(key)!])) };
}

type Value = string[] | undefined;

/** Undefined: the key is gone. Null: a conflict. */
function mergeValue(key: string, base: Value, ours: Value, theirs: Value): Value | null {
  if (sameValue(ours, theirs)) return ours;
  if (sameValue(base, ours)) return theirs;
  if (sameValue(base, theirs)) return ours;
  if (key === TIME_KEY) return newerTime(ours, theirs);
  if (!ours || !theirs) return null;
  return mergeList(key, base, ours, theirs);
}

function sameValue(a: Value, b: Value): boolean {
  return a?.join("\n").trimEnd() === b?.join("\n").trimEnd();
}

function newerTime(ours: Value, theirs: Value): Value | null {
  if (!ours || !theirs) return ours ?? theirs;
  const [our, their] = [ours, theirs].map((lines) => Date.parse(scalarOf(lines)));
  if (Number.isNaN(our) || Number.isNaN(their)) return null;
  if (our !== their) return our! > their! ? ours : theirs;
  return scalarOf(ours) > scalarOf(theirs) ? ours : theirs;
}

function scalarOf(lines: string[]): string {
  return lines
    .join(" ")
    .replace(KEY, "")
    .trim()
    .replace(/^(["'])(.*)\1$/, "$2");
}

/** Lists such as tags: what each side added and removed, item by item. */
function mergeList(key: string, base: Value, ours: string[], theirs: string[]): string[] | null {
  const [was, our, their] = [base ?? [`${key}: []`], ours, theirs].map(itemsOf);
  if (!was || !our || !their) return null;
  const items = mergeMarkdownLines({ base: was, ours: our, theirs: their });
  if (items === null) return null;
  if (ours.length > 1 || theirs.length > 1) return [`${key}:`, ...items.map((item) => `  ${item}`)];
  return [`${key}: [${items.map((item) => item.slice(2)).join(", ")}]`];
}

/** `- item` for each; null for what is not a simple list, in either of YAML's two styles. */
function itemsOf(lines: string[]): string[] | null {
  const first = lines[0]!.replace(KEY, "").trim();
  const flow = /^\[([^[\]{}"'#]*)\]$/.exec(first)?.[1];
  if (flow !== undefined && lines.length === 1) {
    const items = flow.split(",").map((item) => item.trim());
    return items.filter((item) => item !== "").map((item) => `- ${item}`);
  }
  const items = lines.slice(1).map((line) => line.trim());
  return first === "" && items.length > 0 && items.every((item) => item.startsWith("- ")) ? items : null;
}
