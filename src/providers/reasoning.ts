// Which reasoning level a request asks for. Settings come from three generations of clients (spec 02 §3.5).

import { isRecord } from "@/lib/json.ts";

const LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type ReasoningLevel = (typeof LEVELS)[number];

/** Undefined: nobody chose. `thinking.type: "disabled"` wins, then `reasoning.reasoning_effort` ▸ `effort` ▸
 *  `reasoning_effort`. */
export function reasoningLevel(settings: Record<string, unknown>): ReasoningLevel | undefined {
  if (field(settings.thinking, "type") === "disabled") return "none";
  const candidates = [field(settings.reasoning, "reasoning_effort"), settings.effort, settings.reasoning_effort];
  return candidates.map(parseLevel).find((level) => level !== undefined);
}

function parseLevel(value: unknown): ReasoningLevel | undefined {
  if (value === "off" || value === "disabled") return "none";
  return LEVELS.find((level) => level === value);
}

function field(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}
