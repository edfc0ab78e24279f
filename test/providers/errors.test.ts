// Every text we match is quoted here as the provider sends it.

import { describe, expect, test } from "bun:test";
import { atDefaultAddress, type Connection } from "@/providers/connections.ts";
import { classifyFailure, parseRetryAfter, readErrorBody } from "@/providers/errors.ts";
import { findKind } from "@/providers/kinds.ts";
import type { WireFacts } from "@/providers/wire-tap.ts";
import { readEnv } from "@/store/env.ts";

const NO_FACTS: WireFacts = { errorInStream: false, html: false, complete: false, bytes: 0 };

function connection(kind = "openai", overrides: Partial<Connection> = {}): Connection {
  return { ...atDefaultAddress(findKind(kind)!, readEnv({})), ...overrides };
}

function classify(facts: Partial<WireFacts>, message = "", on = connection()) {
  return classifyFailure({
    connection: on,
    modelId: "m",
    facts: { ...NO_FACTS, ...facts },
    cancelled: false,
    message,
    now: () => 0,
  });
}

describe("an answer with a status", () => {
  const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message } });
  const openai = (code: string | null, message: string, type = "invalid_request_error") => ({
    error: { message, type, param: null, code },
  });
  const gemini = (status: string, message: string, details: unknown[] = []) => ({
    error: { code: 0, message, status, details },
  });

  test.each([
    [401, anthropic("authentication_error", "invalid x-api-key"), "auth", false],
    [401, openai("invalid_api_key", "Incorrect API key provided: sk-abc***xyz."), "auth", false],
    [400, gemini("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), "auth", false],
    [
      403,
      anthropic("permission_error", "Your API key does not have permission to use the specified resource."),
      "auth",
      false,
    ],
    [404, anthropic("not_found_error", "model: claude-nope"), "not_found", false],
    [
      404,
      openai("model_not_found", "The model `gpt-nope` does not exist or you do not have access to it."),
      "not_found",
      false,
    ],
    [
      429,
      anthropic(
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
      ),
      "rate_limit",
      true,
    ],
    [
      429,
      openai("rate_limit_exceeded", "Rate limit reached for gpt-5 on tokens per min (TPM).", "tokens"),
      "rate_limit",
      true,
    ],
    [
      429,
      openai(
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
      ),
      "quota",
      false,
    ],
    [
      429,
      gemini("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."),
      "quota",
      false,
    ],
    [
      429,
      gemini("RESOURCE_EXHAUSTED", "You exceeded your current quota.", [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" },
      ]),
      "rate_limit",
      true,
    ],
    [
      400,
      anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      "quota",
      false,
    ],
    [
      402,
      { error: { message: "This request requires more credits, or fewer max_tokens.", code: 402 } },
      "quota",
      false,
    ],
    [402, { error: "Insufficient Balance" }, "quota", false],
    [
      400,
      anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
      "context_overflow",
      false,
    ],
    [
      400,
      openai("context_length_exceeded", "This model's maximum context length is 128000 tokens."),
      "context_overflow",
      false,
    ],
    [
      400,
      gemini(
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      ),
      "context_overflow",
      false,
    ],
    [
      400,
      {
        error: {
          message: "the request exceeds the available context size, try increasing it",
          type: "exceed_context_size_error",
          code: 400,
        },
      },
      "context_overflow",
      false,
    ],
    [413, anthropic("request_too_large", "Request exceeds the maximum size"), "context_overflow", false],
    [400, openai(null, "Invalid schema for function 'Bash'"), "provider", false],
    [500, anthropic("api_error", "Internal server error"), "provider", true],
    [502, "<html><body>502 Bad Gateway</body></html>", "provider", true],
    [529, anthropic("overloaded_error", "Overloaded"), "provider", true],
    [503, { detail: "Service Unavailable" }, "provider", true],
    [408, {}, "provider", true],
  ])("%d %j", (status, errorBody, code, retryable) => {
    const error = classify({ status, errorBody });
    expect([error.code as string, error.retryable, error.status]).toEqual([code, retryable, status]);
  });

  test("Google's wait is inside the body", () => {
    const error = classify({
      status: 429,
      errorBody: gemini("RESOURCE_EXHAUSTED", "slow down", [{ retryDelay: "34s" }]),
    });
    expect(error.retryAfterMs).toBe(34_000);
  });
});

test.each([
  ["7", 7000],
  ["0.5", 500],
  ["Thu, 01 Jan 1970 00:00:30 GMT", 20_000],
  ["soon", undefined],
  ["-3", 0],
])("retry-after: %s", (value, expected) => {
  expect(parseRetryAfter(new Headers({ "retry-after": value }), 10_000)).toBe(expected as number);
});

test("retry-after-ms is exact", () => {
  expect(parseRetryAfter(new Headers({ "retry-after-ms": "1234", "retry-after": "9" }), 0)).toBe(1234);
});

describe("an error event inside a stream", () => {
  test.each([
    [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "provider", true],
    [{ type: "error", error: { type: "rate_limit_error", message: "slow down" } }, "rate_limit", true],
    [{ type: "error", code: "server_error", message: "The server had an error" }, "provider", true],
    [{ status: "failed", error: { code: "rate_limit_exceeded", message: "Rate limit reached" } }, "rate_limit", true],
    [{ error: { code: 502, message: "Upstream error from provider" } }, "provider", true],
    [{ error: { code: 400, message: "prompt is too long" } }, "context_overflow", false],
    [
      { error: { code: "1113", message: "Insufficient balance or no resource package. Please recharge." } },
      "quota",
      false,
    ],
  ])("%j", (errorBody, code, retryable) => {
    const error = classify({ status: 200, errorBody, errorInStream: true });
    expect([error.code as string, error.retryable]).toEqual([code, retryable]);
  });
});

describe("Bedrock has no response to look at", () => {
  const bedrock = connection("bedrock");
  test.each([
    ["Throttling error: Too many tokens, please wait before trying again.", "rate_limit", true],
    ["Validation error: Input is too long for requested model.", "context_overflow", false],
    ["Service unavailable: Bedrock is unable to process your request.", "provider", true],
    ["Internal server error: The system encountered an unexpected error.", "provider", true],
    ["AccessDeniedException: You don't have access to the model with the specified model ID.", "auth", false],
    ["UnrecognizedClientException: The security token included in the request is invalid.", "auth", false],
    ["Could not load credentials from any providers", "auth", false],
    ["ResourceNotFoundException: Model not found.", "not_found", false],
    ["getaddrinfo ENOTFOUND bedrock-runtime.nowhere-1.amazonaws.com", "provider", true],
  ])("%s", (message, code, retryable) => {
    const error = classify({}, message, bedrock);
    expect([error.code as string, error.retryable]).toEqual([code, retryable]);
  });
});

describe("hints say what to do", () => {
  test.each([
    [
      connection("anthropic", { source: "env", keyVar: "ANTHROPIC_API_KEY", key: "k" }),
      "Check ANTHROPIC_API_KEY, or run `letta connect anthropic` to store another key.",
    ],
    [
      connection("anthropic", { source: "stored", key: "k" }),
      "Run `letta connect anthropic` or set ANTHROPIC_API_KEY.",
    ],
    [connection("openai-compatible", { name: "mine", source: "stored" }), "Run `letta connect mine`."],
  ])("a refused key", (on, hint) => {
    expect(classify({ status: 401 }, "", on).hint).toBe(hint);
  });

  test("a web page in place of a reply points at the base URL", () => {
    const on = connection("openai", { baseUrl: "http://proxy.example/v1", customUrl: true });
    expect(classify({ status: 200, html: true }, "", on).hint).toContain("http://proxy.example/v1");
  });
});

test.each([
  [{ error: { message: "a", type: "t", code: "c" } }, { names: ["t", "c"], message: "a" }],
  [
    [{ error: { message: "a", status: "UNAVAILABLE", code: 503 } }],
    { names: ["unavailable"], message: "a", status: 503 },
  ],
  [{ error: "just text" }, { names: [], message: "just text" }],
  [{ detail: "Not Found" }, { names: [], message: "Not Found" }],
  ["plain\nmore", { names: [], message: "plain" }],
  ["<html>502 Bad Gateway</html>", { names: [], message: "" }],
  [null, { names: [], message: "" }],
] as const)("reads %j", (body, expected) => {
  expect(readErrorBody(body)).toEqual(expected as never);
});

test("a reply the client library stumbles over is the server's failure, and may be asked for again", () => {
  const failure = classify(
    { status: 200, complete: true },
    "undefined is not an object (evaluating 'event.delta.type')",
  );
  expect(failure).toMatchObject({
    code: "provider",
    retryable: true,
    message: expect.stringContaining("its protocol"),
  });
});

test("what a server says cannot steer the terminal", () => {
  const errorBody = { error: { message: "bad \u001b[2J\u001b]0;evil\u0007 request\u009b" } };
  expect(classify({ status: 400, errorBody }).message).toBe(
    "OpenAI: 400 bad \ufffd[2J\ufffd]0;evil\ufffd request\ufffd",
  );
});

test("a wrong model names where to look", () => {
  expect(classify({ status: 404, errorBody: {} }).hint).toContain("letta model list --provider openai");
});

test.each([
  ["ollama", "ConnectionRefused", false],
  ["lmstudio", "ECONNRESET", true],
  ["openai", "ConnectionRefused", true],
] as const)("no connection to %s (%s): asked again %p", (kind, code, retryable) => {
  const connectError = Object.assign(new Error("Unable to connect"), { code });
  expect(classify({ connectError }, "", connection(kind))).toMatchObject({ code: "network", retryable });
});

test("a key that a provider quotes is not repeated", () => {
  const on = connection("openai", { key: "k3y-of-this-user", keyVar: "OPENAI_API_KEY" });
  const body = { error: { message: "Incorrect API key provided: k3y-of-this-user." } };
  const { message } = classify({ status: 401, errorBody: body }, "", on);
  expect(message).toEndWith("401 Incorrect API key provided: OPENAI_API_KEY=<REDACTED>.");
});
