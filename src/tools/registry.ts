// The tools of one process. Built-ins, tools of an SDK client and (later) mods register here and are the same type.

import type { AnyTool, ToolOffer } from "./define-tool.ts";
import type { ToolsetId } from "./toolsets.ts";

export interface ToolSelection {
  toolset: ToolsetId;
  /** Names to keep (`--tools`), of any set; undefined = the toolset's own list, empty = none. */
  only?: string[];
  /** Offered beside them; names of any set. */
  include?: string[];
  /** Of all these, only what a client names, and what it names of other sets. Empty = none. */
  allowlist?: string[];
  /** False leaves out tools that need a person. */
  interactive: boolean;
  /** What the request is made with. Undefined when none is made: every tool is listed as it is. */
  offer?: ToolOffer;
  /** False leaves out tools whose news come between turns. Default: as `interactive`. */
  resident?: boolean;
}

export interface ToolRegistry {
  /** The tools of one request under the names of its toolset, in a stable order. Unknown names in `only` are returned for
   *  a warning. */
  select(selection: ToolSelection): { tools: AnyTool[]; unknown: string[] };
  /** A tool of another family's set, under the name the model used. A conversation that changed models shows the other
   *  names in its history, and a model may repeat them. Undefined for what `only` or `none` keeps away. */
  understand(name: string, selection: ToolSelection): AnyTool | undefined;
  /** By any of its names. */
  find(name: string): AnyTool | undefined;
  list(): AnyTool[];
  /** Adds or replaces by name. Returns the function that takes it out again. */
  register(tool: AnyTool): () => void;
}

export function createToolRegistry(tools: readonly AnyTool[]): ToolRegistry {
  // Insertion order is the order sent: replacing a tool keeps its place, so that the prompt's prefix stays cached.
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const find = (name: string): AnyTool | undefined =>
    byName.get(name) ?? [...byName.values()].find((tool) => namesOf(tool).includes(name));
  return {
    select: ({ toolset, only, include = [], allowlist, offer, ...selection }) => {
      const fitting = [...byName.values()].flatMap((tool) => (tool.offer && offer ? (tool.offer(offer) ?? []) : tool));
      const usable = fitting.filter((tool) => isUsable(tool, selection));
      // A name of the set means its member, also when a tool of no set is called the same.
      const inSet = (name: string) => usable.find((tool) => nameIn(toolset, tool) === name) ?? find(name);
      const byWish = (names: string[]) =>
        names.flatMap((wish): [AnyTool, string][] => {
          const tool = inSet(wish);
          return tool ? [[tool, nameIn(toolset, tool) ?? wish]] : [];
        });
      const own = usable.flatMap((tool): [AnyTool, string][] => {
        const name = nameIn(toolset, tool);
        return name === undefined ? [] : [[tool, name]];
      });
      const named = new Map([...byWish(include), ...(only === undefined ? own : byWish(only))]);
      const offered = allowlist === undefined ? named : new Map(byWish(allowlist));
      return {
        tools: usable.flatMap((tool) => (offered.has(tool) ? [called(offered.get(tool)!, tool)] : [])),
        unknown: (only ?? []).filter((name) => find(name) === undefined),
      };
    },
    understand: (name, { toolset, only, allowlist, ...selection }) => {
      const isFree = only === undefined && allowlist === undefined && toolset !== "none";
      const tool = isFree ? find(name) : undefined;
      const isMember = Object.values(tool?.toolsets ?? {}).includes(name);
      return tool && isMember && isUsable(tool, selection) ? called(name, tool) : undefined;
    },
    find,
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

function isUsable(
  tool: AnyTool,
  { interactive, resident = interactive }: Pick<ToolSelection, "interactive" | "resident">,
): boolean {
  return (interactive || !tool.interactive) && (resident || !tool.resident);
}

/** Undefined when it does not belong to the set. A tool somebody brought along belongs to all of them. */
function nameIn(toolset: ToolsetId, tool: AnyTool): string | undefined {
  if (tool.toolsets === undefined) return tool.name;
  return toolset === "none" ? undefined : tool.toolsets[toolset];
}

function namesOf(tool: AnyTool): string[] {
  return [tool.name, ...Object.values(tool.toolsets ?? {}), ...(tool.also ?? [])];
}

/** The same tool under another name. Its own properties stay where they are: schemas are derived when first needed. */
function called(name: string, tool: AnyTool): AnyTool {
  return name === tool.name ? tool : Object.create(tool, { name: { value: name, enumerable: true } });
}
