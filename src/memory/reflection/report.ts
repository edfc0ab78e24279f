// The dreamer's last message → the words of the commit.

import { clip, takeHead } from "@/lib/text.ts";

export interface DreamReport {
  type: "fix" | "feat" | "chore";
  /** One line. */
  subject: string;
  /** The rest of the report, within limits. */
  body: string;
}

const SUBJECT_CHARS = 50;
const BODY_CHARS = 4_000;

export function parseReport(text: string | null): DreamReport {
  const lines = (text ?? "").split("\n").map((line) => line.replace(/\s+$/, ""));
  const at = lines.findIndex((line) => FIRST_LINE.test(line));
  const match = at === -1 ? null : FIRST_LINE.exec(lines[at]!);
  const rest = lines.filter((line, index) => index > at && !/^\s*```/.test(line)).join("\n");
  return {
    type: (match?.[1] as DreamReport["type"] | undefined) ?? "chore",
    subject: clip(oneLine(match?.[2] ?? "update memory"), SUBJECT_CHARS).replace(/\.$/, ""),
    body: takeHead(rest.trim(), BODY_CHARS),
  };
}

const FIRST_LINE = /^[\s>*#`-]*(fix|feat|chore)(?:\(reflection\))?\s*:\s*(.*\S)/;

export interface CommitFacts {
  dreamId: string;
  parentAgentId: string;
  /** What was looked back on, one line each. */
  reviewed: string[];
  /** What was dropped or squashed, one line each. */
  notes: string[];
}

export function commitMessage({ type, subject, body }: DreamReport, facts: CommitFacts): string {
  const sections = [
    `${type}(reflection): ${subject} 🔮`,
    facts.reviewed.map((line) => `Reviewed: ${line}`).join("\n"),
    // A line that looks like a trailer of ours is quoted.
    body.replace(/^(?=(?:Generated-By|Agent-ID|Parent-Agent-ID|Reflection-ID):)/gm, "> "),
    facts.notes.map((note) => `Note: ${note}`).join("\n"),
    ["Generated-By: Letta Code", `Parent-Agent-ID: ${facts.parentAgentId}`, `Reflection-ID: ${facts.dreamId}`].join(
      "\n",
    ),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

/** `merge(reflection): …` from the message of what is merged. */
export function mergeMessage(tipMessage: string, facts: Pick<CommitFacts, "dreamId" | "parentAgentId">): string {
  const first = tipMessage.split("\n", 1)[0] ?? "";
  const subject = first.replace(/^[a-z]+(?:\([^)]*\))?!?:\s*/i, "").trim() || "reflection memory updates";
  return [
    `merge(reflection): ${subject}`,
    "",
    `Generated-By: Letta Code\nParent-Agent-ID: ${facts.parentAgentId}\nReflection-ID: ${facts.dreamId}\n`,
  ].join("\n");
}

function oneLine(text: string): string {
  return text
    .replace(/🔮/gu, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .replace(/[`*]+$/, "")
    .trim();
}
