// `can_use_tool`: an approval of the engine as a request to the client, and its reply as a decision.

import * as v from "valibot";
import type { App } from "@/app.ts";
import type { Decision, EngineEvent } from "@/engine/events.ts";
import { pathInside } from "@/lib/path-inside.ts";
import type { FileDiff } from "@/tools/define-tool.ts";
import type { ClientRequests, Reply } from "./requests.ts";
import { type ClientRequest, PermissionReplySchema } from "./schema.ts";

type Question = Extract<EngineEvent, { type: "approval_requested" }>;

/** Always decides: no answer, a wrong answer and a closed client deny. */
export async function askClient(
  app: Pick<App, "tools" | "services" | "cwd">,
  requests: ClientRequests,
  question: Question,
  signal: AbortSignal,
): Promise<Decision> {
  const reply = await requests.ask(`perm-${question.call.toolCallId}`, toRequest(app, question), { signal });
  return toDecision(reply);
}

export function toDecision(reply: Reply): Decision {
  if (reply.status === "failed") return { behavior: "deny", reason: reply.reason };
  const parsed = v.safeParse(PermissionReplySchema, reply.response.response);
  if (!parsed.success) return { behavior: "deny", reason: "Invalid response format" };
  const answer = parsed.output;
  if (answer.behavior === "deny") {
    return {
      behavior: "deny",
      ...(answer.message && { reason: answer.message }),
      ...(answer.interrupt && { interrupt: true }),
    };
  }
  return {
    behavior: "allow",
    ...(answer.updatedInput && { updatedArgs: answer.updatedInput }),
    ...(answer.updatedPermissions?.length && { addRules: answer.updatedPermissions }),
    ...(answer.message && { comment: answer.message }),
  };
}

function toRequest(app: Pick<App, "tools" | "services" | "cwd">, question: Question): ClientRequest {
  const { call, reason, suggestions, diffs } = question;
  return {
    subtype: "can_use_tool",
    tool_name: call.tool,
    input: call.args,
    tool_call_id: call.toolCallId,
    reason: reason.detail,
    permission_suggestions: suggestions.map(({ rule, scope, description }) => ({ rule, scope, description })),
    blocked_path: findBlockedPath(app, question),
    ...(diffs.length > 0 && { diffs: diffs.map(toWireDiff) }),
  };
}

/** The file outside the workspace that made the question necessary. */
function findBlockedPath(app: Pick<App, "tools" | "services" | "cwd">, { call }: Question): string | null {
  const tool = app.tools.find(call.tool);
  if (!tool) return null;
  try {
    const targets = tool.targets(tool.parse(call.args), { cwd: app.cwd, services: app.services });
    for (const target of targets) {
      if (target.kind !== "file") continue;
      if (pathInside(app.cwd, target.path) === null) return target.path;
    }
  } catch {
    // Arguments the tool itself refuses have no path.
  }
  return null;
}

function toWireDiff({ path, hunks, note }: FileDiff) {
  if (hunks.length === 0) return { mode: "unpreviewable" as const, fileName: path, reason: note ?? "no change" };
  return { mode: "advanced" as const, fileName: path, hunks };
}
