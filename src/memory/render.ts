// The part of the system prompt that is the agent's memory: the persona, every file under `system/`, and a tree of the
// rest. Made from committed files only, never from the working copy, and from nothing volatile: the same commit gives the
// same bytes, whatever machine, locale or time, because providers cache the prefix of a request. Everything is sorted by
// the code units of its name. A tree needs the descriptions of only those files it shows, so a plan says which ones.

import { clip } from "@/lib/text.ts";
import { descriptionOf, parseMarkdown } from "./frontmatter.ts";
import { TREE_CHARS, TREE_CHILDREN, TREE_DESCRIPTION_CHARS, TREE_LINES } from "./limits.ts";
import { isMarkdown, isSkillPath, isSystemPath, labelOf, PERSONA_PATH } from "./places.ts";

export interface TreeLimits {
  lines: number;
  chars: number;
  /** Per folder. */
  children: number;
}

export interface MemoryPlan {
  /** Under `system/`, sorted. */
  system: string[];
  /** What lies outside `system/`. */
  tree: Tree;
  /** Whose text `renderMemory` asks for. */
  needed: string[];
}

interface Tree {
  /** Those that may fit; with descriptions, fewer do. */
  lines: TreeLine[];
  /** Nothing was left out for want of room. */
  isWhole: boolean;
  /** Files and folders in all. */
  entries: number;
  limits: TreeLimits;
}

interface TreeNode {
  name: string;
  /** Of a file; null for a folder. */
  path: string | null;
  children: TreeNode[];
}

/** Texts beyond their range, or no numbers, mean the default. */
export function treeLimits(wishes: { lines?: string; chars?: string; children?: string } = {}): TreeLimits {
  const read = (text: string | undefined, { value, min, max }: { value: number; min: number; max: number }): number => {
    const wanted = Number(text ?? Number.NaN);
    return Number.isInteger(wanted) && wanted >= min && wanted <= max ? wanted : value;
  };
  return {
    lines: read(wishes.lines, TREE_LINES),
    chars: read(wishes.chars, TREE_CHARS),
    children: read(wishes.children, TREE_CHILDREN),
  };
}

export function planMemory(paths: readonly string[], limits: TreeLimits): MemoryPlan {
  const files = paths.filter(isMarkdown);
  const system = files.filter(isSystemPath).sort(byName);
  const tree = planTree(buildTree(files.filter((path) => !isSystemPath(path) && !isSkillPath(path))), limits);
  return { system, tree, needed: [...system, ...tree.lines.flatMap(({ node }) => node?.path ?? [])] };
}

/** Empty when there is no file. `text` gives the files the plan needs. */
export function renderMemory(plan: MemoryPlan, text: (path: string) => string): string {
  const parts: string[] = [];
  if (plan.system.length > 0) {
    parts.push("Reminder: <projection> contains the local path of the memory file projection.");
  }
  if (plan.system.includes(PERSONA_PATH)) {
    const body = parseMarkdown(text(PERSONA_PATH)).body.trim();
    parts.push(["<self>", projection(PERSONA_PATH), ...(body ? [body] : []), "</self>"].join("\n"));
  }
  const blocks = renderBlocks(
    plan.system.filter((path) => path !== PERSONA_PATH),
    text,
  );
  const tree = renderTree(plan.tree, text);
  const memory = [...blocks, ...(tree ? [`<external_projection>\n${tree}\n</external_projection>`] : [])];
  if (memory.length > 0) parts.push(`<memory>\n${memory.join("\n")}\n</memory>`);
  return parts.join("\n\n");
}

/** What never changes within a conversation. */
export function renderMetadata({ agentId, conversationId }: { agentId: string; conversationId: string }): string {
  return `<memory_metadata>\n- AGENT_ID: ${agentId}\n- CONVERSATION_ID: ${conversationId}\n</memory_metadata>`;
}

/** Of one block, as the prompt has it; for telling what changed. */
export function renderBlock(path: string, text: string): string {
  if (path === PERSONA_PATH) return `<self>\n${projection(path)}\n${parseMarkdown(text).body.trim()}\n</self>`;
  return renderBlocks([path], () => text).join("\n");
}

function projection(path: string): string {
  return `<projection>$MEMORY_DIR/${path}</projection>`;
}

interface Block {
  /** The file of this name, and one that a folder of the same name stands beside. */
  path: string | null;
  children: Map<string, Block>;
}

function renderBlocks(paths: readonly string[], text: (path: string) => string): string[] {
  const root: Block = { path: null, children: new Map() };
  for (const path of paths) {
    let block = root;
    for (const name of labelOf(path).split("/").slice(1)) {
      const next = block.children.get(name) ?? { path: null, children: new Map() };
      block.children.set(name, next);
      block = next;
    }
    block.path = path;
  }
  return renderChildren(root, 0, text);
}

function renderChildren({ children }: Block, depth: number, text: (path: string) => string): string[] {
  const indent = "  ".repeat(depth);
  return [...children]
    .sort(([a], [b]) => byName(a, b))
    .flatMap(([name, block]) => {
      const tag = name.replace(/[^A-Za-z0-9_.-]/g, "_");
      return [
        `${indent}<${tag}>`,
        ...(block.path === null ? [] : renderFile(block.path, text(block.path), `${indent}  `)),
        ...renderChildren(block, depth + 1, text),
        `${indent}</${tag}>`,
      ];
    });
}

function renderFile(path: string, text: string, indent: string): string[] {
  const file = parseMarkdown(text);
  const description = descriptionOf(file);
  const body = file.body.trim();
  return [
    indent + projection(path),
    ...(description === null ? [] : [`${indent}<description>${description}</description>`]),
    ...(body === "" ? [] : [indent + body]),
  ];
}

function buildTree(paths: readonly string[]): TreeNode[] {
  interface Folder {
    node: TreeNode;
    folders: Map<string, Folder>;
  }
  const root: Folder = { node: { name: "", path: null, children: [] }, folders: new Map() };
  for (const path of paths) {
    const names = path.split("/");
    const name = names.pop()!;
    let folder = root;
    for (const part of names) {
      let next = folder.folders.get(part);
      if (!next) {
        next = { node: { name: part, path: null, children: [] }, folders: new Map() };
        folder.folders.set(part, next);
        folder.node.children.push(next.node);
      }
      folder = next;
    }
    folder.node.children.push({ name, path, children: [] });
  }
  return sortTree(root.node.children);
}

/** Folders first. */
function sortTree(nodes: TreeNode[]): TreeNode[] {
  for (const { children } of nodes) sortTree(children);
  return nodes.sort((a, b) => Number(a.path !== null) - Number(b.path !== null) || byName(a.name, b.name));
}

interface TreeLine {
  prefix: string;
  /** Null: a line that says how many are left out. */
  node: TreeNode | null;
  hidden: number;
}

/** Lines in the order shown, without the root. Stops when there are more than can ever be shown. */
function* treeLines(nodes: readonly TreeNode[], limits: TreeLimits, indent = ""): Generator<TreeLine> {
  const shown = nodes.slice(0, limits.children);
  const hidden = nodes.length - shown.length;
  for (const [index, node] of shown.entries()) {
    const isLast = hidden === 0 && index === shown.length - 1;
    yield { prefix: `${indent}${isLast ? "└── " : "├── "}`, node, hidden: 0 };
    yield* treeLines(node.children, limits, `${indent}${isLast ? "    " : "│   "}`);
  }
  if (hidden > 0) yield { prefix: `${indent}└── `, node: null, hidden };
}

function planTree(nodes: readonly TreeNode[], limits: TreeLimits): Tree {
  const entries = countNodes(nodes);
  const lines: TreeLine[] = [];
  let chars = TREE_ROOT.length;
  for (const line of treeLines(nodes, limits)) {
    chars += line.prefix.length + (line.node?.name.length ?? 0) + 1;
    if (lines.length + 1 >= limits.lines || chars > limits.chars) return { lines, isWhole: false, entries, limits };
    lines.push(line);
  }
  return { lines, isWhole: true, entries, limits };
}

/** Empty when there is nothing outside `system/`. */
function renderTree({ lines: planned, isWhole, entries, limits }: Tree, text: (path: string) => string): string {
  if (entries === 0) return "";
  const lines = [TREE_ROOT];
  let chars = TREE_ROOT.length;
  for (const line of planned) {
    const rendered = renderLine(line, text);
    if (chars + rendered.length + 1 > limits.chars) break;
    lines.push(rendered);
    chars += rendered.length + 1;
  }
  if (isWhole && lines.length === planned.length + 1) return lines.join("\n");
  for (;;) {
    const shown = planned.slice(0, lines.length - 1).filter(({ node }) => node !== null).length;
    const notice = `[tree truncated: showing ${shown} of ${entries} entries; list $MEMORY_DIR for the rest]`;
    const fits = lines.length < limits.lines && chars + notice.length + 1 <= limits.chars;
    if (fits || lines.length === 1) return [...lines, notice].join("\n");
    chars -= lines.pop()!.length + 1;
  }
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the shell variable, for the model
const TREE_ROOT = "${MEMORY_DIR}/";

function renderLine({ prefix, node, hidden }: TreeLine, text: (path: string) => string): string {
  if (node === null) return `${prefix}… (${hidden} more entries)`;
  if (node.path === null) return `${prefix}${node.name}/`;
  const description = descriptionOf(parseMarkdown(text(node.path)));
  return `${prefix}${node.name}${description === null ? "" : ` (${clip(description, TREE_DESCRIPTION_CHARS)})`}`;
}

function countNodes(nodes: readonly TreeNode[]): number {
  return nodes.reduce((sum, { children }) => sum + 1 + countNodes(children), 0);
}

/** By code units: a locale must not decide about bytes that are cached. */
function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
