// `letta permissions explain CALL` and `letta permissions test FILE`: what would happen with a call, and why. Nothing runs.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { describeExplanation, describeReason, type ExplainApp, explainCall } from "@/permissions/explain-text.ts";
import type { PermissionReason } from "@/permissions/types.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, present } from "./output.ts";

export async function runPermissionsExplain(
  app: ExplainApp,
  args: OutputArgs & { call: string },
  io: Io,
): Promise<number> {
  return present(io, args, () => explainCall(app, args.call), { text: describeExplanation });
}

export interface Expectation {
  line: number;
  expected: string;
  call: string;
}

/** Lines `allow|ask|deny CALL`; `#` starts a comment line. `ask!` asks in every mode. Throws `usage` naming the line. */
export function parseExpectations(text: string, file: string): Expectation[] {
  return text.split(/\r?\n/).flatMap((whole, index) => {
    const trimmed = whole.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    const [, expected, call] = /^(allow|ask!?|deny)\s+(\S[\s\S]*)$/.exec(trimmed) ?? [];
    if (expected === undefined || call === undefined)
      throw new LettaError("usage", `${file}:${index + 1}: not an expectation: ${trimmed}`, {
        hint: "A line is allow, ask or deny and a call: `deny cat .env`, `allow Read(src/main.ts)`.",
      });
    return [{ line: index + 1, expected, call }];
  });
}

export interface TestReport {
  file: string;
  passed: number;
  failed: (Expectation & { actual: string; reason: PermissionReason })[];
}

export async function runPermissionsTest(
  app: ExplainApp,
  args: OutputArgs & { file: string },
  io: Io,
): Promise<number> {
  const test = async (): Promise<TestReport> => {
    const report: TestReport = { file: args.file, passed: 0, failed: [] };
    for (const expectation of parseExpectations(await readText(resolve(app.cwd, args.file)), args.file)) {
      const { behavior, always, reason } = await explainCall(app, expectation.call);
      const actual = always ? "ask!" : behavior;
      // Who expects a question need not say how hard it is.
      if (actual === expectation.expected || (actual === "ask!" && expectation.expected === "ask")) report.passed += 1;
      else report.failed.push({ ...expectation, actual, reason });
    }
    return report;
  };
  return present(io, args, test, {
    text: ({ file, passed, failed }) => {
      const lines = failed.map(
        ({ line, expected, actual, call, reason }) =>
          `${file}:${line}: expected ${expected}, got ${actual}: ${escapeDeceptive(call)}\n  ${escapeDeceptive(describeReason(reason))}\n`,
      );
      return `${lines.join("")}${passed} passed, ${failed.length} failed\n`;
    },
    exitCode: ({ failed }) => (failed.length > 0 ? 1 : 0),
  });
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new LettaError("usage", `cannot read ${file}`, { cause: error });
  }
}
