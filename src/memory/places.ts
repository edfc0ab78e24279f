// Where an agent's memory lies, and how people and models name a file in it. By name only: nothing is looked up on disk.

import { isAbsolute, join, sep } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { pathInside } from "@/lib/path-inside.ts";
import type { Paths } from "@/store/paths.ts";

export interface MemoryPaths {
  /** Everything of one agent. */
  home: string;
  /** The repository's working tree. */
  memory: string;
  /** Linked working trees of background writers, one folder each. */
  worktrees: string;
  /** Held while something is written. */
  lock: string;
}

/** Always in the prompt. */
export const SYSTEM_FOLDER = "system";
/** Who the agent is; never missing. */
export const PERSONA_PATH = "system/persona.md";
/** What is known of the person. */
export const HUMAN_PATH = "system/human.md";
/** Procedures, disclosed as skills and not as memory. */
export const SKILLS_FOLDER = "skills";

export function memoryPaths(paths: Pick<Paths, "agents">, agentId: string): MemoryPaths {
  if (!/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}$/.test(agentId)) {
    throw new LettaError("usage", `${JSON.stringify(agentId)} is no agent id`);
  }
  const home = join(paths.agents, agentId);
  return {
    home,
    memory: join(home, "memory"),
    worktrees: join(home, "memory-worktrees"),
    lock: join(home, "memory.lock"),
  };
}

/** The identity that an agent's own commits carry. */
export function agentIdentity(agent: { id: string; name: string }): { name: string; email: string } {
  // What would end a header line of a commit, or its name part.
  const name = agent.name.replace(/[<>\n\r\0]/g, " ").trim();
  return { name: name || agent.id, email: `${agent.id}@letta.com` };
}

/** Of commits that letta itself makes: seeds, merges. */
export const HARNESS_IDENTITY = { name: "Letta Code", email: "noreply@letta.com" } as const;

/** A path inside the memory as somebody wrote it, relative, with `/`, without `.md`: a file's label. `memory` is the
 *  memory's folder. Throws `usage` with what is wrong. */
export function parseLabel(text: string, memory: string): string {
  return parsePath(text, memory).replace(/\.md$/i, "");
}

/** As `parseLabel`, the name as it is on disk: for files that are not Markdown, and folders. */
export function parsePath(text: string, memory: string): string {
  const trimmed = text.trim();
  if (trimmed.includes("\0")) throw badPath(text, "it holds a NUL character");
  if (/^(~|\$HOME|\$\{HOME\})([/\\]|$)/.test(trimmed)) throw badPath(text, `give it relative to ${memory}`);
  const inside = isAbsolute(trimmed) ? pathInside(memory, trimmed) : trimmed.replace(MEMORY_VARIABLE, "");
  if (inside === null) throw badPath(text, `it lies outside the memory, ${memory}`);
  const segments = inside.replaceAll("\\", "/").replaceAll(sep, "/").replace(/\/+$/, "").split("/");
  if (segments[0] === "memory" && segments.length > 1) segments.shift();
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw badPath(text, "it may not have empty, `.` or `..` parts");
  }
  if (segments.some((segment) => segment.toLowerCase() === ".git"))
    throw badPath(text, "git's own files are not memory");
  return segments.join("/");
}

const MEMORY_VARIABLE = /^\$(?:\{(?:LETTA_)?MEMORY_DIR\}|(?:LETTA_)?MEMORY_DIR)[/\\]/;

/** The label of a file in the repository. */
export function labelOf(path: string): string {
  return path.replace(/\.md$/i, "");
}

export function isMarkdown(path: string): boolean {
  return /\.md$/i.test(path);
}

/** Below `skills/`, where the rules of memory files do not hold. Upstream once kept everything in a folder `memory/`. */
export function isSkillPath(path: string): boolean {
  return /^(?:memory\/)?skills\//.test(path);
}

export function isSystemPath(path: string): boolean {
  return path.startsWith(`${SYSTEM_FOLDER}/`);
}

function badPath(text: string, why: string): LettaError {
  return new LettaError("usage", `${JSON.stringify(text)} is no path in memory: ${why}`, {
    hint: "Name it as in the prompt, for example system/human or reference/build.",
  });
}
