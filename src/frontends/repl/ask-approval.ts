// Asks the person: prints what it is about, waits for the answer, and makes a Decision of it.

import type { Decision } from "@/engine/events.ts";
import { type ApprovalRequest, approvalBlock, approvalChoice, decisionLine, toDecision } from "./approval.ts";
import { answerText, parseQuestions, type Question, questionBlock, questionChoice } from "./question.ts";
import { SYMBOLS } from "./theme.ts";
import type { Ui } from "./ui.ts";

export interface AskOptions {
  ui: Ui;
  cwd: string;
  /** Aborts when the turn ended without an answer. */
  signal: AbortSignal;
  print(lines: string[], block: "question" | "answer"): void;
}

/** Null when the turn ended meanwhile. */
export async function askApproval(request: ApprovalRequest, options: AskOptions): Promise<Decision | null> {
  const { ui, signal } = options;
  ui.bell();
  const questions = parseQuestions(request.call.args);
  const decision = questions ? await askQuestions(request, questions, options) : await askPermission(request, options);
  return signal.aborted ? null : decision;
}

async function askPermission(request: ApprovalRequest, { ui, cwd, signal, print }: AskOptions): Promise<Decision> {
  print(approvalBlock(request, { theme: ui.theme, columns: ui.columns(), cwd }), "question");
  const decision = toDecision(request, await ui.choose(approvalChoice(request), signal));
  if (!signal.aborted) print([decisionLine(decision, ui.theme)], "answer");
  return decision;
}

async function askQuestions(
  request: ApprovalRequest,
  questions: Question[],
  { ui, signal, print }: AskOptions,
): Promise<Decision> {
  const answers: Record<string, string> = {};
  for (const question of questions) {
    print(questionBlock(question, ui.theme, ui.columns()), "question");
    const answer = await ui.choose(questionChoice(question), signal);
    if (!answer) return toDecision(request, null);
    const text = answerText(answer);
    answers[question.question] = text || "(no answer)";
    print([`  ${ui.theme.dim(SYMBOLS.result)} ${ui.theme.dim(text || "(no answer)")}`], "answer");
  }
  return { behavior: "allow", updatedArgs: { ...request.call.args, answers } };
}
