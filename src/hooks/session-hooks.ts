// Hooks at the ends of a session and beside it: SessionStart, SessionEnd, Notification. A front end says that a session
// began; closing the app ends it. Nothing here holds up the first prompt: the first message waits for SessionStart.

import { orAbort, wait } from "@/lib/abort.ts";
import { SESSION_END_TIMEOUT_MS } from "./limits.ts";
import { contextOf, type HookInput, type HookNotice, type HookPlace, type Hooks } from "./service.ts";

/** What a front end opened. */
export interface OpenedSession {
  agent: { id: string; name: string };
  conversation: { id: string; last_message_at: string | null };
  /** Handle; "" when nothing is connected. */
  model: string;
}

export interface SessionHooks {
  /** Returns at once; SessionStart hooks run behind it. */
  begin(session: OpenedSession): void;
  /** Resolves when SessionStart hooks have ended, or the signal aborts. */
  ready(signal: AbortSignal): Promise<void>;
  /** What SessionStart hooks have for the first message; empty the second time. */
  takeContext(): string[];
  /** What people should know since the last call. */
  takeNotices(): HookNotice[];
  /** Tells Notification hooks; nobody waits for them. */
  notify(message: string, level: "info" | "warning" | "error"): void;
  count(used: { messages: number; toolCalls: number }): void;
  /** Runs SessionEnd hooks when a session began, and gives what still runs a moment. */
  end(): Promise<void>;
}

export function createSessionHooks(hooks: Hooks, cwd: () => string, now: () => number = Date.now): SessionHooks {
  let session: (OpenedSession & { startedAt: number; messages: number; toolCalls: number }) | null = null;
  const context: string[] = [];
  const notices: HookNotice[] = [];
  const running = new Set<Promise<void>>();
  let starting: Promise<void> = Promise.resolve();

  const placeOf = ({ agent, conversation, model }: OpenedSession): HookPlace => ({
    agentId: agent.id,
    conversationId: conversation.id,
    model: model || null,
    cwd: cwd(),
    signal: NEVER,
  });
  const track = (work: Promise<void>): Promise<void> => {
    running.add(work);
    void work.finally(() => running.delete(work));
    return work;
  };
  const observe = async (input: HookInput, place: HookPlace): Promise<void> => {
    const result = await hooks.run(input, place);
    notices.push(...result.notices);
    if (input.event_type === "SessionStart") context.push(...contextOf(result, "with_text"));
  };

  return {
    begin(started) {
      session = { ...started, startedAt: now(), messages: 0, toolCalls: 0 };
      if (!hooks.has("SessionStart")) return;
      const { agent, conversation } = started;
      const is_new_session = conversation.last_message_at === null;
      const about = { agent_name: agent.name, conversation_id: conversation.id, is_new_session };
      starting = track(observe({ event_type: "SessionStart", ...about }, placeOf(started)));
    },
    async ready(signal) {
      const gaveUp = (): void => {}; // What is found later is kept for the next message.
      await orAbort(starting, signal).catch(gaveUp);
    },
    takeContext: () => context.splice(0),
    takeNotices: () => notices.splice(0),
    notify(message, level) {
      if (!session || !hooks.has("Notification")) return;
      void track(observe({ event_type: "Notification", message, level }, placeOf(session)));
    },
    count({ messages, toolCalls }) {
      if (!session) return;
      session.messages += messages;
      session.toolCalls += toolCalls;
    },
    async end() {
      if (session && hooks.has("SessionEnd")) {
        const { startedAt, messages, toolCalls, conversation } = session;
        const used = { duration_ms: now() - startedAt, message_count: messages, tool_call_count: toolCalls };
        const input = { event_type: "SessionEnd" as const, conversation_id: conversation.id, ...used };
        await observe(input, placeOf(session));
      }
      session = null;
      if (running.size > 0) await Promise.race([Promise.all(running), wait(SESSION_END_TIMEOUT_MS)]);
    },
  };
}

/** These hooks end with their own timeouts, or with the process. */
const NEVER = new AbortController().signal;
