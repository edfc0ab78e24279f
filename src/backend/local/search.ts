// Search over messages. A trigram index finds any piece of three characters or more (Chinese words, `Foo::bar`,
// `--no-verify`, half an identifier); shorter terms are scanned for, which at 1 ms per MB of text is fast enough.
// Indexing costs far more than that (0.2 ms per KB), so it never happens in a turn: a search takes waiting rows into the
// index for a moment and scans the rest, so its answer is always complete. What the user types is never query syntax.

import { conversationKey, type SearchQuery } from "@/backend/backend.ts";
import type { SearchHit } from "@/backend/wire.ts";
import { codeOf } from "@/lib/errors.ts";
import { relaxed } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";
import { likePattern } from "./like.ts";

const MIN_TRIGRAM_CHARS = 3;
const MAX_TERMS = 32;
const MAX_TERM_CHARS = 200;
const INDEX_BATCH = 50;
/** Time one search spends on indexing. */
const INDEX_BUDGET_MS = 150;
const SNIPPET_CHARS = 80;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

export function searchMessages(context: LocalContext, query: SearchQuery): SearchHit[] {
  const terms = splitTerms(query.query);
  if (terms.length === 0) return [];
  indexWaiting(context);
  const scope = scopeOf(query);
  const limit = query.limit ?? 10;
  const exact = run(context, { scope, terms, need: "all", limit });
  if (exact.length > 0) return exact;
  // One or two letters are in every text; only whole words of other scripts are that short.
  const pieces = terms.flatMap(splitCjk).filter((term) => [...term].length >= MIN_TRIGRAM_CHARS || CJK.test(term));
  return pieces.length > 1 ? run(context, { scope, terms: pieces, need: "any", limit }) : [];
}

/** Words, and phrases in double quotes. */
function splitTerms(text: string): string[] {
  const terms = [...text.matchAll(/"([^"]+)"|(\S+)/g)].map((match) =>
    (match[1] ?? match[2] ?? "").replaceAll("\0", "").trim().slice(0, MAX_TERM_CHARS),
  );
  return [...new Set(terms.filter((term) => term.replaceAll('"', "") !== ""))].slice(0, MAX_TERMS);
}

/** A sentence without spaces is rarely found as a whole: its overlapping triples are looked for instead. */
function splitCjk(term: string): string[] {
  const chars = [...term];
  if (chars.length <= MIN_TRIGRAM_CHARS || !CJK.test(term)) return [term];
  return chars.slice(0, -2).map((_, index) => chars.slice(index, index + MIN_TRIGRAM_CHARS).join(""));
}

interface Found {
  seq: number;
  score: number;
}

/** One try at a query. */
interface Wanted {
  scope: Scope;
  terms: string[];
  need: "all" | "any";
  limit: number;
}

function run(context: LocalContext, wanted: Wanted): SearchHit[] {
  const found = [...findIndexed(context, wanted), ...scan(context, wanted, 0)];
  found.sort((a, b) => b.score - a.score || b.seq - a.seq);
  return found.slice(0, wanted.limit).map((hit) => loadHit(context, hit, wanted.terms));
}

function findIndexed(context: LocalContext, wanted: Wanted): Found[] {
  const { scope, terms, need, limit } = wanted;
  const long = terms.filter((term) => [...term].length >= MIN_TRIGRAM_CHARS);
  if (long.length === 0) return scan(context, wanted, 1);
  const match = long.map((term) => `"${term.replaceAll('"', '""')}"`).join(need === "all" ? " AND " : " OR ");
  const short = need === "all" ? terms.filter((term) => !long.includes(term)) : [];
  const sql = `SELECT t.seq AS seq, -bm25(messages_fts) AS score
    FROM messages_fts JOIN message_texts t ON t.seq = messages_fts.rowid ${scope.joins}
    WHERE messages_fts MATCH ? ${short.map(() => "AND t.text LIKE ? ESCAPE '\\'").join(" ")} ${scope.where}
    ORDER BY bm25(messages_fts), t.seq DESC LIMIT ?`;
  return context.db.query(sql).all(match, ...short.map(likePattern), ...scope.values, limit) as Found[];
}

/** Without the index, for rows that wait for it (0) or terms too short for it (1): every text is looked at, newest first;
 *  how many of the terms are in it is the score. */
function scan(context: LocalContext, { scope, terms, need, limit }: Wanted, indexed: 0 | 1): Found[] {
  const has = terms.map(() => "t.text LIKE ? ESCAPE '\\'");
  const patterns = terms.map(likePattern);
  const sql = `SELECT t.seq AS seq, ${has.map((one) => `(${one})`).join(" + ")} AS score
    FROM message_texts t ${scope.joins}
    WHERE t.indexed = ${indexed} AND (${has.join(need === "all" ? " AND " : " OR ")}) ${scope.where}
    ORDER BY score DESC, t.seq DESC LIMIT ?`;
  return context.db.query(sql).all(...patterns, ...patterns, ...scope.values, limit) as Found[];
}

interface Scope {
  joins: string;
  where: string;
  values: string[];
}

function scopeOf(query: SearchQuery): Scope {
  const conditions: string[] = [];
  const values: string[] = [];
  const where = (sql: string, value: string): void => {
    conditions.push(sql);
    values.push(value);
  };
  if (query.conversationId !== undefined) {
    const { agentId = "", conversationId } = query;
    where("t.conversation_key = ?", conversationKey({ agentId, conversationId }));
  } else if (query.agentId !== undefined) where("c.agent_id = ?", query.agentId);
  if (query.startDate) where("m.created_at >= ?", query.startDate);
  if (query.endDate) where("m.created_at <= ?", endOf(query.endDate));
  if (!query.includeHidden) conditions.push("c.hidden = 0");
  return {
    joins: "JOIN messages m ON m.seq = t.seq JOIN conversations c ON c.key = t.conversation_key",
    where: conditions.map((condition) => `AND ${condition}`).join(" "),
    values,
  };
}

/** A bare date means the whole day. */
function endOf(date: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(date) ? `${date}T23:59:59.999Z` : date;
}

function loadHit(context: LocalContext, found: Found, terms: string[]): SearchHit {
  const row = context.db
    .query(
      `SELECT m.id AS message_id, c.agent_id, c.id AS conversation_id, m.created_at, t.role, t.text AS content
       FROM message_texts t JOIN messages m ON m.seq = t.seq JOIN conversations c ON c.key = t.conversation_key
       WHERE t.seq = ?`,
    )
    .get(found.seq) as Omit<SearchHit, "snippet" | "score">;
  return { ...row, snippet: snippetOf(row.content, terms), score: found.score };
}

function snippetOf(text: string, terms: string[]): string {
  const lower = text.toLowerCase();
  const positions = terms.map((term) => lower.indexOf(term.toLowerCase())).filter((position) => position >= 0);
  const at = positions.length > 0 ? Math.min(...positions) : 0;
  const start = Math.max(0, at - SNIPPET_CHARS);
  const end = Math.min(text.length, at + SNIPPET_CHARS);
  const piece = text.slice(start, end).replace(/\s+/g, " ").trim();
  return `${start > 0 ? "…" : ""}${piece}${end < text.length ? "…" : ""}`;
}

function indexWaiting(context: LocalContext): void {
  const until = performance.now() + INDEX_BUDGET_MS;
  try {
    while (performance.now() < until) {
      const { changes } = relaxed(context.db, () =>
        context.db
          .query(
            `UPDATE message_texts SET indexed = 1
             WHERE seq IN (SELECT seq FROM message_texts WHERE indexed = 0 ORDER BY seq LIMIT ${INDEX_BATCH})`,
          )
          .run(),
      );
      if (changes === 0) return;
    }
  } catch (error) {
    // A read-only or full disk: everything not indexed is scanned.
    if (codeOf(error) !== "storage") throw error;
  }
}
