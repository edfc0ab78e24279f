// Error code → process exit code, the one table (README repeats it for users).

import type { ErrorCode } from "@/lib/errors.ts";

export const EXIT_OK = 0;
export const EXIT_SIGINT = 130;
export const EXIT_SIGTERM = 143;

/** 0 ok · 1 agent or runtime error · 2 usage · 3 authentication or no provider · 4 not found · 5 limit reached ·
 *  6 tool denied and agent stopped · 7 rate limit or quota · 130 SIGINT · 143 SIGTERM. */
export const EXIT_CODES: Record<ErrorCode, number> = {
  usage: 2,
  auth: 3,
  no_provider: 3,
  not_found: 4,
  busy: 1,
  conflict: 1,
  lease_lost: 1,
  limit: 5,
  denied: 6,
  rate_limit: 7,
  quota: 7,
  context_overflow: 1,
  provider: 1,
  stream_cut: 1,
  network: 1,
  cancelled: EXIT_SIGINT,
  invalid_data: 1,
  storage: 1,
  untrusted: 1,
  tool: 1,
  internal: 1,
};
