// A local backend over a real file, an agent and a conversation, for tests of what only the local backend does.

import type { Database } from "bun:sqlite";
import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Backend, ConversationRef, SendOptions } from "@/backend/backend.ts";
import type { ContextOptions } from "@/backend/local/context.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { AgentCreate, InputMessage, StreamChunk } from "@/backend/wire.ts";
import { openDatabase } from "@/store/db.ts";
import { FakeModel } from "../../support/fake-model.ts";
import { brief, collect } from "../contract.ts";

const dir = mkdtempSync(join(tmpdir(), "letta-backend-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let count = 0;

export interface Setup {
  path: string;
  db: Database;
  model: FakeModel;
  backend: Backend;
  ref: ConversationRef;
  warnings: string[];
  send(...messages: InputMessage[]): Promise<StreamChunk[]>;
  sendWith(options: SendOptions, ...messages: InputMessage[]): Promise<StreamChunk[]>;
  history(): Promise<string[]>;
  /** A second backend on the same file, as another process would have it. */
  another(options?: Partial<ContextOptions>): Backend;
}

export function freshPath(): string {
  return join(dir, `${count++}`, "letta.db");
}

export async function setup(
  agent: AgentCreate = {},
  model = new FakeModel(),
  options: Partial<ContextOptions> = {},
): Promise<Setup> {
  const path = freshPath();
  const db = openDatabase(path);
  const warnings: string[] = [];
  const backend = createLocalBackend({ db, models: model, onWarning: (text) => warnings.push(text), ...options });
  const { id: agentId } = await backend.createAgent({
    name: "Ada",
    system: "You are Ada.",
    model: "fake/model",
    ...agent,
  });
  const conversation = await backend.createConversation({ agent_id: agentId });
  const ref = { agentId, conversationId: conversation.id };
  const sendWith: Setup["sendWith"] = (options, ...messages) =>
    collect(backend.sendMessages(ref, { messages }, options));
  return {
    path,
    db,
    model,
    backend,
    ref,
    warnings,
    sendWith,
    send: (...messages) => sendWith({}, ...messages),
    history: async () => (await backend.listMessages(ref, { order: "asc", limit: 10_000 })).items.map(brief),
    another: (options = {}) => createLocalBackend({ db: openDatabase(path), models: new FakeModel(), ...options }),
  };
}
