import { expect, test } from "bun:test";
import { join } from "node:path";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { createMemories } from "@/memory/memories.ts";
import { createReflection, type DreamNews, type ReflectionOptions } from "@/memory/reflection/service.ts";
import { createScriptedAdapter } from "@/providers/scripted.ts";
import { openDatabase } from "@/store/db.ts";
import { readEnv } from "@/store/env.ts";
import { createLeases } from "@/store/leases.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";
import { tempHome } from "../../support/binary.ts";
import { startModelServer } from "../../support/model-server.ts";

/** An agent with a conversation of that many turns, and reflection as one process has it. Dreamers are real child
 *  processes that talk to a scripted model. */
async function office(
  turns: number,
  options: Partial<ReflectionOptions> & { settings?: never } & { user?: object } = {},
) {
  const home = tempHome();
  const dreamers: string[] = [];
  const gates: (() => void)[] = [];
  let hold = false;
  const server = await startModelServer((request) => {
    dreamers.push(JSON.stringify(request.body));
    const gate = hold ? new Promise<void>((resolve) => gates.push(resolve)) : undefined;
    return { text: "Nothing worth keeping.", ...(gate && { gate }) };
  });
  const env = readEnv({
    PATH: process.env.PATH,
    HOME: home.path,
    TMPDIR: join(home.path, "tmp"),
    LETTA_SKIP_KEYCHAIN_CHECK: "1",
    LMSTUDIO_BASE_URL: `${server.url}/v1`,
  });
  const paths = resolvePaths(env);
  await Bun.write(paths.settings, JSON.stringify(options.user ?? { reflectionStepCount: 3 }));
  const settings = await openSettings({ paths, cwd: home.workdir });
  const db = openDatabase(paths.database);
  const models = createScriptedAdapter(Array.from({ length: 100 }, () => ({ text: "Yes." })));
  const backend = createLocalBackend({ db, models });
  const memories = createMemories({ paths, git: () => import("@/store/git/repository.ts") });
  const agent = await backend.createAgent({ name: "A", model: "lmstudio/m" });
  const { id: conversationId } = await backend.createConversation({ agent_id: agent.id });
  const ref = { agentId: agent.id, conversationId };
  const watchdog = createWatchdog({ path: process.env.PATH! });
  const { user: _, ...more } = options;
  const open = (patch: Partial<ReflectionOptions> = {}) =>
    createReflection({
      db,
      backend,
      leases: createLeases(db),
      settings,
      env,
      paths,
      memoryOf: (state) => memories.find(state),
      openRedaction: async () => (text) => text,
      whenDue: "in_background",
      label: "test",
      watchdog: () => watchdog,
      ...more,
      ...patch,
    });
  const say = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const body = {
        messages: [{ type: "message" as const, role: "user" as const, content: "Well?" }],
        override_model: "scripted/stand-in",
      };
      for await (const _chunk of backend.sendMessages(ref, body)) {
      }
    }
  };
  await say(turns);
  const reflection = open();
  const news: DreamNews[] = [];
  const waiting: (() => void)[] = [];
  reflection.onNews((item) => {
    news.push(item);
    for (const resolve of waiting.splice(0)) resolve();
  });
  return {
    ref,
    open,
    reflection,
    news,
    say,
    dreamers,
    /** The next dreams wait until they are let go. */
    hold: () => {
      hold = true;
    },
    release: () => {
      hold = false;
      for (const open of gates.splice(0)) open();
    },
    untilNews: () => new Promise<void>((resolve) => (news.length > 0 ? resolve() : waiting.push(resolve))),
    ended: { ...ref, isCompleted: true, compactions: [] as string[] },
    [Symbol.asyncDispose]: async () => {
      await reflection.close();
      watchdog.close();
      await backend.close();
      db.close();
      await server.close();
      home[Symbol.dispose]();
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(10);
}

test("whoever keeps the memory elsewhere, too, hears of a dream's end", async () => {
  await using office1 = await office(1);
  const changed: string[] = [];
  const { open, ended } = office1;
  const reflection = open({ onChange: (agentId) => void changed.push(agentId) });
  const dream = () => reflection.dream({ agentId: ended.agentId, from: { conversations: [ended.conversationId] } });
  expect(await dream()).toMatchObject({ launched: true });
  expect(changed).toEqual([ended.agentId]);
  // Nothing new was said: there was no dream.
  expect(await dream()).toMatchObject({ launched: false });
  expect(changed).toHaveLength(1);
}, 30_000);

test("after enough replies the agent dreams, once, and then not before as many more", async () => {
  await using office1 = await office(2);
  const { reflection, ended, say, news, dreamers, untilNews } = office1;
  reflection.afterTurn(ended);
  await say(1);
  // Not completed: the turn was interrupted.
  reflection.afterTurn({ ...ended, isCompleted: false });
  expect(await reflection.list(ended.agentId)).toEqual([]);
  reflection.afterTurn(ended);
  await untilNews();
  expect(news).toMatchObject([{ result: { launched: true, outcome: { status: "no_changes" } } }]);
  expect(dreamers).toHaveLength(1);
  await say(2);
  expect(
    await reflection.dream({ agentId: ended.agentId, from: { conversations: [ended.conversationId] }, ifDue: true }),
  ).toMatchObject({
    launched: false,
    reason: "not_due",
    because: "not_enough_steps",
  });
}, 30_000);

test("one dream per agent: a second one of any process finds it busy; who asked meanwhile is looked at again", async () => {
  await using office1 = await office(3);
  const { reflection, open, ended, hold, release, say, news, dreamers } = office1;
  hold();
  reflection.afterTurn(ended);
  await until(() => dreamers.length === 1);
  const other = open({ label: "other process" });
  const from = { conversations: [ended.conversationId] };
  expect(await other.dream({ agentId: ended.agentId, from })).toMatchObject({
    launched: false,
    reason: "already_active",
  });
  // Due again while it runs: remembered, and judged anew when it has ended.
  await say(3);
  reflection.afterTurn(ended);
  release();
  await until(() => news.length === 2);
  expect(dreamers).toHaveLength(2);
  expect(news.map(({ result }) => "launched" in result && result.launched)).toEqual([true, true]);
}, 30_000);

test("a compaction is waited for, remembered, and forgotten when reflection is off", async () => {
  await using office1 = await office(1, { user: { reflectionTrigger: "compaction-event" } });
  const { reflection, open, ended, untilNews, news } = office1;
  const ask = () =>
    reflection.dream({ agentId: ended.agentId, from: { conversations: [ended.conversationId] }, ifDue: true });
  expect(await ask()).toMatchObject({ reason: "not_due", because: "no_compaction" });
  // Interrupted, so nothing begins; the compaction is not forgotten.
  reflection.afterTurn({ ...ended, isCompleted: false, compactions: ["s1"] });
  open({ flags: { trigger: "off" } }).afterTurn(ended);
  expect(await ask()).toMatchObject({ reason: "not_due" });
  reflection.afterTurn({ ...ended, compactions: ["s2"] });
  await untilNews();
  expect(news).toMatchObject([{ result: { launched: true } }]);
  expect(await ask()).toMatchObject({ reason: "not_due" });
}, 30_000);

test("one prompt hands it over to another process, when the settings ask for reflection by name", async () => {
  await using asked = await office(3, {
    whenDue: "at_exit",
    user: { reflectionTrigger: "step-count", reflectionStepCount: 3 },
  });
  asked.reflection.afterTurn(asked.ended);
  expect(await asked.reflection.takeDueAtExit()).toEqual(asked.ref);
  expect(await asked.reflection.takeDueAtExit()).toBeNull();
  await using silent = await office(3, { whenDue: "at_exit" });
  silent.reflection.afterTurn(silent.ended);
  expect(await silent.reflection.takeDueAtExit()).toBeNull();
});

test("closing stops a dream, and nothing of it counts", async () => {
  await using office1 = await office(3);
  const { reflection, open, ended, hold, dreamers } = office1;
  hold();
  reflection.afterTurn(ended);
  await until(() => dreamers.length === 1);
  await reflection.close();
  const [record] = await open().list(ended.agentId);
  expect(record).toMatchObject({ end: "stopped" });
}, 30_000);

test("several conversations go into one dream, those with most to look back on first", async () => {
  await using office1 = await office(2);
  const { reflection, ended, ref, dreamers } = office1;
  const result = await reflection.dream({ agentId: ended.agentId, from: { auto: true, current: ref.conversationId } });
  expect(result).toMatchObject({ launched: true, conversationIds: [ref.conversationId] });
  // Looked at again on request only.
  expect(await reflection.dream({ agentId: ended.agentId, from: { auto: true, current: null } })).toMatchObject({
    reason: "no_payload",
  });
  expect(await reflection.dream({ agentId: ended.agentId, from: { recent: 2 } })).toMatchObject({ launched: true });
  expect(dreamers).toHaveLength(2);
}, 30_000);
