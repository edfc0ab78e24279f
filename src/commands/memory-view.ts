// `letta memory view`: one HTML page of a memory and its history, written for this user alone and opened.

import { chmodSync, mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { measureContext } from "@/agent/context-shares.ts";
import type { App, Core } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import { openFile, whyNotShown } from "@/lib/open-file.ts";
import type { AgentMemory } from "@/memory/service.ts";
import { collectView } from "@/memory/view/collect.ts";
import { type ContextShare, renderMemoryPage } from "@/memory/view/page.ts";
import { writeFileAtomic } from "@/store/atomic-file.ts";
import { commandContext, withApp } from "./context.ts";
import type { Io } from "./io.ts";
import { openScope, withMemory } from "./memory-scope.ts";
import { type OutputArgs, present } from "./output.ts";
import { resolveConversation, type ScopeArgs } from "./scope.ts";

export interface MemoryViewArgs extends ScopeArgs, OutputArgs {
  out?: string;
  /** `--no-open` is false. */
  open?: boolean;
}

export interface ContextSource {
  shares: ContextShare[];
  /** Null when unknown. */
  window: number | null;
}

const NO_CONTEXT: ContextSource = { shares: [], window: null };

/** Opens what the page is about: in an agent's command the memory alone. */
export async function runMemoryView(data: unknown, args: MemoryViewArgs): Promise<number> {
  const { env } = commandContext(data);
  if (args.agent === undefined && env.memoryDir !== undefined) {
    return withMemory(data, args, ({ core, memory }, io) => showView(core, memory, NO_CONTEXT, args, io));
  }
  return withApp(data, async (app, io) => {
    const { memory } = await openScope(app, args);
    const ref = await resolveConversation(app, { agent: memory.agent.id });
    const context = await readContext(app, ref).catch(() => NO_CONTEXT);
    return showView(app, memory, context, args, io);
  });
}

/** Of the model the conversation uses. Throws what the backend does. */
export async function readContext(app: App, ref: ConversationRef): Promise<ContextSource> {
  const agent = await app.backend.retrieveAgent(ref.agentId);
  const conversation = await app.backend.retrieveConversation(ref.conversationId, ref.agentId);
  const model = conversation.model || agent.model || null;
  const shares = await measureContext(app, ref, model);
  const record = model === null ? null : await app.models.resolveModel(model).catch(() => null);
  return { shares, window: record?.max_context_window ?? null };
}

async function showView(
  core: Core,
  memory: AgentMemory,
  context: ContextSource,
  args: MemoryViewArgs,
  io: Io,
): Promise<number> {
  const out = args.out === undefined ? undefined : resolve(core.cwd, args.out);
  return present(io, args, async () => writeView(core, memory, context, { out, open: args.open !== false }), {
    text: ({ path, opened, why }) => (opened ? `Opened ${path}\n` : `${path}\n${why ? `Not opened ${why}.\n` : ""}`),
  });
}

/** Also of `/memory view`. `out`: absolute; default: a place of our own. */
export async function writeView(
  { paths, env }: Core,
  memory: AgentMemory,
  context: ContextSource,
  { out, open }: { out?: string | undefined; open: boolean },
): Promise<{ path: string; opened: boolean; why: string | null }> {
  const page = renderMemoryPage(await collectView(memory, context, new Date()));
  const path = out ?? `${paths.viewers}/memory-${memory.agent.id}.html`;
  if (out === undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    chmodSync(dirname(path), 0o700);
  }
  writeFileAtomic(path, page, { mode: 0o600 });
  const why = open ? whyNotShown(env.all) : null;
  return { path, opened: open && why === null && openFile(path, env.all), why };
}
