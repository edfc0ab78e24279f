import { LettaError } from "@/lib/errors.ts";
import type { DreamCommand } from "@/memory/reflection/service.ts";
import type { ReplSession } from "../session.ts";
import type { ReplCommand } from "./command.ts";

const USAGE = "Usage: /reflect [--recent N | --conversation ID … | --auto] [--instruction TEXT]";

export const reflect: ReplCommand = {
  name: "reflect",
  aliases: ["reflection"],
  args: "[--auto] [--instruction TEXT]",
  summary: "Look back on this conversation now, and update the memory",
  whileBusy: true,
  run(args, session) {
    const { from, instruction } = parseReflect(args, session);
    const { agent, app } = session;
    if (app.reflection.isDreaming(agent.id)) return session.say("The agent is looking back already.");
    session.say("Looking back in the background; you are told what comes of it.");
    // Not awaited: the next message does not wait for it.
    void tell(session, app.reflection.dream({ agentId: agent.id, from, ...(instruction && { instruction }) }));
  },
};

async function tell(
  session: ReplSession,
  dreaming: ReturnType<ReplSession["app"]["reflection"]["dream"]>,
): Promise<void> {
  try {
    const [{ describeResult }, result] = await Promise.all([import("@/memory/reflection/describe.ts"), dreaming]);
    if (!session.exiting) session.say(describeResult(result).join("\n"));
  } catch (error) {
    if (!session.exiting) session.showError(error);
  }
}

export function parseReflect(
  args: string,
  { ref }: Pick<ReplSession, "ref">,
): { from: DreamCommand["from"]; instruction?: string } {
  const [, flags = "", text] =
    /^([\s\S]*?)(?:(?:^|\s)(?:--instruction|-i|--)(?:[ =]|$)([\s\S]*))?$/.exec(args.trim()) ?? [];
  const instruction = text?.trim();
  const words = flags.trim().split(/\s+/).filter(Boolean);
  const source = parseSource(words, ref.conversationId);
  if (!source || instruction === "") throw new LettaError("usage", USAGE);
  return { from: source, ...(instruction && { instruction }) };
}

function parseSource([flag, ...rest]: string[], current: string): DreamCommand["from"] | null {
  if (flag === undefined) return { conversations: [current] };
  if (flag === "--auto" && rest.length === 0) return { auto: true, current };
  if (flag === "--recent" && rest.length === 1 && /^[1-9]\d*$/.test(rest[0]!)) return { recent: Number(rest[0]) };
  const ids = rest.filter((word) => word !== "--conversation");
  if (flag === "--conversation" && ids.length > 0 && ids.every((id) => !id.startsWith("-"))) {
    return { conversations: ids, reason: "named" };
  }
  return null;
}
