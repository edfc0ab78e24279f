// The tools of one process. Built-ins, tools of an SDK client and (later) mods register here and are the same type.

import type { AnyTool } from "./define-tool.ts";

export interface ToolSelection {
  /** Names to keep (`--tools`); undefined = the toolset's own list, empty = none. */
  only?: string[];
  /** False leaves out tools that need a person. */
  interactive: boolean;
}

export interface ToolRegistry {
  /** The tools of one request, in a stable order. Unknown names in `only` are returned for a warning. */
  select(selection: ToolSelection): { tools: AnyTool[]; unknown: string[] };
  find(name: string): AnyTool | undefined;
  list(): AnyTool[];
  /** Adds or replaces by name. Returns the function that takes it out again. */
  register(tool: AnyTool): () => void;
}

export function createToolRegistry(tools: readonly AnyTool[]): ToolRegistry {
  // Insertion order is the order sent: replacing a tool keeps its place, so that the prompt's prefix stays cached.
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    select: ({ only, interactive }) => {
      const usable = [...byName.values()].filter((tool) => interactive || !tool.interactive);
      if (only === undefined) return { tools: usable, unknown: [] };
      return {
        tools: usable.filter((tool) => only.includes(tool.name)),
        unknown: only.filter((name) => !byName.has(name)),
      };
    },
    find: (name) => byName.get(name),
    list: () => [...byName.values()],
    register: (tool) => {
      const replaced = byName.get(tool.name);
      byName.set(tool.name, tool);
      return () => {
        // Somebody may have registered over it since.
        if (byName.get(tool.name) !== tool) return;
        if (replaced) byName.set(tool.name, replaced);
        else byName.delete(tool.name);
      };
    },
  };
}
