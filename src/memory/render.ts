// The part of the system prompt that is the agent's memory: the persona, every file under `system/`, and a tree of the
// rest. Made from committed files only, never from the working copy, and from nothing volatile: the same commit gives the
// same bytes, whatever machine, locale or time, because providers cache the prefix of a request. Everything is sorted by
// the code units of its name. A tree needs the descriptions of only those files it shows, so a plan says which ones.
// Whatever the files hold, the result is bounded, and its tags are ours: no text and no name can close or open one.

import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { clip, formatCount } from "@/lib/text.ts";
import { descriptionOf, parseMarkdown } from "./frontmatter.ts";
import { SYSTEM_WARNING_TOKENS, TREE_CHARS, TREE_CHILDREN, TREE_DESCRIPTION_CHARS, TREE_LINES } from "./limits.ts";
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
  const { shown, hidden } = fitSystem(plan.system, text);
  if (plan.system.length > 0) {
    parts.push("Reminder: <projection> contains the local path of the memory file projection.");
  }
  if (shown.includes(PERSONA_PATH)) parts.push(renderPersona(text(PERSONA_PATH)));
  const blocks = renderBlocks(
    shown.filter((path) => path !== PERSONA_PATH),
    text,
  );
  const tree = renderTree(plan.tree, text);
  const memory = [
    ...blocks,
    ...(hidden.length > 0 ? [describeHidden(hidden)] : []),
    ...(tree ? [`<external_projection>\n${tree}\n</external_projection>`] : []),
  ];
  if (memory.length > 0) parts.push(`<memory>\n${memory.join("\n")}\n</memory>`);
  return parts.join("\n\n");
}

/** What never changes within a conversation. */
export function renderMetadata({ agentId, conversationId }: { agentId: string; conversationId: string }): string {
  return `<memory_metadata>\n- AGENT_ID: ${agentId}\n- CONVERSATION_ID: ${conversationId}\n</memory_metadata>`;
}

/** Of one block, as the prompt has it; for telling what changed. */
export function renderBlock(path: string, text: string): string {
  return path === PERSONA_PATH ? renderPersona(text) : renderBlocks([path], () => text).join("\n");
}

function renderPersona(text: string): string {
  const body = harmless(parseMarkdown(text).body.trim());
  return ["<self>", projection(PERSONA_PATH), ...(body ? [body] : []), "</self>"].join("\n");
}

/** Of all files under `system/` together; a start says when they come this far. */
const SYSTEM_SHOWN_BYTES = 4 * SYSTEM_WARNING_TOKENS;
/** What a file takes besides its text and, three times, its path. */
const BLOCK_OVERHEAD_BYTES = 80;
const HIDDEN_NAMED = 10;

/** The persona first, then the small before the large: one file that outgrows the rest is the one left out. */
function fitSystem(paths: readonly string[], text: (path: string) => string): { shown: string[]; hidden: string[] } {
  const sized = paths.map((path) => ({
    path,
    bytes: Buffer.byteLength(text(path)) + 3 * path.length + BLOCK_OVERHEAD_BYTES,
  }));
  const total = sized.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= SYSTEM_SHOWN_BYTES) return { shown: [...paths], hidden: [] };
  const rank = ({ path, bytes }: { path: string; bytes: number }) => (path === PERSONA_PATH ? -1 : bytes);
  let left = SYSTEM_SHOWN_BYTES;
  const fitting = new Set<string>();
  for (const { path, bytes } of sized.sort((a, b) => rank(a) - rank(b) || byName(a.path, b.path))) {
    if (bytes > left) continue;
    left -= bytes;
    fitting.add(path);
  }
  return { shown: paths.filter((path) => fitting.has(path)), hidden: paths.filter((path) => !fitting.has(path)) };
}

function describeHidden(paths: readonly string[]): string {
  const named = paths.slice(0, HIDDEN_NAMED).map(harmlessName).join(", ");
  const more = paths.length > HIDDEN_NAMED ? ` and ${formatCount(paths.length - HIDDEN_NAMED)} more` : "";
  return `[system/ is over what fits, about ${formatCount(SYSTEM_WARNING_TOKENS)} tokens. Not shown: ${named}${more}. Read them below $MEMORY_DIR, and move what is not always needed out of system/.]`;
}

/** Tags the harness puts around what it tells the model. */
const HARNESS_TAGS = [
  ...["self", "memory", "memory_metadata", "memory_update", "external_projection", "projection", "description"],
  ...["available_skills", "loaded_skills", "system-reminder", "system-alert", "task-notification"],
];
const HARNESS_TAG = tagPattern(HARNESS_TAGS);

function tagPattern(tags: readonly string[]): RegExp {
  const names = tags.map((tag) => tag.replaceAll(".", "\\."));
  return new RegExp(`<(?=\\s*/?\\s*(?:${names.join("|")})(?![\\w.-]))`, "gi");
}

/** A text between tags of ours, in which none of them is. `around`: those of its own place, too. */
function harmless(text: string, around: readonly string[] = []): string {
  if (!text.includes("<")) return text;
  const plain = text.replace(HARNESS_TAG, "&lt;");
  return around.length === 0 ? plain : plain.replace(tagPattern(around), "&lt;");
}

/** On one line, whatever characters it is made of. */
function harmlessName(name: string): string {
  return harmless(escapeDeceptive(name).replaceAll("\n", "\\n"));
}

function projection(path: string): string {
  return `<projection>$MEMORY_DIR/${harmlessName(path)}</projection>`;
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

/** Deeper folders are not moved further to the right: that would cost the square of their depth. */
const MAX_INDENT = 8;

function renderChildren({ children }: Block, depth: number, text: (path: string) => string): string[] {
  const indent = "  ".repeat(Math.min(depth, MAX_INDENT));
  return [...children]
    .sort(([a], [b]) => byName(a, b))
    .flatMap(([name, block]) => {
      const tag = toTag(name);
      return [
        `${indent}<${tag}>`,
        ...(block.path === null ? [] : renderFile(block.path, text(block.path), `${indent}  `)),
        ...renderChildren(block, depth + 1, text),
        `${indent}</${tag}>`,
      ];
    });
}

/** Of a file or folder. One that has the name of a tag of ours gets another: it would pass for what it is not. */
function toTag(name: string): string {
  const tag = name.replace(/[^A-Za-z0-9_.-]/g, "_");
  return HARNESS_TAGS.includes(tag.toLowerCase()) ? `${tag}_` : tag;
}

function renderFile(path: string, text: string, indent: string): string[] {
  const file = parseMarkdown(text);
  const around = labelOf(path).split("/").slice(1).map(toTag);
  const description = descriptionOf(file);
  const body = harmless(file.body.trim(), around);
  return [
    indent + projection(path),
    ...(description === null ? [] : [`${indent}<description>${harmless(description, around)}</description>`]),
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
  const name = harmlessName(node.name);
  if (node.path === null) return `${prefix}${name}/`;
  const description = descriptionOf(parseMarkdown(text(node.path)));
  return `${prefix}${name}${description === null ? "" : ` (${harmless(clip(description, TREE_DESCRIPTION_CHARS))})`}`;
}

function countNodes(nodes: readonly TreeNode[]): number {
  return nodes.reduce((sum, { children }) => sum + 1 + countNodes(children), 0);
}

/** By code units: a locale must not decide about bytes that are cached. */
function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
