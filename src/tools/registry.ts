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
