// A tool's definition carries all it needs: schema, description, what it wants permission for, how it may run beside
// others, and its one-line display. Everyone else reads the definition; nobody switches on a tool's name.

import type { GenericSchema, InferOutput } from "valibot";
import type { ContentPart } from "@/backend/wire.ts";
import { jsonSchemaOf } from "@/lib/json-schema.ts";
import type { PermissionTarget, ProvenCommand, RealPaths, RuleSuggestion } from "@/permissions/types.ts";
import type { FollowUp } from "@/store/journal.ts";
import { parseArguments } from "./arguments.ts";
import type { ToolServices } from "./services.ts";
import type { ToolsetNames } from "./toolsets.ts";

/** How a call may overlap the other calls of its batch (engine/scheduler.ts). */
export type Resource =
  /** Runs together with anything but a barrier; `path` waits for earlier writes of that path. */
  | { kind: "read"; path?: string }
  /** Exclusive per path (absolute). */
  | { kind: "write"; path: string }
  /** Waits for everything before it and holds everything after it. */
  | { kind: "barrier" };

export interface ToolContext {
  agentId: string | null;
  conversationId: string;
  turnId: string;
  toolCallId: string;
  /** Of this conversation; absolute. */
  cwd: string;
  signal: AbortSignal;
  services: ToolServices;
  /** Where the paths of the call were when it was decided (`contextPlace`). Undefined: nobody decided about it. */
  realPaths?: RealPaths;
  /** Shell tools run this in the place of what the model wrote: it was allowed because this only reads. */
  proven?: ProvenCommand;
  /** The targets the decision was about; absent when a call is made without one. */
  allowedFor?: readonly PermissionTarget[];
  /** Live output for people (shell tools); never what the model reads. */
  onOutput(text: string): void;
}

export interface ToolResult {
  status: "success" | "error";
  /** What the model reads. Already within the tool's own limit. */
  output: string | ContentPart[];
  stdout?: string[];
  stderr?: string[];
  /** One line for people, for example "12 matches" or "+3 -1". Default: the first line of `output`. */
  summary?: string;
  diff?: FileDiff[];
  /** For the model beside the result, and not within its limits. */
  followUp?: FollowUp;
}

/** What a request is made with, as far as tools depend on it. */
export interface ToolOffer {
  /** Skills the model may call, by id. */
  skills: readonly string[];
}

/** What an edit will do, or did. Computed from the planned bytes, so that what is approved is what is applied. */
export interface FileDiff {
  /** Absolute. */
  path: string;
  kind: "create" | "update" | "delete";
  added: number;
  removed: number;
  hunks: DiffHunk[];
  /** Why there are no hunks ("binary", "too large"). */
  note?: string;
}
export interface DiffHunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: { type: "context" | "add" | "remove"; content: string }[];
}

/** What tools, front ends and mods share. `Args` is the validated argument object. */
export interface Tool<Args = never> {
  /** As the model calls it; the same tool can have another name in another toolset. */
  readonly name: string;
  /** The toolsets it is in, and its name in each. Undefined: in all of them, as `name`. */
  readonly toolsets?: ToolsetNames;
  /** Further names by which people may mean it (`--tools`). */
  readonly also?: readonly string[];
  readonly description: string;
  /** JSON Schema sent to the model, derived from the valibot schema, or given by the owner of an external tool. */
  readonly parameters: Record<string, unknown>;
  /** Unknown → typed, or a ToolError that names the wrong key and the nearest valid one. */
  parse(args: unknown): Args;
  /** What the call wants to do. May throw ToolError (bad path). */
  targets(args: Args, context: Pick<ToolContext, "cwd" | "services">): PermissionTarget[];
  resource(args: Args, context: Pick<ToolContext, "cwd" | "services">): Resource;
  /** Short subject for people: a path relative to cwd, a command. One line. */
  title(args: Args, cwd: string): string;
  /** What the call would change, for the approval; absent for tools that change no file. */
  preview?(
    args: Args,
    context: Pick<ToolContext, "cwd" | "services" | "conversationId" | "realPaths">,
  ): Promise<FileDiff[]>;
  /** A person must always answer (questions, plans); an allow rule is not enough. */
  readonly alwaysAsk: boolean;
  /** Rules a person may add while answering, instead of those that would spare the question. For `alwaysAsk` only. */
  readonly suggestions?: readonly RuleSuggestion[];
  /** Left out when nobody can answer. */
  readonly interactive: boolean;
  /** It is for what the request lists as skills: without it that list is of no use. */
  readonly usesSkills?: boolean;
  /** The tool as one request offers it, or null when it has no use there. Absent: always as it is. */
  offer?(offer: ToolOffer): AnyTool | null;
  /** What it brings comes between turns: left out where the process ends with its turn. */
  readonly resident?: boolean;
  /** Throws ToolError for what the model should read; anything else is a bug. Ends soon after `signal` aborts. */
  run(args: Args, context: ToolContext): Promise<ToolResult | string>;
}

/** A tool whose argument type is forgotten: what registries hold. `parse` is the only way in. */
export type AnyTool = Tool<unknown>;

export interface ToolSpec<Schema extends GenericSchema> {
  name: string;
  /** Default: the default set, as `name`. Empty: only by name (`--tools`). */
  toolsets?: ToolsetNames;
  also?: readonly string[];
  description: string;
  args: Schema;
  /** Default: one `tool` target, which asks unless a rule allows it. */
  targets?: Tool<InferOutput<Schema>>["targets"];
  /** Default: a barrier. */
  resource?: Tool<InferOutput<Schema>>["resource"];
  title?: Tool<InferOutput<Schema>>["title"];
  preview?: Tool<InferOutput<Schema>>["preview"];
  alwaysAsk?: boolean;
  suggestions?: readonly RuleSuggestion[];
  interactive?: boolean;
  usesSkills?: boolean;
  /** The schema that one request sends, or null to leave the tool out of it. */
  parametersFor?: (offer: ToolOffer, parameters: Record<string, unknown>) => Record<string, unknown> | null;
  resident?: boolean;
  run: Tool<InferOutput<Schema>>["run"];
}

/** A tool from its specification. The JSON Schema is derived when a request first needs it. */
export function defineTool<Schema extends GenericSchema>(spec: ToolSpec<Schema>): Tool<InferOutput<Schema>> {
  let parameters: Record<string, unknown> | undefined;
  return {
    name: spec.name,
    toolsets: spec.toolsets ?? { default: spec.name },
    also: spec.also ?? [],
    description: spec.description.trim(),
    get parameters() {
      parameters ??= jsonSchemaOf(spec.args);
      return parameters;
    },
    // A method: a message names the tool as the model called it.
    parse(args) {
      return parseArguments(this.name, spec.args, args);
    },
    targets: spec.targets ?? ((args) => [{ kind: "tool", name: spec.name, args: asRecord(args) }]),
    resource: spec.resource ?? (() => ({ kind: "barrier" })),
    title: spec.title ?? ((args) => firstText(asRecord(args))),
    ...(spec.preview ? { preview: spec.preview } : {}),
    alwaysAsk: spec.alwaysAsk ?? false,
    ...(spec.suggestions && { suggestions: spec.suggestions }),
    interactive: spec.interactive ?? false,
    ...(spec.usesSkills && { usesSkills: true }),
    ...(spec.parametersFor && {
      offer(this: AnyTool, offer: ToolOffer) {
        const own = spec.parametersFor?.(offer, this.parameters) ?? null;
        return own && Object.create(this, { parameters: { value: own, enumerable: true } });
      },
    }),
    ...(spec.resident && { resident: true }),
    run: spec.run,
  };
}

function asRecord(args: unknown): Record<string, unknown> {
  return typeof args === "object" && args !== null ? { ...args } : {};
}

/** The title of a call when its tool says nothing better: the first line of its first text. */
export function firstText(args: Record<string, unknown>): string {
  const text = Object.values(args).find((value) => typeof value === "string");
  return typeof text === "string" ? (text.split("\n", 1)[0] ?? "") : "";
}
