// agents, conversations, messages, runs, export, pin: each against a real database and backend.

import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Message } from "@/backend/wire.ts";
import {
  runAgentsConfig,
  runAgentsCreate,
  runAgentsDelete,
  runAgentsList,
  runAgentsRename,
  runAgentsShow,
} from "@/commands/agents.ts";
import type { StoreApp } from "@/commands/context.ts";
import {
  runConversationsArchive,
  runConversationsDelete,
  runConversationsFork,
  runConversationsList,
  runConversationsRename,
  runConversationsShow,
} from "@/commands/conversations.ts";
import { runExport } from "@/commands/export.ts";
import { runMessagesList, runMessagesSearch, runMessagesTranscript } from "@/commands/messages.ts";
import { runPin } from "@/commands/pin.ts";
import { runRunsList, runRunsShow, runRunsTail } from "@/commands/runs.ts";
import { renderMarkdown } from "@/commands/transcript.ts";
import type { LettaError } from "@/lib/errors.ts";
import { SCRIPTED_HANDLE } from "@/providers/scripted.ts";
import { expectGolden } from "../support/golden.ts";
import { type IoOptions, recordingIo, START, say, stableText, tempApp } from "./support.ts";

const NOW = START + 3 * 3_600_000;
const TTY: IoOptions = { isTty: true, width: 72 };

/** Two agents; the first has a conversation with two turns, the second one with a tool call. */
async function filledApp() {
  const app = await tempApp([
    { text: "Hello Ann.\nHow can I help?" },
    { thinking: "She wants the time.", text: "It is noon." },
    { tools: [{ name: "Bash", args: { command: "ls -la" } }] },
  ]);
  const memo = await app.backend.createAgent({ name: "Memo", model: SCRIPTED_HANDLE, tags: ["work", "go"] });
  const coder = await app.backend.createAgent({
    name: "Coder \x1b[31mred",
    model: SCRIPTED_HANDLE,
    description: "助手",
  });
  const chat = await app.backend.createConversation({ agent_id: memo.id, summary: "Greetings" });
  const ref = { agentId: memo.id, conversationId: chat.id };
  await say(app, ref, "hello, I am Ann");
  await say(app, ref, "what time is it? 几点了");
  const work = await app.backend.createConversation({ agent_id: coder.id, summary: "Files" });
  await say(app, { agentId: coder.id, conversationId: work.id }, "list the files");
  return { app, memo, coder, ref, workId: work.id };
}

const failure = (work: Promise<unknown>) => work.then(String, (error: LettaError) => error.code);
const parse = (text: string) => JSON.parse(text);

test("text on a terminal, the documented JSON in a pipe, one envelope with --json", async () => {
  const { app, memo } = await filledApp();
  const screen = recordingIo(TTY);
  await runAgentsList(app, {}, screen, NOW);
  await runAgentsShow(app, { agent: "memo" }, screen, NOW);
  await runAgentsConfig(app, { agent: memo.id }, screen);
  await runConversationsList(app, { "all-agents": true }, screen, NOW);
  await runConversationsShow(app, { agent: memo.id, conversation: "default" }, screen, NOW);
  await runRunsList(app, { agent: memo.id }, screen, NOW);
  expectGolden("commands/store-text.txt", stableText(app, screen.out));

  const pipe = recordingIo();
  await runAgentsList(app, { name: "Memo" }, pipe);
  expect(parse(pipe.out)).toEqual([await app.backend.retrieveAgent(memo.id)]);
  const envelope = recordingIo(TTY);
  await runAgentsShow(app, { agent: memo.id, json: true }, envelope);
  expect(parse(envelope.out)).toEqual({ ok: true, data: await app.backend.retrieveAgent(memo.id) });
});

test("a failure with --json is an envelope on stdout and a line on stderr; without, it is thrown", async () => {
  const app = await tempApp();
  const io = recordingIo();
  expect(await runAgentsShow(app, { agent: "agent-local-none", json: true }, io)).toBe(4);
  expect(parse(io.out)).toEqual({
    ok: false,
    error: { code: "not_found", message: 'no agent "agent-local-none"', hint: "See: letta agents list" },
  });
  expect(io.err).toBe('Error: no agent "agent-local-none"\nSee: letta agents list\n');
  expect(await failure(runAgentsShow(app, { agent: "agent-local-none" }, recordingIo()))).toBe("not_found");
});

test.each([[{ json: true, format: "text" }], [{ format: "xml" }], [{ limit: "0" }], [{ limit: "many" }]])(
  "agents list %j is a usage error",
  async (args) => {
    const error = await failure(runAgentsList(await tempApp(), args, recordingIo()));
    // An envelope that contradicts itself cannot be asked to report the failure.
    expect(error).toBe("usage");
  },
);

test("create, rename, pin, unpin, delete", async () => {
  const app = await tempApp();
  const io = recordingIo();
  await runAgentsCreate(app, { name: "One", tags: "a, b", model: SCRIPTED_HANDLE, pinned: true }, io);
  const created = parse(io.out) as { id: string; tags: string[]; system: string };
  expect(created.tags).toEqual(["a", "b"]);
  expect(created.system).not.toBe("");
  expect(app.settings.user.agents).toEqual([{ agentId: created.id, baseUrl: app.serverKey, pinned: true }]);

  const text = recordingIo();
  await runAgentsRename(app, { id: "one", name: "Two" }, text);
  await runPin(app, { agent: "two" }, text, false);
  await runPin(app, { agent: created.id }, text, true);
  await runAgentsDelete(app, { id: "two", yes: true }, text);
  expect(text.out.replaceAll(created.id, "ID")).toBe(
    "ID is now called Two\nUnpinned Two (ID)\nPinned Two (ID)\nDeleted Two (ID)\n",
  );
  expect(app.settings.user.agents?.[0]?.pinned).toBe(false);
  expect(await failure(runAgentsCreate(app, { model: "nobody/nothing" }, recordingIo()))).toBe("not_found");
});

test("deleting needs a yes: asked on a terminal, --yes elsewhere", async () => {
  const { app, memo, ref } = await filledApp();
  expect(await failure(runAgentsDelete(app, { id: memo.id }, recordingIo()))).toBe("usage");
  const no = recordingIo({ ...TTY, answer: false });
  expect(await failure(runConversationsDelete(app, { conversation: ref.conversationId }, no))).toBe("cancelled");
  expect(no.questions).toEqual([`Delete conversation "Greetings" (${ref.conversationId}) and its messages?`]);
  expect((await app.backend.retrieveConversation(ref.conversationId)).id).toBe(ref.conversationId);
  const yes = recordingIo({ ...TTY, answer: true });
  expect(await runConversationsDelete(app, { conversation: ref.conversationId }, yes)).toBe(0);
  expect(await failure(app.backend.retrieveConversation(ref.conversationId))).toBe("not_found");
});

test("two agents of one name must be told apart by id", async () => {
  const app = await tempApp();
  for (const name of ["Twin", "twin"]) await app.backend.createAgent({ name });
  expect(await failure(runAgentsShow(app, { agent: "TWIN" }, recordingIo()))).toBe("usage");
});

test("conversations: rename, archive, unarchive, fork, lists", async () => {
  const { app, memo, ref } = await filledApp();
  const conversation = ref.conversationId;
  const io = recordingIo();
  await runConversationsRename(app, { conversation, title: "  Times  " }, io);
  await runConversationsArchive(app, { conversation }, io, true);
  const ids = async (args: object) => {
    const list = recordingIo();
    await runConversationsList(app, { agent: memo.id, ...args }, list);
    return (parse(list.out) as { id: string }[]).map(({ id }) => id);
  };
  expect(await ids({})).toEqual([]);
  expect(await ids({ archived: true })).toEqual([conversation]);
  await runConversationsArchive(app, { conversation }, io, false);
  expect(await ids({ search: "time" })).toEqual([conversation]);
  const fork = recordingIo();
  await runConversationsFork(app, { conversation, format: "json" }, fork);
  const forked = parse(fork.out) as { id: string; in_context_message_ids: string[] };
  expect(forked.in_context_message_ids).toHaveLength(4);
  expect(io.out.replaceAll(conversation, "ID")).toBe("ID is now called Times\nArchived ID\nRestored ID\n");
  expect(await failure(runConversationsRename(app, { conversation, title: " " }, recordingIo()))).toBe("usage");
});

test("messages list: always oldest first, whichever end is taken", async () => {
  const { app, ref } = await filledApp();
  const texts = async (args: object) => {
    const io = recordingIo();
    await runMessagesList(app, { conversation: ref.conversationId, ...args }, io);
    return (parse(io.out) as { message_type: string }[]).map(({ message_type }) =>
      message_type.replace("_message", ""),
    );
  };
  const all = ["user", "assistant", "user", "reasoning", "assistant"];
  expect(await texts({})).toEqual(all);
  expect(await texts({ limit: "2" })).toEqual(["reasoning", "assistant"]);
  expect(await texts({ limit: "2", order: "asc" })).toEqual(["user", "assistant"]);
  expect(await texts({ "start-date": "2027-01-01" })).toEqual([]);
  expect(await texts({ "end-date": "2026-03-01" })).toEqual(all);
  expect(await failure(texts({ "start-date": "yesterday" }))).toBe("usage");
});

test("messages list pages backwards through more than one page", async () => {
  const { app, ref } = await filledApp();
  const io = recordingIo();
  await runMessagesList(app, { conversation: ref.conversationId, limit: "500" }, io);
  const whole = parse(io.out) as { id: string }[];
  const older = recordingIo();
  await runMessagesList(app, { conversation: ref.conversationId, before: whole[2]!.id, limit: "1" }, older);
  expect(parse(older.out)).toEqual([whole[1]]);
});

test("messages search: agent by default, every agent on request", async () => {
  const { app, memo, coder } = await filledApp();
  const found = async (args: object) => {
    const io = recordingIo();
    await runMessagesSearch(app, args, io);
    return (parse(io.out) as { agent_id: string; content: string }[]).map((hit) => hit.content);
  };
  expect(await found({ text: "几点", agent: memo.id })).toEqual(["what time is it? 几点了"]);
  expect(await found({ query: "list the files", agent: memo.id })).toEqual([]);
  expect(await found({ query: "list the files", "all-agents": true })).toEqual(["list the files"]);
  expect(await failure(found({ query: " ", agent: coder.id }))).toBe("usage");
  expect(await failure(found({ query: "x", mode: "vector", agent: coder.id }))).toBe("usage");
  expect(await failure(found({ query: "x", agent: coder.id, "all-agents": true }))).toBe("usage");
});

test("messages search on a terminal: who, when and where, then the words within the width", async () => {
  const { app, memo, ref } = await filledApp();
  const io = recordingIo({ isTty: true, width: 30 });
  await runMessagesSearch(app, { text: "几点", agent: memo.id }, io, NOW);
  expect(io.out).toBe(`2 h ago  user  ${ref.conversationId}\n    what time is it? 几点了\n`);
});

test("without any agent, commands about one say how to get one", async () => {
  const app = await tempApp();
  for (const work of [
    () => runConversationsList(app, {}, recordingIo()),
    () => runMessagesSearch(app, { text: "x" }, recordingIo()),
  ])
    await expect(work()).rejects.toMatchObject({ code: "not_found", message: "there is no agent yet" });
});

test("Markdown shows what was said, not what the harness told the model", () => {
  const message = (content: string): Message => ({
    message_type: "user_message",
    id: "m",
    date: "2026-01-01T00:00:00.000Z",
    content,
  });
  const note = "<system-reminder>\nIt is Monday.\n</system-reminder>";
  const head = { title: "T", agent: "A", conversationId: "c" };
  expect(renderMarkdown(head, [message(`${note}\nhello`), message(note)])).toBe(
    "# T\n\nAgent: A  \nConversation: c\n\n## User · 2026-01-01T00:00:00.000Z\n\nhello\n",
  );
});

test("transcript and export: to stdout and to a new file only", async () => {
  const { app, ref, workId } = await filledApp();
  const io = recordingIo(TTY);
  await runMessagesTranscript(app, { conversation: ref.conversationId }, io);
  io.out += "----\n";
  await runExport(app, { conversation: workId }, io);
  expectGolden("commands/transcripts.txt", stableText(app, io.out));

  await app.backend.updateConversation(ref, { model_settings: { api_key: "k3y-in-settings" } });
  const args = { conversation: ref.conversationId, out: "deep/er/out.json" };
  const written = recordingIo();
  expect(await runExport(app, args, written)).toBe(0);
  const file = JSON.parse(await readFile(join(app.cwd, args.out), "utf8"));
  expect(Object.keys(file)).toEqual(["agent", "conversation", "messages"]);
  expect(file.conversation.model_settings).toEqual({ api_key: "[redacted]" });
  expect(await failure(runExport(app, args, recordingIo()))).toBe("usage");
  const pipe = recordingIo();
  await runMessagesTranscript(app, { conversation: ref.conversationId, limit: "2" }, pipe);
  expect(parse(pipe.out)).toMatchObject({ conversation_id: ref.conversationId, message_count: 5 });
});

test("runs: list, show, tail as lines and as text", async () => {
  const { app, ref, coder, workId } = await filledApp();
  const list = recordingIo();
  await runRunsList(app, { conversation: ref.conversationId, limit: "1" }, list);
  const [run] = parse(list.out) as { id: string; status: string }[];
  expect(run?.status).toBe("completed");
  const lines = recordingIo();
  expect(await runRunsTail(app, { id: run!.id, json: true }, lines)).toBe(0);
  const chunks = lines.out.trim().split("\n").map(parse) as { message_type: string; seq_id: number }[];
  expect(chunks.some((chunk) => chunk.message_type === "stop_reason")).toBe(true);
  const later = recordingIo();
  await runRunsTail(app, { id: run!.id, json: true, after: String(chunks[0]!.seq_id) }, later);
  expect(later.out.trim().split("\n")).toHaveLength(chunks.length - 1);

  const text = recordingIo(TTY);
  await runRunsTail(app, { id: run!.id }, text);
  const [tool] = await app.backend.listRuns({ agentId: coder.id, conversationId: workId });
  await runRunsTail(app, { id: tool!.id }, text);
  expect(text.out).toBe(
    'She wants the time.\nIt is noon.\nstop end_turn\ntool_call Bash {"command":"ls -la"}\nstop requires_approval\n',
  );
  const shown = recordingIo();
  await runRunsShow(app, { id: tool!.id }, shown);
  expect(parse(shown.out)).toMatchObject({ id: tool!.id, stop_reason: "requires_approval" });
  expect(await failure(runRunsTail(app, { id: "local-run-none" }, recordingIo()))).toBe("not_found");
});

test("scope: flag, then environment, then this directory's last conversation, then the user's", async () => {
  const { app, memo, coder, ref, workId } = await filledApp();
  const shown = async (vars: Partial<StoreApp["env"]>, args: object = {}) => {
    const io = recordingIo();
    await runConversationsShow({ ...app, env: { ...app.env, ...vars } }, args, io);
    const { id, agent_id } = parse(io.out) as { id: string; agent_id: string };
    return { id, agent_id };
  };
  expect(await failure(shown({}))).toBe("usage");
  await app.settings.updateUser((settings) => {
    settings.sessionsByServer = { [app.serverKey]: { agentId: coder.id, conversationId: workId } };
  });
  expect(await shown({})).toEqual({ id: workId, agent_id: coder.id });
  await app.settings.updateLocal((settings) => {
    settings.sessionsByServer = { [app.serverKey]: ref };
  });
  expect(await shown({})).toEqual({ id: ref.conversationId, agent_id: memo.id });
  expect(await shown({ agentId: coder.id })).toEqual({ id: "default", agent_id: coder.id });
  expect(await shown({ conversationId: workId })).toEqual({ id: workId, agent_id: coder.id });
  expect(await shown({ agentId: coder.id }, { conversation: ref.conversationId })).toEqual({
    id: ref.conversationId,
    agent_id: memo.id,
  });
  expect(await shown({}, { conversation: coder.id })).toEqual({ id: "default", agent_id: coder.id });
  expect(await failure(shown({}, { conversation: workId, agent: memo.id }))).toBe("usage");
});

test("scope: at last what a script used here, or the only agent there is", async () => {
  const app = await tempApp();
  const only = await app.backend.createAgent({ name: "Only" });
  const shown = async () => {
    const io = recordingIo();
    await runAgentsShow(app, {}, io);
    return parse(io.out).id as string;
  };
  expect(await shown()).toBe(only.id);
  const second = await app.backend.createAgent({ name: "Second" });
  expect(await failure(shown())).toBe("usage");
  await app.settings.updateLocal((settings) => {
    settings.headlessByServer = { [app.serverKey]: { agentId: second.id, conversationId: "default" } };
  });
  expect(await shown()).toBe(second.id);
});

test("agents config says what is in force and hides secrets", async () => {
  const { app, memo, ref } = await filledApp();
  await app.backend.updateAgent(memo.id, { model_settings: { api_key: "sk-1", max_tokens: 100 } });
  await app.backend.updateConversation(ref, { model: "other/model" });
  const io = recordingIo();
  await runAgentsConfig(app, { conversation: ref.conversationId }, io);
  expect(io.out).not.toContain("sk-1");
  expect(parse(io.out)).toMatchObject({
    agent: { id: memo.id, model: SCRIPTED_HANDLE, model_settings: { api_key: "[redacted]", max_tokens: 100 } },
    conversation: { id: ref.conversationId },
    effective: { scope: "conversation", model: "other/model" },
  });
});
