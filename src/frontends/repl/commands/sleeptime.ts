import { LettaError } from "@/lib/errors.ts";
import { plural } from "@/lib/text.ts";
import type { ReflectionChange, ReflectionChoice } from "@/memory/reflection/settings.ts";
import type { ReplSession } from "../session.ts";
import type { ReplCommand } from "./command.ts";

const USAGE = "Usage: /sleeptime [off | N | compaction | auto | review | explicit] [--default]";

export const sleeptime: ReplCommand = {
  name: "sleeptime",
  args: "[off|N|compaction] [--default]",
  summary: "When the agent looks back on its conversations, and what happens with the result",
  async run(args, session) {
    const words = args.split(/\s+/).filter(Boolean);
    const isDefault = words.includes("--default");
    const chosen = words.filter((word) => word !== "--default");
    const change = chosen.length > 0 ? parseChange(chosen) : await pick(session);
    if (!change) return;
    const { saveReflection } = await import("@/memory/reflection/settings.ts");
    await saveReflection(session.app.settings, isDefault ? null : session.agent.id, change);
    const whose = isDefault ? "every agent without a choice of its own" : session.agent.name;
    session.say(`For ${whose}: ${describeChoice(session.app.reflection.choice(session.agent.id))}`);
  },
};

export function parseChange(words: string[]): ReflectionChange {
  const change: ReflectionChange = {};
  for (const word of words) {
    if (word === "off") change.trigger = "off";
    else if (/^[1-9]\d{0,6}$/.test(word)) Object.assign(change, { trigger: "step-count", stepCount: Number(word) });
    else if (word === "compaction" || word === "compaction-event") change.trigger = "compaction-event";
    else if (word === "auto" || word === "review" || word === "explicit") change.merge = word;
    else throw new LettaError("usage", `${USAGE}; not "${word}"`);
  }
  return change;
}

export function describeChoice({ trigger, stepCount, merge }: ReflectionChoice): string {
  if (trigger === "off") return "it looks back only when asked (/reflect)";
  const when = trigger === "step-count" ? `after ${plural(stepCount, "reply", "replies")}` : "after a compaction";
  const then = {
    auto: "what is sound becomes part of the memory",
    review: "you decide about the result (/dreams)",
    explicit: "the agent itself looks at the result first",
  }[merge];
  return `it looks back ${when}, and ${then}`;
}

async function pick({ app, agent, ui }: ReplSession): Promise<ReflectionChange | null> {
  const choice = app.reflection.choice(agent.id);
  const answer = await ui.choose<ReflectionChange>({
    title: [ui.theme.bold("When does the agent look back?"), ui.theme.dim(describeChoice(choice))],
    items: [
      {
        value: { trigger: "step-count" },
        label: `After ${plural(choice.stepCount, "reply", "replies")}`,
        hint: "/sleeptime N changes the number",
      },
      { value: { trigger: "compaction-event" }, label: "After a compaction" },
      { value: { trigger: "off" }, label: "Only when asked", hint: "/reflect" },
      { value: { merge: "review" }, label: "I decide about each result" },
      { value: { merge: "auto" }, label: "What is sound is taken over by itself" },
    ],
  });
  return answer?.values[0] ?? null;
}
