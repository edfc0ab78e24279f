// Turns a failed model call into a ProviderError. Facts decide: status and typed body first, then what the stream held,
// then how the connection ended. Text is the last resort, and all text we match is in the tables below.

import { ProviderError } from "@/backend/model.ts";
import { formatSeconds } from "@/lib/duration.ts";
import type { LettaErrorOptions } from "@/lib/errors.ts";
import { isRecord } from "@/lib/json.ts";
import { createRedactor } from "@/lib/redactor.ts";
import { clip } from "@/lib/text.ts";
import { type Connection, keyHint, shownUrl } from "./connections.ts";
import type { WireFacts } from "./wire-tap.ts";

type Code = ConstructorParameters<typeof ProviderError>[0];

export interface FailedCall {
  connection: Connection;
  modelId: string;
  facts: WireFacts;
  /** The caller's own signal was aborted. */
  cancelled: boolean;
  /** What the SDK said. */
  message: string;
  /** Clock, for `retry-after` dates. */
  now?: () => number;
}

/** Shown, stored and recorded: of the key, which some providers quote when they refuse it, it says nothing. */
export function classifyFailure(failed: FailedCall): ProviderError {
  const error = classify(failed);
  const { key, keyVar, name } = failed.connection;
  if (key === null) return error;
  const redactor = createRedactor([{ name: keyVar ?? `${name.toUpperCase()}_KEY`, value: key }]);
  error.message = redactor.redact(error.message);
  return error;
}

function classify(failed: FailedCall): ProviderError {
  const { connection, facts, cancelled } = failed;
  const where = connection.kind.label;
  if (cancelled) return new ProviderError("cancelled", "cancelled", { retryable: false });
  if (facts.silentForMs !== undefined) {
    return new ProviderError("network", `${where}: no data for ${formatSeconds(facts.silentForMs)}`, {
      retryable: true,
      hint: `A slow endpoint may need a longer limit: \`letta connect ${connection.name} --timeout 20m\`.`,
    });
  }
  if (facts.html) {
    return new ProviderError("provider", `${where} answered with a web page instead of a model's reply`, {
      retryable: false,
      hint: `Is the base URL right? It is ${shownUrl(connection.baseUrl)}.`,
    });
  }
  if (facts.tooLarge) {
    return new ProviderError("provider", `${where} sent more than any reply holds`, { retryable: false });
  }
  if (facts.status !== undefined && facts.status >= 300 && facts.status < 400) return fromRedirect(failed);
  if (facts.status !== undefined && (facts.status >= 400 || facts.errorBody !== undefined)) return fromBody(failed);
  if (facts.garbage !== undefined) {
    return new ProviderError("provider", `${where} sent a line that is not JSON: ${firstLine(facts.garbage)}`, {
      retryable: true,
    });
  }
  if (facts.status === undefined && facts.connectError !== undefined) return fromConnection(failed);
  if (facts.status !== undefined && !facts.complete) {
    return new ProviderError("stream_cut", `${where}: the stream ended before the reply was complete`, {
      retryable: true,
    });
  }
  return fromText(failed);
}

/** What an error body says, whatever shape it has. */
export interface ErrorDetails {
  /** `type` and `code` fields and Google's `status`, lower case. */
  names: string[];
  message: string;
  /** A status the body itself names. */
  status?: number;
  retryAfterMs?: number;
}

export function readErrorBody(body: unknown): ErrorDetails {
  const outer = Array.isArray(body) ? body[0] : body;
  // A gateway's web page says less than its status.
  if (typeof outer === "string")
    return { names: [], message: outer.trimStart().startsWith("<") ? "" : firstLine(outer) };
  if (!isRecord(outer)) return { names: [], message: "" };
  const inner = isRecord(outer.error) ? outer.error : outer;
  const fields = [outer.type, inner.type, inner.code, inner.status, inner.__type];
  const names = fields.filter((field): field is string => typeof field === "string" && field !== "error");
  const texts = [inner.message, inner.error, outer.error, outer.message, outer.detail, inner.Message];
  const message = texts.find((text): text is string => typeof text === "string" && text !== "") ?? "";
  const statuses = [inner.code, inner.status, inner.http_code].map(Number);
  const status = statuses.find((value) => value >= 400 && value < 600);
  const retryAfterMs = googleRetryDelay(inner.details);
  return {
    names: names.map((name) => name.toLowerCase()),
    message: firstLine(message),
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** `retry-after` in seconds or as a date, or `retry-after-ms`. */
export function parseRetryAfter(headers: Headers | undefined, now: number): number | undefined {
  const milliseconds = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const text = headers?.get("retry-after");
  if (text == null || text.trim() === "") return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Typed names providers use inside bodies and streams. First match wins. */
const NAMES: [pattern: RegExp, code: Code, retryable: boolean][] = [
  [/context_length_exceeded|model_context_window_exceeded|exceed_context_size/, "context_overflow", false],
  [/insufficient_quota|billing|insufficient_credits|payment_required|credit/, "quota", false],
  [/rate_limit|too_many_requests|throttling|tokens_exceeded|requests_exceeded/, "rate_limit", true],
  [
    /authentication|invalid_api_key|unauthenticated|permission|unauthorized|forbidden|accessdenied|unrecognizedclient|expiredtoken/,
    "auth",
    false,
  ],
  [/model_not_found|not_found|resourcenotfound/, "not_found", false],
  [/overloaded|unavailable|server_error|api_error|internal|exhausted|timeout/, "provider", true],
];

/** Text of providers that name no type, or one type for everything. Each row is quoted by a test. */
const OVERFLOW_TEXT =
  /prompt is too long|input is too long|too long for (?:the )?model|maximum context length|context (?:length|window|size)|exceeds? the (?:model'?s )?(?:maximum|available|limit)|input token count|too many (?:input )?tokens|request too large|request_too_large|reduce the length/i;
const QUOTA_TEXT =
  /exceeded your current quota|credit balance is too low|insufficient (?:balance|credits|funds|quota)|out of credits|billing (?:hard )?limit|requires more credits|usage limit|plan and billing|spend(?:ing)? limit/i;
const RATE_TEXT =
  /rate.?limit|too many requests|throttl|requests per (?:minute|day)|tokens per (?:minute|day)|slow down/i;
const AUTH_TEXT =
  /api key not valid|invalid api key|incorrect api key|invalid x-api-key|could not load credentials|security token.*(?:invalid|expired)|no api key/i;
const TRANSIENT_TEXT =
  /server error|internal error|service unavailable|overloaded|socket hang up|fetch failed|connection (?:error|ended|lost|closed|reset)|upstream connect|terminated|timed? ?out|econnreset|econnrefused|enotfound|http2/i;

/** What the runtime says when the client library reads a field that is not there or is of another type. */
const MISREAD_TEXT =
  /is not an object \(evaluating|is not a function\.? |is not iterable|Maximum call stack size exceeded/;

function fromBody(failed: FailedCall): ProviderError {
  const { facts } = failed;
  const details = readErrorBody(facts.errorBody);
  const status = facts.errorInStream || (facts.status ?? 0) < 400 ? details.status : facts.status;
  const said = details.message || (status === undefined ? failed.message : STATUS_TEXT[status]) || "no reason given";
  const message = `${failed.connection.kind.label}: ${status === undefined ? "" : `${status} `}${said}`;
  const { code, retryable } = decide(status, details);
  const retryAfterMs = parseRetryAfter(facts.headers, (failed.now ?? Date.now)()) ?? details.retryAfterMs;
  return build(code, message, failed, { retryable, status, retryAfterMs });
}

function decide(status: number | undefined, details: ErrorDetails): { code: Code; retryable: boolean } {
  const named = NAMES.find(([pattern]) => details.names.some((name) => pattern.test(name)));
  const overflow = OVERFLOW_TEXT.test(details.message) && !RATE_TEXT.test(details.message);
  const quota = QUOTA_TEXT.test(details.message);
  switch (status) {
    case 401:
      return { code: "auth", retryable: false };
    case 402:
      return { code: "quota", retryable: false };
    case 403:
      return { code: quota ? "quota" : "auth", retryable: false };
    case 404:
      return { code: "not_found", retryable: false };
    case 413:
      return { code: "context_overflow", retryable: false };
    case 429:
      // Google says "exceeded your current quota" for the limit per minute too, but then names the wait.
      if (named?.[1] === "quota" || (quota && details.retryAfterMs === undefined))
        return { code: "quota", retryable: false };
      return { code: "rate_limit", retryable: true };
    case 408:
    case 409:
      return { code: "provider", retryable: true };
    default:
      break;
  }
  if (status !== undefined && status >= 500 && !overflow) return { code: "provider", retryable: true };
  if (overflow) return { code: "context_overflow", retryable: false };
  if (quota) return { code: "quota", retryable: false };
  if (AUTH_TEXT.test(details.message)) return { code: "auth", retryable: false };
  if (named !== undefined) return { code: named[1], retryable: named[2] };
  if (RATE_TEXT.test(details.message)) return { code: "rate_limit", retryable: true };
  return { code: "provider", retryable: status === undefined && TRANSIENT_TEXT.test(details.message) };
}

function fromRedirect({ connection, facts }: FailedCall): ProviderError {
  const target = firstLine(facts.headers?.get("location") ?? "");
  return new ProviderError(
    "provider",
    `${connection.kind.label} answered with a redirect${target && ` to ${target}`}`,
    {
      retryable: false,
      hint: `It was not followed, so that the key goes nowhere else. Is the base URL right? It is ${shownUrl(connection.baseUrl)}.`,
    },
  );
}

function fromConnection(failed: FailedCall): ProviderError {
  const { connection, facts } = failed;
  const cause = facts.connectError;
  const code = isRecord(cause) && typeof cause.code === "string" ? cause.code : undefined;
  const reason = CONNECT_TEXT[code ?? ""] ?? (cause instanceof Error ? firstLine(cause.message) : failed.message);
  const hint = connection.kind.local
    ? `Is ${connection.kind.label} running at ${shownUrl(connection.baseUrl)}?`
    : connection.customUrl
      ? `The base URL is ${shownUrl(connection.baseUrl)}.`
      : undefined;
  return new ProviderError("network", `${connection.kind.label}: ${reason}`, {
    // A server on this machine that is not running does not come back by being asked again.
    retryable: !(connection.kind.local && reason === CONNECTION_REFUSED),
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** No response to look at (Bedrock's SDK), or one the SDK refused for a reason of its own. */
function fromText(failed: FailedCall): ProviderError {
  if (failed.facts.status === 200 && MISREAD_TEXT.test(failed.message)) {
    return new ProviderError(
      "provider",
      `${failed.connection.kind.label} sent a reply that does not follow its protocol`,
      {
        retryable: true,
        cause: new Error(failed.message),
      },
    );
  }
  const message = `${failed.connection.kind.label}: ${firstLine(failed.message) || "the call failed"}`;
  const exception = /([A-Za-z]+(?:Exception|Error))/.exec(failed.message)?.[1] ?? "";
  const { code, retryable } = decide(undefined, { names: [exception.toLowerCase()], message: failed.message });
  return build(code, message, failed, { retryable, status: undefined, retryAfterMs: undefined });
}

function build(
  code: Code,
  message: string,
  { connection, modelId, facts }: FailedCall,
  {
    retryable,
    status,
    retryAfterMs,
  }: { retryable: boolean; status: number | undefined; retryAfterMs: number | undefined },
): ProviderError {
  const hint = hintFor(code, connection, modelId, facts);
  const options: LettaErrorOptions & { retryable: boolean } = { retryable, ...(hint === undefined ? {} : { hint }) };
  return new ProviderError(code, message, {
    ...options,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function hintFor(code: Code, connection: Connection, modelId: string, facts: WireFacts): string | undefined {
  if (code === "auth") return keyHint(connection);
  if (code === "quota") return `Check the plan and credits of ${connection.kind.label}, or choose another model.`;
  if (code === "not_found") {
    const url = connection.customUrl && facts.status === 404 ? ` The base URL is ${shownUrl(connection.baseUrl)}.` : "";
    return `Is "${modelId}" right? \`letta model list --provider ${connection.name}\` shows what there is.${url}`;
  }
  return undefined;
}

const STATUS_TEXT: Record<number, string> = {
  401: "the key was refused",
  403: "the key has no access",
  404: "not found",
  429: "too many requests",
  500: "internal server error",
  502: "bad gateway",
  503: "service unavailable",
  504: "gateway timeout",
  529: "overloaded",
};
const CONNECTION_REFUSED = "connection refused";
const CONNECT_TEXT: Record<string, string> = {
  ConnectionRefused: CONNECTION_REFUSED,
  ECONNREFUSED: CONNECTION_REFUSED,
  ECONNRESET: "the connection was reset",
  FailedToOpenSocket: "no connection (is the address right?)",
  ENOTFOUND: "the host name does not resolve",
};

/** `google.rpc.RetryInfo` inside the error's details: `"retryDelay": "34s"`. */
function googleRetryDelay(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    const delay =
      isRecord(detail) && typeof detail.retryDelay === "string" ? /^([\d.]+)s$/.exec(detail.retryDelay) : null;
    if (delay !== null) return Math.round(Number(delay[1]) * 1000);
  }
  return undefined;
}

const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;

/** Harmless on a terminal, whoever wrote it. */
function firstLine(text: string): string {
  return clip((text.trim().split("\n")[0] ?? "").replace(CONTROLS, "\u{fffd}"), 500);
}
