// What a hook said. Exit codes are the short form (0 fine, 2 block with stderr as the reason), a JSON object on stdout
// the long one. JSON that is broken or of the wrong shape decides nothing: it neither allows nor blocks.

import * as v from "valibot";
import { isDeeperThan, isRecord, parseJson } from "@/lib/json.ts";
import { describeIssue } from "@/lib/schema-issue.ts";

export interface HookAnswer {
  decision: "allow" | "deny" | "ask" | null;
  reason: string | null;
  /** Merged over the arguments of the call. */
  updatedInput: Record<string, unknown> | null;
  /** For the model. */
  additionalContext: string | null;
  /** False: the turn ends here. */
  continues: boolean;
}

/** `text` is what was printed when it is no answer in JSON; `problem` says why a JSON answer could not be used. */
export interface ReadAnswer {
  answer: HookAnswer;
  text: string;
  problem: string | null;
}

export const NO_ANSWER: Readonly<HookAnswer> = {
  decision: null,
  reason: null,
  updatedInput: null,
  additionalContext: null,
  continues: true,
};

/** Copying and writing a value recurses. */
const MAX_DEPTH = 100;

const DecisionSchema = v.picklist(["allow", "approve", "deny", "block", "ask"]);
const InputSchema = v.custom<Record<string, unknown>>(isRecord, "must be an object");
const AnswerSchema = v.looseObject({
  decision: v.optional(DecisionSchema),
  reason: v.optional(v.string()),
  updatedInput: v.optional(InputSchema),
  additionalContext: v.optional(v.string()),
  continue: v.optional(v.boolean()),
  stopReason: v.optional(v.string()),
  /** The form of older hooks; beaten by the fields above. */
  hookSpecificOutput: v.optional(
    v.looseObject({
      permissionDecision: v.optional(DecisionSchema),
      permissionDecisionReason: v.optional(v.string()),
      updatedInput: v.optional(InputSchema),
      additionalContext: v.optional(v.string()),
    }),
  ),
});

export function readAnswer(stdout: string): ReadAnswer {
  const text = stdout.trim();
  if (!text.startsWith("{")) return { answer: NO_ANSWER, text, problem: null };
  const json = parseJson(text);
  if (json === undefined || isDeeperThan(MAX_DEPTH, json)) {
    return { answer: NO_ANSWER, text, problem: "what it printed looks like JSON and is not" };
  }
  const parsed = v.safeParse(AnswerSchema, json);
  if (!parsed.success) {
    return { answer: NO_ANSWER, text: "", problem: `its answer cannot be used: ${describeIssue(parsed.issues[0])}` };
  }
  const known = Object.keys(AnswerSchema.entries).some((key) => parsed.output[key] !== undefined);
  // JSON that answers nothing is text like any other.
  if (!known) return { answer: NO_ANSWER, text, problem: null };
  const { hookSpecificOutput: older = {}, ...answer } = parsed.output;
  return {
    answer: {
      decision: toDecision(answer.decision ?? older.permissionDecision),
      reason: answer.reason ?? older.permissionDecisionReason ?? answer.stopReason ?? null,
      updatedInput: answer.updatedInput ?? older.updatedInput ?? null,
      additionalContext: answer.additionalContext ?? older.additionalContext ?? null,
      continues: answer.continue ?? true,
    },
    text: "",
    problem: null,
  };
}

function toDecision(word: v.InferOutput<typeof DecisionSchema> | undefined): HookAnswer["decision"] {
  if (word === "approve") return "allow";
  if (word === "block") return "deny";
  return word ?? null;
}
