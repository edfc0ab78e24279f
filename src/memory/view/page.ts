// One agent's memory as one HTML file that needs nothing else: no network, no server. Everything is in the markup, so
// that it can be read, searched and printed without scripts; the script only adds search and keys. What agents and
// other people wrote is text, never markup: it is escaped here, and the page's policy names the hash of our own script
// as the only one that may run.

import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { formatCount, plural } from "@/lib/text.ts";
import css from "./page.css" with { type: "text" };
import script from "./page-script.txt" with { type: "text" };

export interface MemoryView {
  agent: { id: string; name: string };
  /** ISO time. */
  createdAt: string;
  /** Null before the first commit. */
  head: string | null;
  /** What a request of the conversation last used is made of; empty when nothing is known. */
  context: ContextShare[];
  /** Of the model, in tokens; null when unknown. */
  contextWindow: number | null;
  /** Of HEAD, in the order shown. */
  files: ViewFile[];
  /** Newest first. */
  commits: ViewCommit[];
  /** There are older commits than `commits`. */
  hasMoreCommits: boolean;
}

export interface ContextShare {
  kind: "system" | "core" | "external" | "summary" | "tools" | "messages";
  tokens: number;
}

export interface ViewFile {
  path: string;
  /** Null: not text, or too large to show. */
  text: string | null;
  bytes: number;
  /** Estimated. */
  tokens: number;
  /** Empty when it has none. */
  description: string;
}

export interface ViewCommit {
  oid: string;
  /** ISO time with offset. */
  at: string;
  author: string;
  /** Whole. */
  message: string;
  paths: string[];
  isReflection: boolean;
  /** Unified; null when it was left out, with the reason. */
  diff: string | null;
  noDiff?: string;
}

const CONTEXT_NAMES: Record<ContextShare["kind"], string> = {
  system: "System prompt",
  core: "Core memory",
  external: "Index of external memory",
  summary: "Summary of earlier messages",
  tools: "Tools",
  messages: "Messages",
};
const GRID_CELLS = 200;
const PATHS_SHOWN = 3;

export function renderMemoryPage(view: MemoryView): string {
  const core = view.files.filter(({ path }) => isCore(path));
  const external = view.files.filter(({ path }) => !isCore(path));
  const known = new Set(view.files.map(({ path }) => path));
  const hash = new Bun.CryptoHasher("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const tabs = [
    { id: "context", title: "Context", body: renderContext(view) },
    { id: "core", title: `Core memory (${core.length})`, body: renderFiles(core, known) },
    { id: "external", title: `External memory (${external.length})`, body: renderFiles(external, known) },
    { id: "history", title: "History", body: renderHistory(view) },
  ];
  const title = `Memory of ${escapeText(view.agent.name)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${css}</style>
</head>
<body>
<div class="wrap">
<header>
<h1>${title}</h1>
<p>${escapeText(view.agent.id)} · ${view.head ? `commit <span class="oid">${escapeText(view.head.slice(0, 7))}</span>` : "no commit yet"} · ${formatTime(view.createdAt)}</p>
</header>
${tabs.map(({ id }, index) => `<input class="tab" type="radio" name="tab" id="tab-${id}"${index === 1 ? " checked" : ""}>`).join("\n")}
<nav class="tabs">${tabs.map(({ id, title }) => `<label for="tab-${id}">${title}</label>`).join("")}</nav>
<main class="panels">
${tabs.map(({ id, body }) => `<section class="panel" id="${id}">\n${body}\n</section>`).join("\n")}
</main>
</div>
<script>${script}</script>
</body>
</html>
`;
}

function isCore(path: string): boolean {
  return path.startsWith("system/");
}

function renderContext({ context, contextWindow }: MemoryView): string {
  if (context.length === 0) return `<p class="dim">No request has been sent yet.</p>`;
  const used = sum(context.map(({ tokens }) => tokens));
  const whole = Math.max(contextWindow ?? 0, used);
  const cells = context.flatMap(({ kind, tokens }) =>
    Array.from({ length: Math.round((tokens / whole) * GRID_CELLS) }, () => `<i class="${kind}"></i>`),
  );
  const empty = Array.from({ length: Math.max(0, GRID_CELLS - cells.length) }, () => "<i></i>");
  const row = (name: string, tokens: number, kind = "") =>
    `<tr><td><span class="swatch ${kind}"></span>${name}</td><td class="n">${formatCount(tokens)}</td><td class="n dim">${percent(tokens, whole)}</td></tr>`;
  return [
    `<div class="grid" aria-hidden="true">${[...cells, ...empty].slice(0, GRID_CELLS).join("")}</div>`,
    `<table>${context.map(({ kind, tokens }) => row(CONTEXT_NAMES[kind], tokens, kind)).join("")}`,
    contextWindow === null ? "" : row("Free", Math.max(0, contextWindow - used)),
    `</table>`,
    `<p class="dim">Estimated tokens${contextWindow === null ? "" : `, of a window of ${formatCount(contextWindow)}`}.</p>`,
  ].join("\n");
}

function renderFiles(files: ViewFile[], known: ReadonlySet<string>): string {
  if (files.length === 0) return `<p class="dim">Nothing here yet.</p>`;
  let folder = "";
  const parts = files.map((file) => {
    const at = file.path.includes("/") ? file.path.slice(0, file.path.lastIndexOf("/") + 1) : "";
    const heading = at === folder ? "" : `<div class="folder">${escapeText(at)}</div>\n`;
    folder = at;
    return heading + renderFile(file, known);
  });
  return `<input type="search" placeholder="Search files ( / )" aria-label="Search files">\n${parts.join("\n")}\n<p class="none dim" hidden>No file matches.</p>`;
}

function renderFile({ path, text, bytes, tokens, description }: ViewFile, known: ReadonlySet<string>): string {
  const size = text === null ? `${formatCount(bytes)} bytes` : `≈ ${plural(tokens, "token")}`;
  const body =
    text === null ? `<p class="dim">Not shown: not text, or too large.</p>` : `<pre>${renderText(text, known)}</pre>`;
  return `<details id="${fileId(path)}"${isCore(path) ? " open" : ""}><summary><span class="path">${escapeText(path)}</span><span class="about">${escapeText(description)}</span><span class="chip">${size}</span></summary>${body}</details>`;
}

/** Frontmatter dimmed, `[[links]]` to files that are there clickable. */
function renderText(text: string, known: ReadonlySet<string>): string {
  const head = /^---\r?\n[\s\S]*?\r?\n---(?:\r?\n|$)/.exec(text)?.[0] ?? "";
  const body = text.slice(head.length).split(/(\[\[[^[\]\n]{1,300}\]\])/);
  const linked = body.map((part, index) => {
    const path = index % 2 === 1 ? findLinked(part.slice(2, -2).trim(), known) : undefined;
    return path === undefined ? escapeText(part) : `<a href="#${fileId(path)}">${escapeText(part)}</a>`;
  });
  return (head && `<span class="head">${escapeText(head)}</span>`) + linked.join("");
}

function findLinked(link: string, known: ReadonlySet<string>): string | undefined {
  return [link, `${link}.md`, `${link}/SKILL.md`].find((path) => known.has(path));
}

function renderHistory({ commits, hasMoreCommits }: MemoryView): string {
  if (commits.length === 0) return `<p class="dim">No commits yet.</p>`;
  return [
    `<input type="search" placeholder="Search history ( / )" aria-label="Search history">`,
    ...commits.map(renderCommit),
    `<p class="none dim" hidden>No commit matches.</p>`,
    hasMoreCommits ? `<p class="dim">Older commits: <code>letta memory log</code></p>` : "",
  ].join("\n");
}

function renderCommit({ oid, at, author, message, paths, isReflection, diff, noDiff }: ViewCommit): string {
  const [subject = "", ...rest] = message.trimEnd().split("\n");
  const body = rest.join("\n").trim();
  const touched = [...paths.slice(0, PATHS_SHOWN), ...(paths.length > PATHS_SHOWN ? ["…"] : [])].join(", ");
  return [
    `<details id="c-${escapeText(oid)}"><summary>${escapeText(subject) || "(no message)"}${isReflection ? `<span class="chip">reflection</span>` : ""}`,
    `<span class="about">${formatTime(at)} · ${escapeText(author)} · <span class="oid">${escapeText(oid.slice(0, 7))}</span> · ${escapeText(touched)}</span></summary>`,
    body && `<pre>${escapeText(body)}</pre>`,
    diff === null
      ? `<p class="dim">${escapeText(noDiff ?? "Diff left out.")} <code>letta memory show ${escapeText(oid.slice(0, 7))}</code></p>`
      : `<pre class="diff">${renderDiff(diff)}</pre>`,
    `</details>`,
  ].join("");
}

function renderDiff(diff: string): string {
  let isHead = true;
  return diff
    .trimEnd()
    .split("\n")
    .map((line) => {
      if (line.startsWith("diff ")) isHead = true;
      if (line.startsWith("@@")) isHead = false;
      return `<span class="${lineClass(line, isHead)}">${escapeText(line)}</span>`;
    })
    .join("");
}

/** A removed `-- x` also reads `--- x`: what a line is depends on whether its hunk has begun. */
function lineClass(line: string, isHead: boolean): string {
  if (isHead) return line.startsWith("diff ") ? "file" : "at";
  if (line.startsWith("@@")) return "at";
  return line.startsWith("+") ? "add" : line.startsWith("-") ? "remove" : "";
}

/** Fragment of a file: readable for plain names, unambiguous for all. */
function fileId(path: string): string {
  return `f-${path.replace(/[^A-Za-z0-9_-]/g, (char) => `.${char.codePointAt(0)!.toString(16)}.`)}`;
}

/** Text for an element or a quoted attribute; what would be invisible or turn the reading direction is spelled out. */
function escapeText(text: string): string {
  return escapeDeceptive(text.replaceAll("\r\n", "\n")).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

function formatTime(iso: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/.exec(iso);
  return match ? `${match[1]} ${match[2]}` : escapeText(iso);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? "" : `${((part / whole) * 100).toFixed(1)} %`;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
