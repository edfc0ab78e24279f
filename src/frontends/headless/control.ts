// The client's control requests. `interrupt` is answered by bidirectional.ts at once; everything else in order.

import * as v from "valibot";
import type { Session } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import type { UsageStatistics } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { describeIssue } from "@/lib/schema-issue.ts";
import { externalTool } from "./external-tools.ts";
import { featureFlags, toolNames } from "./init.ts";
import type { HeadlessOptions } from "./options.ts";
import type { ClientRequests } from "./requests.ts";
import { resumeCommand } from "./result.ts";
import { type ControlRequest, ControlRequestSchema } from "./schema.ts";

/** What control requests may look at and change. */
export interface ControlState {
  readonly app: App;
  readonly options: HeadlessOptions;
  readonly requests: ClientRequests;
  /** Its model changes with `set_model`, for the turns that follow. */
  session: Session;
  /** Of the last model call; null before the first. */
  usage: UsageStatistics | null;
  busy: () => boolean;
}

type Payload = Record<string, unknown>;

/** Throws `usage` for a request that is unknown or malformed; other errors say what went wrong. */
export async function answerControl(state: ControlState, body: { subtype: string }): Promise<Payload> {
  const { app, requests } = state;
  const request = parseControl(body);
  switch (request.subtype) {
    case "initialize":
      return describeSession(state);
    case "interrupt":
      return {};
    case "set_model":
      return setModel(state, request.model);
    case "set_permission_mode":
      app.permissions.setMode(request.mode);
      return { mode: app.permissions.mode };
    case "register_external_tools":
      for (const tool of request.tools) app.tools.register(externalTool(tool, requests));
      return { registered: request.tools.length };
    case "bootstrap_session_state":
      return bootstrap(state, request);
    case "list_messages":
      return listMessages(app, refOf(state.session, request), request);
    case "recover_pending_approvals":
      return recoverApprovals(state, request);
    case "get_context_usage":
      return contextUsage(state);
  }
}

function parseControl(body: { subtype: string }): ControlRequest {
  const known = ControlRequestSchema.options.map((option) => option.entries.subtype.literal);
  if (!known.some((subtype) => subtype === body.subtype)) {
    throw new LettaError("usage", `Unknown control request subtype: ${body.subtype}`);
  }
  const parsed = v.safeParse(ControlRequestSchema, body);
  if (parsed.success) return parsed.output;
  throw new LettaError("usage", `Invalid ${body.subtype} request: ${describeIssue(parsed.issues[0])}`);
}

function describeSession({ app, options, session }: ControlState): Payload {
  return {
    agent_id: session.agent.id,
    conversation_id: session.conversation.id,
    model: session.model,
    tools: toolNames(app, session, options).names,
    ...featureFlags(app, session, options),
    permission_mode: app.permissions.mode,
    resume_command: resumeCommand(session),
  };
}

async function setModel(state: ControlState, handle: string): Promise<Payload> {
  const record = await state.app.models.resolveModel(handle);
  const { session } = state;
  state.session = { ...session, model: record.handle, modelSource: "flag", modelOverride: record.handle };
  return { model: record.handle };
}

async function bootstrap(
  { app, options, session }: ControlState,
  request: Extract<ControlRequest, { subtype: "bootstrap_session_state" }>,
): Promise<Payload> {
  const startedAt = performance.now();
  const ref = refOf(session, {});
  const [page, tail] = await Promise.all([listMessages(app, ref, request), app.backend.resumeTail(ref, 1)]);
  const elapsedMs = Math.round(performance.now() - startedAt);
  return {
    agent_id: ref.agentId,
    conversation_id: ref.conversationId,
    model: session.model,
    tools: toolNames(app, session, options).names,
    memfs_enabled: featureFlags(app, session, options).memfs_enabled,
    ...page,
    has_pending_approval: tail.pendingToolCallIds.length > 0,
    timings: { resolve_ms: 0, list_messages_ms: elapsedMs, total_ms: elapsedMs },
  };
}

async function listMessages(
  app: App,
  ref: ConversationRef,
  {
    before,
    after,
    order,
    limit,
  }: { before?: string | null; after?: string | null; order?: "asc" | "desc" | null; limit?: number | null },
): Promise<Payload> {
  const { items, nextCursor } = await app.backend.listMessages(ref, {
    ...(before && { before }),
    ...(after && { after }),
    order: order ?? "desc",
    limit: limit ?? 50,
  });
  return { messages: items, next_before: nextCursor, has_more: nextCursor !== null };
}

/** Calls a killed process left open are closed without asking a model. */
async function recoverApprovals(
  { app, session, busy }: ControlState,
  request: Extract<ControlRequest, { subtype: "recover_pending_approvals" }>,
): Promise<Payload> {
  if (request.agent_id && request.agent_id !== session.agent.id) {
    throw new LettaError("usage", `this process works with agent ${session.agent.id}`);
  }
  const ref = refOf(session, request);
  if (busy()) throw new LettaError("busy", "A turn is running; its approvals are not stale.");
  const { pendingToolCallIds } = await app.backend.resumeTail(ref, 1);
  if (pendingToolCallIds.length > 0) await app.backend.cancelConversation(ref);
  return { recovered: true, pending_approval: false, approvals_processed: pendingToolCallIds.length };
}

async function contextUsage({ app, session, usage }: ControlState): Promise<Payload> {
  const model = session.model ? await app.models.resolveModel(session.model) : null;
  const window = session.agent.context_window_limit ?? model?.max_context_window ?? null;
  const tokens = usage?.context_tokens ?? null;
  return {
    model: session.model,
    context_tokens: tokens,
    context_window: window,
    percent: tokens !== null && window ? Math.round((tokens / window) * 1000) / 10 : null,
  };
}

function refOf(
  session: Session,
  { agent_id, conversation_id }: { agent_id?: string | null; conversation_id?: string | null },
): ConversationRef {
  return { agentId: agent_id ?? session.agent.id, conversationId: conversation_id ?? session.conversation.id };
}
