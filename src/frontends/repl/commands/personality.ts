import { LettaError } from "@/lib/errors.ts";
import { PERSONALITIES } from "@/memory/personalities.ts";
import type { ReplCommand } from "./command.ts";

export const personality: ReplCommand = {
  name: "personality",
  args: "[name]",
  summary: "Give the agent another personality",
  async run(args, session) {
    const memory = session.app.memories?.find(session.agent);
    if (!memory) throw new LettaError("usage", "This agent has no memory to hold a personality");
    const [{ detectPersonality, findPersonality }, { switchPersonality }, { PERSONA_PATH }, { decodeLoosely }] =
      await Promise.all([
        import("@/memory/presets.ts"),
        import("@/memory/switch-personality.ts"),
        import("@/memory/places.ts"),
        import("@/memory/validate.ts"),
      ]);
    const persona = await (await memory.files()).read(PERSONA_PATH);
    const current = persona && detectPersonality(decodeLoosely(persona));
    const name = args || (await pickPersonality(session, current?.id));
    if (!name) return;
    const wanted = findPersonality(name);
    if (!wanted) {
      const names = PERSONALITIES.map(({ id }) => id).join(", ");
      throw new LettaError("usage", `There is no personality "${name}"; choose ${names}`);
    }
    const commit = await switchPersonality(memory, wanted);
    if (!commit) return session.say(`Personality unchanged: ${wanted.label}`);
    session.say(`Personality: ${wanted.label}, from the next message on (commit ${commit.oid.slice(0, 7)} in memory)`);
  },
};

/** Undefined when nothing was chosen. */
export async function pickPersonality(
  { ui }: Parameters<ReplCommand["run"]>[1],
  current: string | undefined,
): Promise<string | undefined> {
  const answer = await ui.choose({
    title: [ui.theme.bold("Personality")],
    initial: Math.max(
      0,
      PERSONALITIES.findIndex(({ id }) => id === current),
    ),
    items: PERSONALITIES.map(({ id, label, summary }) => ({
      value: id,
      label,
      hint: id === current ? `${summary} · current` : summary,
    })),
  });
  return answer?.values[0];
}
