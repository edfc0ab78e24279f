// Skills as an agent of this process meets them: offered with each turn, loaded by the tool. The agent's own come from
// its memory.

import { join } from "node:path";
import type { AgentState } from "@/backend/wire.ts";
import { errorMessage } from "@/lib/errors.ts";
import type { FollowUp } from "@/store/journal.ts";
import type { Paths } from "@/store/paths.ts";
import type { LoadedSkill, SkillPlace, Skills } from "./service.ts";

export interface AgentSkillsOptions {
  skills: Skills;
  paths: Pick<Paths, "root">;
  cwd(): string;
  /** Where the agent's memory is; null when it has none. */
  memoryOf(agent: AgentState): string | null;
  /** The memory that the environment names, for agents without one. */
  memoryDir: string | undefined;
  retrieveAgent(id: string): Promise<AgentState>;
  /** Tokens; null when unknown. May throw. */
  contextWindow(model: string): Promise<number | null>;
  /** For people; each text is given once. */
  onWarning(text: string): void;
}

export interface AgentSkills {
  place(agent: AgentState): SkillPlace;
  /** What one turn is offered. Never throws: without skills there is still an agent. */
  offer(context: { agent: AgentState; model: string }): Promise<SkillOffer>;
  /** For the tool. */
  load(
    call: { id: string; args: string },
    context: { agentId: string | null; cwd: string },
  ): Promise<{ name: string; followUp: FollowUp }>;
}

interface SkillOffer {
  listed: { name: string; description: string; location: string }[];
  callable: string[];
  note: string | null;
}

export function createAgentSkills(options: AgentSkillsOptions): AgentSkills {
  const { skills, paths } = options;
  const warned = new Set<string>();
  const warn = (text: string): void => {
    if (warned.has(text)) return;
    warned.add(text);
    options.onWarning(text);
  };
  const memory = (agent: AgentState | null): string[] => {
    const own = agent && options.memoryOf(agent);
    if (agent && own) return [join(paths.root, "agents", agent.id, "memory"), own];
    return options.memoryDir === undefined ? [] : [options.memoryDir];
  };
  const place = (agent: AgentState): SkillPlace => ({ cwd: options.cwd(), memory: memory(agent) });

  return {
    place,
    async offer({ agent, model }) {
      if (skills.sources.length === 0) return NOTHING;
      try {
        const here = place(agent);
        const window = agent.context_window_limit ?? (await options.contextWindow(model).catch(() => null));
        const { skills: listed, note, listed: known, omitted } = skills.catalogue(here, window);
        for (const text of problemsOf(skills, here)) warn(text);
        return { listed, callable: [...known, ...omitted].map(({ id }) => id).toSorted(), note };
      } catch (error) {
        warn(`Skills cannot be used: ${errorMessage(error)}`);
        return NOTHING;
      }
    },
    async load({ id, args }, { agentId, cwd }) {
      const agent = agentId === null ? null : await options.retrieveAgent(agentId);
      const loaded = await skills.load({ cwd, memory: memory(agent) }, { id, args, by: "model" });
      const { unusedArgs, allow } = loaded;
      const text = unusedArgs === "" ? loaded.text : `${loaded.text}\n\nArguments: ${unusedArgs}`;
      return { name: id, followUp: { label: describeLoaded(loaded), text, allow } };
    },
  };
}

const NOTHING: SkillOffer = { listed: [], callable: [], note: null };

/** One line for people. */
export function describeLoaded({ skill, text, allow }: Pick<LoadedSkill, "skill" | "text" | "allow">): string {
  const size =
    text.length < 10_000
      ? `${Math.max(1, Math.round(text.length / 100) / 10)} KB`
      : `${Math.round(text.length / 1000)} KB`;
  const rules = allow.length > 0 ? `; without asking: ${allow.join(", ")}` : "";
  return `${skill.id} from ${skill.root.label}, ${size}${rules}`;
}

function problemsOf(skills: Skills, place: SkillPlace): string[] {
  const errors = skills.discover(place).problems.filter(({ level }) => level === "error");
  const lines = errors.map(
    ({ file, line, problem }) => `skills: ${file}${line === null ? "" : `:${line}`}: ${problem}`,
  );
  const shown =
    lines.length > MAX_LINES
      ? [...lines.slice(0, MAX_LINES), `${lines.length - MAX_LINES} more skills are left out: see /skills`]
      : lines;
  const untrusted = skills.untrustedNote(place);
  return untrusted === null ? shown : [...shown, untrusted];
}

const MAX_LINES = 5;
