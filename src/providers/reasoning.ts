// Which reasoning level a request asks for. Settings come from three generations of clients (spec 02 §3.5).

import type { ModelRequest, ReasoningLevel } from "@/backend/model.ts";

const LEVELS: readonly ReasoningLevel[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Undefined: nobody chose. The request's own level wins, then `thinking.type: "disabled"`, then
 *  `reasoning.reasoning_effort` ▸ `effort` ▸ `reasoning_effort`. */
export function reasoningLevel(request: Pick<ModelRequest, "reasoning" | "settings">): ReasoningLevel | undefined {
  if (request.reasoning !== undefined) return request.reasoning;
  const settings = request.settings ?? {};
  if (field(settings.thinking, "type") === "disabled") return "none";
  const candidates = [field(settings.reasoning, "reasoning_effort"), settings.effort, settings.reasoning_effort];
  return candidates.map(parseLevel).find((level) => level !== undefined);
}

function parseLevel(value: unknown): ReasoningLevel | undefined {
  if (value === "off" || value === "disabled") return "none";
  return LEVELS.find((level) => level === value);
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
