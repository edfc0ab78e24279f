import { sendSkill } from "../send-skill.ts";
import type { ReplCommand } from "./command.ts";

const SKILL = "creating-skills";

export const skillCreator: ReplCommand = {
  name: "skill-creator",
  args: "[what it should do]",
  summary: "Write a skill together with the agent",
  skill: SKILL,
  isMessage: true,
  whileBusy: true,
  run: (args, session) => sendSkill(session, SKILL, args, `/skill-creator${args ? ` ${args}` : ""}`),
};
