// Skills as slash commands: `/skill-id args`.

import { toPlainLine } from "@/lib/terminal-text.ts";
import type { Skill } from "@/skills/types.ts";
import type { ReplCommand } from "./commands/command.ts";
import { COMMANDS } from "./commands/registry.ts";
import { sendSkill } from "./send-skill.ts";
import type { ReplSession } from "./session.ts";

/** For `/name`: undefined when there is no such skill, or none for people. */
export function findSkillCommand(session: ReplSession, name: string): ReplCommand | undefined {
  const { skills, agentSkills } = session.app;
  if (skills.sources.length === 0) return undefined;
  const skill = skills.find(agentSkills.place(session.agent), name);
  return skill?.userInvocable ? toCommand(skill) : undefined;
}

/** For completion. A skill that a command stands in front of is reached by that. */
export function listSkillCommands(session: ReplSession): ReplCommand[] {
  const { skills, agentSkills } = session.app;
  if (skills.sources.length === 0) return [];
  const fronted = new Set(COMMANDS.flatMap(({ skill }) => skill ?? []));
  return [...skills.discover(agentSkills.place(session.agent)).skills.values()]
    .filter(({ id, source, userInvocable }) => userInvocable && !(source === "bundled" && fronted.has(id)))
    .map(toCommand);
}

function toCommand({ id, description, argumentHint, source }: Skill): ReplCommand {
  return {
    name: id,
    ...(argumentHint !== null && { args: toPlainLine(argumentHint) }),
    summary: `${toPlainLine(description)} (${source} skill)`,
    whileBusy: true,
    isMessage: true,
    run: (args, session) => sendSkill(session, id, args, `/${id}${args ? ` ${args}` : ""}`),
  };
}
