// ErrorCode ↔ `error_type` on the wire, one table for both directions.

import type { ErrorCode } from "@/lib/errors.ts";

const TYPE_OF_CODE: Partial<Record<ErrorCode, string>> = {
  auth: "llm_authentication",
  no_provider: "no_provider",
  not_found: "llm_not_found",
  rate_limit: "llm_rate_limit",
  quota: "llm_insufficient_credits",
  context_overflow: "llm_context_window",
  provider: "llm_error",
  stream_cut: "llm_stream_cut",
  network: "llm_network",
  cancelled: "cancelled",
  lease_lost: "lease_lost",
  storage: "storage_error",
};

/** Types other servers send that we do not (spec 02 §4.6). */
const FOREIGN_TYPES: Record<string, ErrorCode> = {
  authentication: "auth",
  llm_permission_denied: "auth",
  llm_bad_request: "provider",
  llm_unprocessable_entity: "provider",
  llm_api_error: "provider",
};

export function toErrorType(code: ErrorCode): string {
  return TYPE_OF_CODE[code] ?? "local_backend_error";
}

export function toErrorCode(errorType: string): ErrorCode {
  for (const [code, type] of Object.entries(TYPE_OF_CODE)) if (type === errorType) return code as ErrorCode;
  return FOREIGN_TYPES[errorType] ?? "provider";
}
