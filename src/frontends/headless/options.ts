// What `letta -p` was asked to do, after all flags were checked.

import type { Selection } from "@/agent/resolve.ts";
import type { TurnLimits } from "@/engine/events.ts";

export interface HeadlessOptions {
  selection: Selection;
  outputFormat: "text" | "json" | "stream-json";
  /** `--input-format stream-json`: JSON lines in both directions; output is stream-json. */
  bidirectional: boolean;
  /** Streamed pieces as `stream_event` lines. */
  partialMessages: boolean;
  /** From the command line; "" when it comes from stdin or `promptFile`. */
  prompt: string;
  promptFile?: string;
  /** Attached files, as given. */
  files: string[];
  /** `auto` leaves a silent pipe, `wait` reads to its end, `never` does not look. */
  stdin: "auto" | "wait" | "never";
  dryRun: boolean;
  systemInfoReminder: boolean;
  /** Ids of skills whose texts go with the first message. */
  preLoadSkills: readonly string[];
  limits: TurnLimits;
}
