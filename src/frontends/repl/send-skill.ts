// A skill called by a person: its text and the words go out as one message; on screen stands what was typed.

import type { ReplSession } from "./session.ts";

/** Throws what loading it throws. */
export async function sendSkill(session: ReplSession, id: string, args: string, shown: string): Promise<void> {
  const { skills, agentSkills } = session.app;
  const loaded = await skills.load(agentSkills.place(session.agent), { id, args, by: "person" });
  const words = loaded.unusedArgs;
  session.send(
    [
      { type: "text", text: words === "" ? loaded.text : `${loaded.text}\n\n`, keep: true },
      ...(words === "" ? [] : [{ type: "text" as const, text: words }]),
    ],
    { shown, allow: loaded.allow },
  );
}
