import { escapeDeceptive, toPlainLine, truncate } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { type ListedSkill, listBySource } from "@/skills/listing.ts";
import { SKILL_SOURCES } from "@/skills/types.ts";
import type { ReplSession } from "../session.ts";
import type { ReplCommand } from "./command.ts";

const MARKS: Record<ListedSkill["state"], string> = { listed: "●", unlisted: "○", people: "/", inert: "×" };

export const skills: ReplCommand = {
  name: "skills",
  args: "[source|word]",
  summary: "Skills, where they come from, and which of them the agent sees",
  whileBusy: true,
  async run(args, session) {
    const { app, ui } = session;
    const { theme } = ui;
    if (app.skills.sources.length === 0) return session.print(["Skills are off in this process (--no-skills)."]);
    const place = app.agentSkills.place(session.agent);
    const discovery = app.skills.discover(place);
    const catalogue = app.skills.catalogue(place, await windowOf(session));
    const groups = listBySource(discovery, catalogue)
      .filter(({ source }) => !SKILL_SOURCES.some((each) => each === args) || source === args)
      .map((group) => ({ ...group, skills: group.skills.filter((each) => matches(each, args)) }))
      .filter((group) => group.skills.length > 0);
    const line = (text: string) => truncate(text, ui.columns() - 1);
    const lines = groups.flatMap(({ source, skills: listed }) => [
      theme.bold(source),
      ...listed.map(({ skill, state, note }) => {
        const about = theme.dim(toPlainLine(escapeDeceptive(skill.description)));
        const why = note === "" ? "" : theme.yellow(` ${toPlainLine(escapeDeceptive(note))}`);
        const name = toPlainLine(escapeDeceptive(skill.id));
        return line(`  ${MARKS[state]} ${name}${why} ${theme.dim(toPlainLine(skill.root.label))} ${about}`);
      }),
    ]);
    const problems = discovery.problems.map(({ file, line: number, problem }) =>
      line(
        theme.yellow(
          `  ${toPlainLine(escapeDeceptive(file))}${number === null ? "" : `:${number}`}: ${toPlainLine(problem)}`,
        ),
      ),
    );
    const seen = `${plural(catalogue.listed.length, "skill")} in the agent's list (●)`;
    const cut =
      catalogue.descriptionChars === null ? "" : `, descriptions cut to ${catalogue.descriptionChars} characters`;
    session.print([
      ...(lines.length > 0 ? lines : ["No skills here. /skill-creator writes one with the agent."]),
      ...(problems.length > 0 ? [theme.bold("problems"), ...problems] : []),
      theme.dim(`${seen}${cut}; ○ called by name only, / only by you, × not in force`),
    ]);
  },
};

function matches({ skill }: ListedSkill, word: string): boolean {
  if (word === "" || SKILL_SOURCES.some((source) => source === word)) return true;
  return `${skill.id} ${skill.description}`.toLowerCase().includes(word.toLowerCase());
}

async function windowOf({ app, agent, model }: ReplSession): Promise<number | null> {
  if (agent.context_window_limit !== null) return agent.context_window_limit;
  const unknown = (): null => null; // The list is then as long as for a model nobody knows.
  return app.models.resolveModel(model).then((record) => record.max_context_window, unknown);
}
