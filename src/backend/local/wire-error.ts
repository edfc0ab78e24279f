// A failed model call as the wire tells it: `error_message` fields and the stop reason that follows.

import { ProviderError } from "@/backend/model.ts";
import type { StopReason, WireError } from "@/backend/wire.ts";
import { codeOf, type ErrorCode, errorMessage, LettaError } from "@/lib/errors.ts";

export interface RunFailure {
  error: Omit<WireError, "message_type" | "seq_id">;
  stopReason: StopReason;
}

const ERROR_TYPES: Partial<Record<ErrorCode, string>> = {
  auth: "llm_authentication",
  rate_limit: "llm_rate_limit",
  quota: "llm_insufficient_credits",
  context_overflow: "llm_context_window",
  not_found: "llm_not_found",
  no_provider: "no_provider",
  provider: "llm_error",
  stream_cut: "llm_error",
  network: "llm_error",
};

const CONNECT_HINT =
  "Connect a model: `letta connect <provider>`, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a local server (Ollama, LM Studio, llama.cpp).";

export function toRunFailure(error: unknown, runId: string): RunFailure {
  const code = codeOf(error);
  const hint = error instanceof LettaError ? error.hint : undefined;
  const provider = error instanceof ProviderError ? error : undefined;
  return {
    error: {
      run_id: runId,
      error_type: ERROR_TYPES[code] ?? "local_backend_error",
      message: errorMessage(error),
      ...(error instanceof Error && error.cause !== undefined && { detail: errorMessage(error.cause) }),
      retryable: provider?.retryable ?? false,
      ...(provider?.retryAfterMs !== undefined && { retry_after_ms: provider.retryAfterMs }),
      ...(provider?.status !== undefined && { status: provider.status }),
      ...((hint ?? (code === "no_provider" ? CONNECT_HINT : undefined)) && { hint: hint ?? CONNECT_HINT }),
    },
    stopReason: code === "quota" ? "insufficient_credits" : code === "internal" ? "error" : "llm_api_error",
  };
}

export function noProviderError(): ProviderError {
  return new ProviderError("no_provider", "No model is connected", { retryable: false, hint: CONNECT_HINT });
}
