// What one request is made with: the agent's settings, overlaid by the conversation's, overlaid by the request's.

import { estimateTokens, type ModelAdapter, type ModelTool, noProviderError, ProviderError } from "@/backend/model.ts";
import type { AgentState, ModelSettings, SendBody } from "@/backend/wire.ts";
import type { LocalContext } from "./context.ts";
import type { ConversationRow } from "./conversations.ts";
import { beginsTurn, renderSkills, resolvePrompt } from "./prompt.ts";
import { estimateTools } from "./tokens.ts";

/** When nobody knows a model's window, compaction starts as if it were this large. */
export const FALLBACK_WINDOW = 128_000;

export interface ModelConfig {
  adapter: ModelAdapter;
  handle: string;
  system: string;
  tools: ModelTool[];
  settings: ModelSettings;
  /** Null: unknown. */
  contextWindow: number | null;
  /** Tokens above which the conversation is compacted. */
  threshold: number;
  /** Tokens of system prompt and tools. */
  fixedTokens: number;
}

export async function resolveConfig(
  context: LocalContext,
  agent: AgentState,
  conversation: ConversationRow,
  body: Partial<SendBody>,
): Promise<ModelConfig> {
  const adapter = context.models;
  const handle =
    chosen(body.override_model) ?? chosen(conversation.model) ?? chosen(agent.model) ?? (await adapter.defaultModel());
  if (!handle) throw noProviderError();
  const record = await adapter.resolveModel(handle);
  const settings: ModelSettings = {
    ...agent.model_settings,
    ...(conversation.model_settings ? (JSON.parse(conversation.model_settings) as ModelSettings) : {}),
  };
  const limit = conversation.context_window_limit ?? agent.context_window_limit;
  // The limit was set for the agent's own model: another one, for this request only, may have less.
  const isOverride = chosen(body.override_model) !== null && record.max_context_window !== null;
  const contextWindow =
    isOverride && limit !== null
      ? Math.min(limit, record.max_context_window ?? limit)
      : (limit ?? record.max_context_window);
  if (contextWindow === null) {
    context.warnOnce(
      `The context window of ${handle} is unknown; compaction assumes ${FALLBACK_WINDOW} tokens. Set a context window limit for the agent or the provider.`,
    );
  }
  const ref = { agentId: conversation.agent_id, conversationId: conversation.id };
  const mayChange = beginsTurn({ messages: body.messages ?? [] });
  const prompt = body.override_system ?? (await resolvePrompt(context, ref, agent, { mayChange }));
  const system = [prompt, renderSkills(body.client_skills ?? [], body.client_skills_note)].filter(Boolean).join("\n\n");
  const tools = body.client_tools ?? [];
  return {
    adapter,
    handle,
    system,
    tools,
    settings,
    contextWindow,
    threshold: compactionThreshold(contextWindow ?? FALLBACK_WINDOW),
    fixedTokens: estimateTokens(system) + estimateTools(tools),
  };
}

/** Window minus room for a reply: a fifth, at most 16,384 tokens (spec 02 §3.6). */
function compactionThreshold(contextWindow: number): number {
  return contextWindow - Math.min(16_384, Math.max(1, Math.floor(contextWindow * 0.2)));
}

/** System prompt and tools alone must leave room: an engine that cuts the prompt silently is worse than an error. */
export function assertFits(config: ModelConfig): void {
  const { contextWindow, fixedTokens, handle } = config;
  if (contextWindow === null || fixedTokens < contextWindow) return;
  throw new ProviderError(
    "context_overflow",
    `System prompt and tools take about ${fixedTokens} tokens, but the context window of ${handle} is ${contextWindow} tokens`,
    {
      retryable: false,
      hint: "Serve the model with a larger window (Ollama: OLLAMA_CONTEXT_LENGTH), raise the context window limit, or use fewer tools and skills and a shorter system prompt.",
    },
  );
}

function chosen(handle: string | null | undefined): string | null {
  const isDefault = !handle || handle === "auto" || handle === "local/default" || handle.startsWith("letta/");
  return isDefault ? null : handle;
}
