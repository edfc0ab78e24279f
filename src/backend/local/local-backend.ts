// The local backend: an in-process Letta server over the database. Everything it does is in the files beside it; this one
// puts them behind the `Backend` interface. The database belongs to the caller, who closes it after `close()`.

import type { Database } from "bun:sqlite";
import { type Backend, conversationKey } from "@/backend/backend.ts";
import { durable, storageError } from "@/store/db.ts";
import { createAgent, deleteAgent, getAgent, listAgents, updateAgent } from "./agents.ts";
import { cancelConversation } from "./cancel.ts";
import { compactConversation, undoCompaction } from "./compaction.ts";
import { type ContextOptions, createContext } from "./context.ts";
import {
  createConversation,
  deleteConversation,
  ensureConversationRow,
  getConversationRow,
  listConversations,
  retrieveConversation,
  updateConversation,
} from "./conversations.ts";
import { forkConversation } from "./fork.ts";
import { listMessages, resumeTail, retrieveMessage } from "./messages.ts";
import { forgetPrompt, previewPrompt, resolvePrompt } from "./prompt.ts";
import { listRuns, pruneChunks, recoverDeadRuns, retrieveRun, streamRun } from "./runs.ts";
import { searchMessages } from "./search.ts";
import { sendMessages } from "./send.ts";

export function createLocalBackend(options: ContextOptions): Backend {
  const context = createContext(options);
  const { db } = context;
  /** Every failure of the file or the disk names the file, whichever statement met it. */
  const op = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw storageError(db.filename, error);
    }
  };

  return {
    kind: "local",
    capabilities: {
      remoteMemory: false,
      localMemory: true,
      localModelCatalog: true,
      serverSecrets: false,
      serverSideTools: false,
    },

    retrieveAgent: (id) => op(() => getAgent(context, id)),
    listAgents: (query) => op(() => listAgents(context, query)),
    createAgent: (body) =>
      op(async () => {
        const agent = createAgent(context, body);
        try {
          await context.memory?.create(agent, body.memory_blocks);
        } catch (error) {
          // An agent that was asked for with a memory is not left behind without it.
          deleteAgent(context, agent.id);
          throw error;
        }
        return agent;
      }),
    updateAgent: (id, patch) => op(() => updateAgent(context, id, patch)),
    deleteAgent: (id) => op(() => deleteAgent(context, id)),

    retrieveConversation: (id, agentId) => op(() => retrieveConversation(context, id, agentId)),
    listConversations: (query) => op(() => listConversations(context, query)),
    createConversation: (body) => op(() => createConversation(context, body)),
    updateConversation: (ref, patch) => op(() => updateConversation(context, ref, patch)),
    deleteConversation: (ref) => op(() => deleteConversation(context, ref)),
    forkConversation: (ref, fork) => op(() => forkConversation(context, ref, fork)),

    listMessages: (ref, query) =>
      op(() => {
        recoverDeadRuns(context);
        return listMessages(context, ref, query);
      }),
    retrieveMessage: (id) => op(() => retrieveMessage(context, id)),
    resumeTail: (ref, limit) =>
      op(() => {
        recoverDeadRuns(context);
        return resumeTail(context, ref, limit);
      }),
    searchMessages: (query) => op(() => searchMessages(context, query)),

    sendMessages: (ref, body, send) => named(db, sendMessages(context, ref, body, send)),
    streamRun: (runId, query) => named(db, streamRun(context, runId, query)),
    retrieveRun: (id) => op(() => retrieveRun(context, id)),
    listRuns: (ref, query) => op(() => listRuns(context, ref, query)),
    cancelConversation: (ref) => op(() => cancelConversation(context, ref)),

    compactConversation: (ref, settings, send) => op(() => compactConversation(context, ref, settings, send)),
    undoCompaction: (ref) => op(() => undoCompaction(context, ref)),
    recompileConversation: (ref, recompile = {}) =>
      op(() => {
        const agent = getAgent(context, getConversationRow(context, ref).agent_id);
        if (recompile.dryRun) return previewPrompt(context, ref, agent);
        durable(db, () => {
          ensureConversationRow(context, ref);
          forgetPrompt(context, conversationKey(ref));
        });
        return resolvePrompt(context, ref, agent, { mayChange: true });
      }),

    listModels: () => op(() => context.models.listModels()),
    close: async () => {
      for (const controller of context.activeRuns.values()) controller.abort();
      pruneChunks(context);
    },
  };
}

async function* named<T>(db: Database, source: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    throw storageError(db.filename, error);
  }
}
