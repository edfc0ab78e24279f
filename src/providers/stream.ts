// One model call: the request in pi-ai's terms, its stream wired to our abort and idle limit, and failures classified
// from the facts on the wire. What the model says is translated in reply.ts.

import type {
  AssistantMessage,
  AssistantMessageEvent,
  ProviderStreams,
  SimpleStreamOptions,
  ThinkingLevel,
} from "@earendil-works/pi-ai";
import type { ModelEvent, ModelRequest } from "@/backend/model.ts";
import { errorMessage } from "@/lib/errors.ts";
import { VERSION } from "@/version.ts";
import { toPiMessages } from "./convert.ts";
import { classifyFailure } from "./errors.ts";
import type { Api } from "./kinds.ts";
import type { ResolvedModel } from "./models.ts";
import { reasoningLevel } from "./reasoning.ts";
import { createReply } from "./reply.ts";
import { createWireTap, type WireFacts, type WireTap } from "./wire-tap.ts";

export interface CallResult {
  facts: WireFacts;
  /** Something the model produced was handed on. */
  produced: boolean;
}

/** Never throws. Exactly one `done` or `error`, last. */
export async function* streamCall(
  model: ResolvedModel,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, CallResult> {
  const { connection, modelId } = model;
  const tap = createWireTap({ api: model.pi.api as Api, signal, timeoutMs: connection.timeoutMs });
  const reply = createReply(model, request);
  const fail = (message: string, partial: AssistantMessage | null): ModelEvent => {
    const error = classifyFailure({ connection, modelId, facts: tap.facts, cancelled: signal.aborted, message });
    return { type: "error", error, partial: reply.partial(partial, error.message, signal.aborted) };
  };
  try {
    const [{ normalizeContext }, api] = await Promise.all([
      import("@earendil-works/pi-ai/utils/transcript"),
      loadApi(model.pi.api as Api),
    ]);
    const context = normalizeContext({
      systemPrompt: request.system,
      messages: toPiMessages(request.messages),
      tools: request.tools,
    });
    const source = api.streamSimple(model.pi, context, await callOptions(model, request, tap));
    for await (const event of endOnAbort(source, tap.signal)) {
      tap.touch();
      if (event === "aborted") yield fail("aborted", reply.latest);
      else if (event.type === "error") {
        noteDiagnostics(tap.facts, event.error);
        yield fail(event.error.errorMessage ?? "", event.error);
      } else if (event.type === "done" && (tap.facts.errorInStream || !FINISHED.has(event.reason))) {
        tap.facts.status ??= 200;
        yield fail("", event.message);
      } else yield* reply.accept(event);
      if (event === "aborted" || event.type === "error" || event.type === "done") break;
    }
  } catch (error) {
    yield fail(errorMessage(error), reply.latest);
  } finally {
    tap.dispose();
  }
  return { facts: tap.facts, produced: reply.produced };
}

const FINISHED = new Set<string>(["stop", "length", "toolUse"]);

/** Bedrock's SDK does its own HTTP; pi-ai keeps the status and the exception's name beside the message. */
function noteDiagnostics(facts: WireFacts, message: AssistantMessage): void {
  const details = message.diagnostics?.find(({ type }) => type === "bedrock_response_failure")?.details;
  if (details === undefined || facts.status !== undefined) return;
  if (typeof details.status === "number") facts.status = details.status;
  facts.errorBody = { type: details.errorCode, message: message.errorMessage };
  facts.errorInStream = facts.status === undefined || facts.status < 400;
  facts.status ??= 200;
}

/** Literal imports: computed ones are not bundled. */
function loadApi(api: Api): Promise<ProviderStreams> {
  switch (api) {
    case "anthropic-messages":
      return import("@earendil-works/pi-ai/api/anthropic-messages") as Promise<ProviderStreams>;
    case "openai-responses":
      return import("@earendil-works/pi-ai/api/openai-responses") as Promise<ProviderStreams>;
    case "openai-completions":
      return import("@earendil-works/pi-ai/api/openai-completions") as Promise<ProviderStreams>;
    case "google-generative-ai":
      return import("@earendil-works/pi-ai/api/google-generative-ai") as Promise<ProviderStreams>;
    case "mistral-conversations":
      return import("@earendil-works/pi-ai/api/mistral-conversations") as Promise<ProviderStreams>;
    case "bedrock-converse-stream":
      return import("@earendil-works/pi-ai/api/bedrock-converse-stream") as Promise<ProviderStreams>;
  }
}

async function callOptions(model: ResolvedModel, request: ModelRequest, tap: WireTap): Promise<SimpleStreamOptions> {
  const { connection, pi } = model;
  const settings = request.settings ?? {};
  const temperature = typeof settings.temperature === "number" ? settings.temperature : undefined;
  const limit = positive(settings.max_output_tokens) ?? positive(settings.max_tokens);
  const bearer = connection.keyVar === "ANTHROPIC_AUTH_TOKEN";
  const reasoning = await thinkingLevel(model, request);
  return {
    signal: tap.signal,
    fetch: tap.fetch,
    maxRetries: 0,
    // The SDKs' own limits are off: ours counts silence and is the user's to set.
    timeoutMs: ONE_DAY_MS,
    sessionId: request.sessionId,
    disableContinuation: true,
    identity: { userAgent: { custom: `letta/${VERSION}` }, attribution: { name: "Letta", url: "https://letta.com" } },
    ...bedrockOptions(model),
    // The clients insist on some key; endpoints without one get no Authorization header at all.
    apiKey: bearer ? undefined : (connection.key ?? (isBedrock(model) ? undefined : "not-needed")),
    headers: bearer
      ? { Authorization: `Bearer ${connection.key}` }
      : connection.key === null && !isBedrock(model)
        ? { Authorization: null, authorization: null }
        : {},
    ...(temperature === undefined ? {} : { temperature }),
    ...(limit === undefined ? {} : { maxTokens: limit }),
    ...(reasoning === undefined ? {} : { reasoning }),
    samplingParams: samplingParams(pi.api as Api, settings),
    onPayload: (payload) => adjustPayload(payload, limit === undefined && pi.maxTokens === 0),
  };
}

const ONE_DAY_MS = 86_400_000;

const isBedrock = ({ pi }: ResolvedModel): boolean => pi.api === "bedrock-converse-stream";

/** Region, profile and keys of a stored record; the AWS SDK finds everything else in the environment itself. */
function bedrockOptions(model: ResolvedModel): Record<string, unknown> {
  const record = model.connection.record;
  if (!isBedrock(model) || record === undefined) return {};
  const { region, profile, accessKey } = record;
  const key = model.connection.key;
  const identity =
    accessKey !== undefined && key !== null ? { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: key } : {};
  return {
    ...(region === undefined ? {} : { region }),
    ...(profile === undefined ? {} : { profile }),
    env: identity,
  };
}

/** Nobody chose: `medium` where the model is known to reason, nothing where we know nothing. */
async function thinkingLevel(model: ResolvedModel, request: ModelRequest): Promise<ThinkingLevel | undefined> {
  const wanted = reasoningLevel(request.settings ?? {}) ?? (model.known && model.pi.reasoning ? "medium" : "none");
  if (wanted === "none" || !model.pi.reasoning) return undefined;
  const { clampThinkingLevel } = await import("@earendil-works/pi-ai/models");
  const level = clampThinkingLevel(model.pi, wanted);
  return level === "off" ? undefined : level;
}

function samplingParams(api: Api, settings: Record<string, unknown>): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  if (typeof settings.top_p === "number") params.top_p = settings.top_p;
  if (typeof settings.parallel_tool_calls === "boolean") params.parallel_tool_calls = settings.parallel_tool_calls;
  if (api === "openai-responses" && typeof settings.verbosity === "string")
    params.text = { verbosity: settings.verbosity };
  return params;
}

/** With `store: false` the ids of replayed items resolve to nothing, so they go. A limit nobody knows is not sent. */
function adjustPayload(payload: unknown, withoutLimit: boolean): unknown {
  if (typeof payload !== "object" || payload === null) return undefined;
  const body = { ...payload } as Record<string, unknown>;
  if (withoutLimit) removeLimit(body);
  if (Array.isArray(body.input)) {
    body.input = body.input.map((item: Record<string, unknown>) => {
      if (!REPLAYED.has(String(item.type))) return item;
      const { id: _, ...rest } = item;
      return rest;
    });
  }
  return body;
}

const LIMIT_NAMES = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "maxOutputTokens"];

/** The output limit stands at the top of a request or, with Gemini's and Bedrock's clients, one object below. */
function removeLimit(body: Record<string, unknown>): void {
  for (const name of LIMIT_NAMES) delete body[name];
  for (const part of ["config", "inferenceConfig"]) {
    const holder = body[part];
    if (typeof holder !== "object" || holder === null) continue;
    body[part] = Object.fromEntries(Object.entries(holder).filter(([name]) => !LIMIT_NAMES.includes(name)));
  }
}

const REPLAYED = new Set(["reasoning", "message", "function_call"]);

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}

/** pi-ai ends its stream when its SDK notices the abort; a caller must not wait for that. */
async function* endOnAbort(
  source: AsyncIterable<AssistantMessageEvent>,
  signal: AbortSignal,
): AsyncGenerator<AssistantMessageEvent | "aborted"> {
  const iterator = source[Symbol.asyncIterator]();
  let onAbort = (): void => {};
  const aborted = new Promise<"aborted">((resolve) => {
    onAbort = () => resolve("aborted");
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    while (true) {
      const next = await Promise.race([iterator.next(), aborted]);
      if (next === "aborted") {
        yield "aborted";
        return;
      }
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
