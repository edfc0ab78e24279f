// What a dream reads: rows as records of the trajectory format other tools of the family read and write. Everything is
// within limits and free of secrets before it is written.

import type { ConversationRef } from "@/backend/backend.ts";
import { isRecord, parseJson } from "@/lib/json.ts";
import { cutMiddle, takeHead } from "@/lib/text.ts";
import { ARGS_CHARS, RESULT_CHARS, TEXT_CHARS } from "./limits.ts";
import type { Slice, TranscriptRow } from "./transcript.ts";

export type TrajectoryRecord =
  | { role: "meta"; source: "letta-code"; agent_id?: string; conversation_id?: string }
  | { role: "user"; content: string; timestamp: string }
  | { role: "assistant"; content: string; interrupted?: true }
  | { role: "assistant"; tool_calls: { id: string; name: string; args: string }[] }
  | { role: "tool"; tool_call_id: string; content: string }
  | { role: "reasoning"; content: string };

/** Takes secrets out of text. */
export type Redact = (text: string) => string;

/** A JSON array, one record per line, so that a shell can look at parts of it. */
export function renderPayload(rows: readonly TranscriptRow[], ref: ConversationRef, redact: Redact): string {
  const meta = {
    role: "meta",
    source: "letta-code",
    agent_id: ref.agentId,
    conversation_id: ref.conversationId,
  } as const;
  const records: TrajectoryRecord[] = [meta, ...rows.flatMap((row) => toRecords(row, redact))];
  return `[\n${records.map((record) => JSON.stringify(record)).join(",\n")}\n]\n`;
}

export function toRecords(row: TranscriptRow, redact: Redact): TrajectoryRecord[] {
  switch (row.kind) {
    case "user":
      return [{ role: "user", content: clipText(redact(row.text)), timestamp: row.at }];
    case "assistant": {
      const content = clipText(redact(row.text));
      return [{ role: "assistant", content, ...(row.interrupted && { interrupted: true }) }];
    }
    case "reasoning":
      return [{ role: "reasoning", content: clipText(redact(row.text)) }];
    case "tool_call": {
      const args = clipArgs(redact(row.argsText));
      const call: TrajectoryRecord = { role: "assistant", tool_calls: [{ id: row.id, name: row.name, args }] };
      if (row.resultText === null) return [call];
      const content = clipMiddle(redact(row.resultText), RESULT_CHARS);
      return [call, { role: "tool", tool_call_id: row.id, content: row.resultOk ? content : `[error] ${content}` }];
    }
    case "error":
      return [];
  }
}

/** Characters a row takes in the payload, roughly. */
export function rowCost(row: TranscriptRow): number {
  const OVERHEAD = 40;
  if (row.kind === "error") return 0;
  if (row.kind !== "tool_call") return OVERHEAD + Math.min(row.text.length, TEXT_CHARS);
  return 2 * OVERHEAD + Math.min(row.argsText.length, ARGS_CHARS) + Math.min(row.resultText?.length ?? 0, RESULT_CHARS);
}

/** JSON of at most that many characters. Long strings lose their ends first, then members go, from the last. */
export function clipArgs(argsText: string, maxChars = ARGS_CHARS): string {
  const value = parseJson(argsText);
  if (value === undefined) return fitString(argsText, maxChars, (text) => JSON.stringify({ _raw: text }));
  const whole = JSON.stringify(value);
  if (whole.length <= maxChars) return whole;
  for (const length of [160, 80, 40, 20]) {
    const shorter = JSON.stringify(shortenStrings(value, length, 6));
    if (shorter.length <= maxChars) return shorter;
  }
  if (isRecord(value)) {
    const entries = Object.entries(shortenStrings(value, 20, 2) as object);
    for (let kept = entries.length - 1; kept > 0; kept -= 1) {
      const fewer = JSON.stringify({ ...Object.fromEntries(entries.slice(0, kept)), _omitted: entries.length - kept });
      if (fewer.length <= maxChars) return fewer;
    }
  }
  return fitString(whole, maxChars, (text) => JSON.stringify({ _clipped: text }));
}

/** The longest head of the text whose rendering fits. */
function fitString(text: string, maxChars: number, render: (text: string) => string): string {
  let [low, high] = [0, Math.min(text.length, maxChars)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (render(takeHead(text, middle)).length <= maxChars) low = middle;
    else high = middle - 1;
  }
  return render(takeHead(text, low));
}

function shortenStrings(value: unknown, length: number, depth: number): unknown {
  if (typeof value === "string") return value.length > length ? `${takeHead(value, length)}…` : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "…";
  if (Array.isArray(value)) {
    const items = value.slice(0, 8).map((item) => shortenStrings(item, length, depth - 1));
    return value.length > 8 ? [...items, `… ${value.length - 8} more`] : items;
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortenStrings(item, length, depth - 1)]));
}

function clipText(text: string): string {
  return clipMiddle(text, TEXT_CHARS);
}

/** Beginning and end, together with the note in between at most that many characters. */
function clipMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const NOTE_CHARS = 40;
  const tail = Math.floor((maxChars - NOTE_CHARS) / 3);
  const head = maxChars - NOTE_CHARS - tail;
  return cutMiddle(text, { head, tail, note: (omitted) => `[… ${omitted} characters left out …]` });
}

export interface ManifestEntry {
  slice: Slice;
  payloadPath: string;
  /** Why it was chosen, and its rank. */
  reason?: string;
  priority?: number;
}

export interface ManifestOptions {
  agentId: string;
  createdAt: string;
  instruction?: string;
  selectionPolicy: string;
  entries: ManifestEntry[];
}

/** Several conversations at once: where the payload of each lies, and which part it is. */
export function renderManifest({ agentId, createdAt, instruction, selectionPolicy, entries }: ManifestOptions): string {
  const manifest = {
    schema_version: 1,
    type: "multi_transcript_reflection_payload",
    agent_id: agentId,
    created_at: createdAt,
    ...(instruction && { user_instruction: instruction }),
    selection_policy: selectionPolicy,
    transcripts: entries.map(({ slice, payloadPath, reason, priority }) => ({
      conversation_id: slice.conversationId,
      mode: slice.mode,
      payload_path: payloadPath,
      ...(reason !== undefined && { selection_reason: reason }),
      ...(priority !== undefined && { selection_priority: priority }),
      start_message_id: slice.startMessageId,
      end_message_id: slice.endMessageId,
      start_line: 1,
      end_line: slice.rows.length,
      end_snapshot_line: slice.rows.length,
      completed_turns: slice.turns,
      approx_chars: slice.rows.reduce((total, row) => total + rowCost(row), 0),
      last_updated_at: slice.lastAt,
    })),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
