// A failed model call as the wire tells it: `error_message` fields and the stop reason that follows.

import { toErrorType } from "@/backend/error-types.ts";
import { CONNECT_HINT, ProviderError } from "@/backend/model.ts";
import type { StopReason, WireError } from "@/backend/wire.ts";
import { codeOf, errorMessage, hintOf } from "@/lib/errors.ts";

export interface RunFailure {
  error: Omit<WireError, "message_type" | "seq_id">;
  stopReason: StopReason;
}

export function toRunFailure(error: unknown, runId: string): RunFailure {
  const code = codeOf(error);
  const hint = hintOf(error);
  const provider = error instanceof ProviderError ? error : undefined;
  return {
    error: {
      run_id: runId,
      error_type: toErrorType(code),
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
