// The local backend: an in-process Letta server over the database. Everything it does is in the files beside it; this one
// puts them behind the `Backend` interface. The database belongs to the caller, who closes it after `close()`.

import type { Database } from "bun:sqlite";
import { type Backend, conversationKey } from "@/backend/backend.ts";
import type { ModelAdapter } from "@/backend/model.ts";
import { durable, storageError } from "@/store/db.ts";
import { currentOwner } from "@/store/owner.ts";
import { createAgent, deleteAgent, getAgent, listAgents, updateAgent } from "./agents.ts";
import { cancelConversation } from "./cancel.ts";
import { compactConversation, undoCompaction } from "./compaction.ts";
import type { LocalContext } from "./context.ts";
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
import { compilePrompt, savePrompt } from "./prompt.ts";
import { listRuns, pruneChunks, recoverDeadRuns, retrieveRun, streamRun } from "./runs.ts";
import { searchMessages } from "./search.ts";
import { sendMessages } from "./send.ts";

export interface LocalBackendOptions {
  db: Database;
  /** A function is called when a model is first needed, so that providers load lazily. */
  models: ModelAdapter | (() => Promise<ModelAdapter>);
  now?: () => number;
  /** For people; each text is given once. */
  onWarning?: (text: string) => void;
}

export function createLocalBackend(options: LocalBackendOptions): Backend {
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
    createAgent: (body) => op(() => createAgent(context, body)),
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
        if (recompile.dryRun) return compilePrompt(agent.system);
        return durable(db, () => {
          ensureConversationRow(context, ref);
          return savePrompt(context, conversationKey(ref), agent);
        });
      }),

    listModels: () => op(async () => (await context.models()).listModels()),
    close: async () => {
      for (const controller of context.activeRuns.values()) controller.abort();
      pruneChunks(context);
    },
  };
}

function createContext(options: LocalBackendOptions): LocalContext {
  const { models, now = Date.now, onWarning } = options;
  const warned = new Set<string>();
  let loading: Promise<ModelAdapter> | null = null;
  return {
    db: options.db,
    owner: currentOwner(),
    now,
    isoNow: () => new Date(now()).toISOString(),
    models: () => {
      if (typeof models !== "function") return Promise.resolve(models);
      loading ??= models().catch((error: unknown) => {
        loading = null; // the next request tries again
        throw error;
      });
      return loading;
    },
    warnOnce: (text) => {
      if (warned.has(text)) return;
      warned.add(text);
      onWarning?.(text);
    },
    activeRuns: new Map(),
    unfinishedRuns: new Set(),
    windowCache: new Map(),
  };
}

async function* named<T>(db: Database, source: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    throw storageError(db.filename, error);
  }
}
