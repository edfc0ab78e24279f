// Text on its way into a program that runs: what it says together with the text before it, for whoever decides about it.

import type { PermissionTarget } from "@/permissions/types.ts";
import type { ExecSession } from "./exec-sessions.ts";
import type { ToolServices } from "./services.ts";

/** Nothing, or keys that interrupt (Ctrl-C, Ctrl-\) and end the input (Ctrl-D): that asks nobody. */
const HARMLESS = /^[\x03\x04\x1c]*/;
/** Keys that edit the line or fetch an earlier one, and what bash's history expansion makes something else of. */
const RESHAPING = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\S[^\n]*\t|(?:^|\n)\s*\^|![^\s=(]/;
/** A longer line is no longer known in full. */
const MAX_LINE_CHARS = 8_192;
const UNKNOWN = "\x18";

/** The shell of a session, or another program there, may run it. Null: it asks nobody. */
export function typedTarget(
  tool: string,
  chars: string,
  session: Pick<ExecSession, "openLine" | "cwd" | "confined"> | undefined,
  { cwd, services }: { cwd: string; services: Pick<ToolServices, "sandbox"> },
): PermissionTarget | null {
  if (chars.replace(HARMLESS, "") === "") return null;
  const line = `${session?.openLine ?? ""}${chars}`.replace(HARMLESS, "").replace(/\r\n?/g, "\n");
  const leaves = session !== undefined && !session.confined && services.sandbox.status.profile !== "off";
  return {
    kind: "shell",
    command: line.replace(/\n$/, ""),
    cwd: session?.cwd ?? cwd,
    ...(leaves && { unconfined: true }),
    typed: { tool, reshaped: RESHAPING.test(line) },
  };
}

/** What is open after more was typed. A backslash before Enter continues the line. */
export function continueLine(before: string, typed: string): string {
  const all = before + typed;
  const open = /^(?:[\s\S]*[^\\])?[\r\n]([\s\S]*)$/.exec(all)?.[1] ?? all;
  return open.length > MAX_LINE_CHARS ? UNKNOWN + open.slice(-MAX_LINE_CHARS) : open;
}
