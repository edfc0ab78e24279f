// Tool arguments come from a model: checked strictly, repaired in the ways models get harmless things wrong (a number or
// boolean sent as text, a number for an id, null for "not given"), and refused with a message the model can act on.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";

export function parseArguments<Schema extends v.GenericSchema>(
  tool: string,
  schema: Schema,
  args: unknown,
): v.InferOutput<Schema> {
  if (args !== undefined && args !== null && (typeof args !== "object" || Array.isArray(args))) {
    throw new ToolError(`${tool}: arguments must be a JSON object.`);
  }
  const given = args ?? {};
  const first = v.safeParse(schema, given);
  if (first.success) return first.output;
  const second = v.safeParse(schema, repair(given, first.issues));
  if (second.success) return second.output;
  throw new ToolError(describe(tool, schema, given, second.issues));
}

function repair(args: object, issues: readonly v.BaseIssue<unknown>[]): unknown {
  const copy: unknown = structuredClone(args);
  for (const issue of issues) {
    const keys = (issue.path ?? []).map((item) => item.key as string | number);
    const last = keys.pop();
    if (last === undefined) continue;
    const holder = keys.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), copy);
    if (!isRecord(holder)) continue;
    if (issue.input === null) delete holder[last];
    else if (typeof issue.input === "number" && issue.expected === "string") holder[last] = String(issue.input);
    else if (typeof issue.input === "string") holder[last] = fromText(issue.input.trim(), issue.expected);
  }
  return copy;
}

function fromText(text: string, expected: string | null): unknown {
  if (expected === "number" && text !== "" && Number.isFinite(Number(text))) return Number(text);
  if (expected === "boolean" && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return text;
}

function describe(
  tool: string,
  schema: v.GenericSchema,
  args: object,
  issues: readonly v.BaseIssue<unknown>[],
): string {
  const received = Object.keys(args);
  const lines = issues.map((issue) => `${tool}: ${describeIssue(schema, issue)}`);
  const missing = issues.some((issue) => isMissing(issue) && issue.path?.length === 1);
  if (missing && received.length === 0) {
    lines.push("No arguments arrived: they were probably lost in transit. Do not resend an identical call.");
  } else if (missing) {
    lines.push(`Received: ${received.join(", ")}.`);
  }
  return lines.join("\n");
}

function describeIssue(schema: v.GenericSchema, issue: v.BaseIssue<unknown>): string {
  const path = (issue.path ?? []).map((item) => String(item.key)).join(".");
  if (isMissing(issue)) return `missing required argument "${path}".`;
  if (issue.expected === "never") {
    const valid = entriesAt(schema, issue.path ?? []);
    const nearest = findNearest(path.split(".").at(-1) ?? path, valid);
    const hint = nearest ? ` Did you mean "${nearest}"?` : "";
    return `unknown argument "${path}".${hint} Valid: ${valid.join(", ")}.`;
  }
  return `argument "${path}": ${issue.message}.`;
}

function isMissing(issue: v.BaseIssue<unknown>): boolean {
  return issue.input === undefined && issue.expected !== "never";
}

/** The keys an object schema takes at the place an unknown key was found. */
function entriesAt(schema: v.GenericSchema, path: readonly { key: unknown }[]): string[] {
  let current: unknown = schema;
  for (const { key } of path.slice(0, -1)) {
    const inner = unwrap(current);
    if (isRecord(inner) && isRecord(inner.entries)) current = inner.entries[String(key)];
    else if (isRecord(inner) && inner.type === "array") current = inner.item;
  }
  const last = unwrap(current);
  return isRecord(last) && isRecord(last.entries) ? Object.keys(last.entries) : [];
}

function unwrap(schema: unknown): unknown {
  return isRecord(schema) && "wrapped" in schema ? unwrap(schema.wrapped) : schema;
}

function isRecord(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}
