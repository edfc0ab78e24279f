// The system prompt as the model gets it. It holds nothing volatile (no time, no counts): providers cache the prefix of
// a request, and a changed byte here is paid for with the whole conversation. Stored per conversation and compiled again
// only when its source changed.

import type { AgentState, ClientSkill } from "@/backend/wire.ts";
import { sha256 } from "@/lib/hash.ts";
import { durable } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";

/** Where an agent's system text wants its memory. */
const MEMORY_PLACEHOLDER = "{CORE_MEMORY}";

export function compilePrompt(system: string, coreMemory = ""): string {
  const withMemory = system.includes(MEMORY_PLACEHOLDER)
    ? system.replaceAll(MEMORY_PLACEHOLDER, () => coreMemory)
    : [system, coreMemory].filter(Boolean).join("\n\n");
  return withMemory.trim();
}

export function resolvePrompt(context: LocalContext, key: string, agent: AgentState): string {
  const hash = sha256(agent.system);
  const stored = context.db
    .query("SELECT content FROM system_prompts WHERE conversation_key = ? AND source_hash = ?")
    .get(key, hash) as { content: string } | null;
  return stored?.content ?? savePrompt(context, key, agent);
}

export function savePrompt(context: LocalContext, key: string, agent: AgentState): string {
  const content = compilePrompt(agent.system);
  durable(context.db, () =>
    context.db
      .query("INSERT OR REPLACE INTO system_prompts VALUES (?, ?, ?, ?)")
      .run(key, content, sha256(agent.system), context.isoNow()),
  );
  return content;
}

/** The block behind the system prompt that lists what the client can load: one tree per folder, each skill with the
 *  first line of its description. Empty when there are none. */
export function renderSkills(skills: ClientSkill[]): string {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  if (byName.size === 0) return "";
  const byRoot = new Map<string, ClientSkill[]>();
  for (const skill of [...byName.values()].sort((a, b) => compare(a.name, b.name))) {
    const root = skillRoot(skill);
    byRoot.set(root, [...(byRoot.get(root) ?? []), skill]);
  }
  const trees = [...byRoot.entries()]
    .sort(([a], [b]) => compare(a, b))
    .map(([root, members]) => [root, ...renderTree(members)].join("\n"));
  return `<available_skills>\n${trees.join("\n\n")}\n</available_skills>`;
}

/** `/skills/web/scraper/SKILL.md` of skill `web/scraper` lies below `/skills`. */
function skillRoot(skill: ClientSkill): string {
  const folder = skill.location.replace(/[\\/]SKILL\.md$/i, "");
  const suffix = `/${skill.name}`;
  return folder.replaceAll("\\", "/").endsWith(suffix) ? folder.slice(0, -suffix.length) : folder;
}

function renderTree(skills: ClientSkill[]): string[] {
  const lines: string[] = [];
  let shown: string[] = [];
  for (const skill of skills) {
    const path = skill.name.split("/");
    const folders = path.slice(0, -1);
    folders.forEach((folder, depth) => {
      if (shown.slice(0, depth + 1).join("/") !== folders.slice(0, depth + 1).join("/")) {
        lines.push(`${"  ".repeat(depth)}- ${folder}/`);
      }
    });
    shown = folders;
    const about = skill.description.trim().split("\n", 1)[0] ?? "";
    lines.push(`${"  ".repeat(folders.length)}- ${path.at(-1)}${about ? ` (${about})` : ""}`);
  }
  return lines;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
