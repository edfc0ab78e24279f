// `/init`, `/remember` and `/doctor`: the agent is asked, in words of ours, to work on its memory.

import { doctorPrompt, initPrompt, rememberPrompt } from "@/memory/prompts.ts";
import { describeGit, summariseGit } from "@/reminders/git-summary.ts";
import { requireMemory } from "../memory-scope.ts";
import { promptMessage } from "../prompt-message.ts";
import type { ReplCommand } from "./command.ts";

export const init: ReplCommand = {
  name: "init",
  summary: "Have the agent study the project and set up its memory",
  isMessage: true,
  async run(args, session) {
    const { memory: memoryDir } = requireMemory(session).places;
    const { cwd, env } = session.app;
    const git = describeGit(await summariseGit(cwd, env, { commits: 10 }));
    session.send(promptMessage(typed("/init", args), initPrompt({ memoryDir, cwd, git })));
  },
};

export const remember: ReplCommand = {
  name: "remember",
  args: "[text]",
  summary: "Have the agent keep this, or what was said last",
  isMessage: true,
  run(args, session) {
    const { memory: memoryDir } = requireMemory(session).places;
    session.send(promptMessage(typed("/remember", args), rememberPrompt({ memoryDir, text: args })));
  },
};

export const doctor: ReplCommand = {
  name: "doctor",
  summary: "Have the agent examine its memory and put it in order",
  isMessage: true,
  async run(args, session) {
    const memory = requireMemory(session);
    const { examineMemory, nameSkills } = await import("@/memory/examine.ts");
    const named = await nameSkills(memory);
    if (named) session.say(`Named skills after their folders: ${named.paths.join(", ")} (${named.oid.slice(0, 7)})`);
    const findings = await examineMemory(memory);
    session.send(promptMessage(typed("/doctor", args), doctorPrompt({ memoryDir: memory.places.memory, findings })));
  },
};

function typed(command: string, args: string): string {
  return args === "" ? command : `${command} ${args}`;
}
