// `letta memory tokens`. Counts what lies in the folder, committed or not: whoever tidies up looks at it in between.

import { lstatSync, readdirSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { LettaError, systemReason } from "@/lib/errors.ts";
import { renderTable } from "@/lib/table.ts";
import { formatCount } from "@/lib/text.ts";
import { SYSTEM_WARNING_TOKENS } from "@/memory/limits.ts";
import { memoryPaths, SYSTEM_FOLDER } from "@/memory/places.ts";
import { countTokens } from "@/memory/tokens.ts";
import type { StoreApp } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, parseCount, present, tableOptions } from "./output.ts";
import { resolveAgent, type ScopeArgs } from "./scope.ts";

export interface MemoryTokensArgs extends ScopeArgs, OutputArgs {
  "memory-dir"?: string;
  top?: string;
  quiet?: boolean;
}

export async function runMemoryTokens(app: StoreApp, args: MemoryTokensArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const top = parseCount("top", args.top, 20);
      const dir = await findMemory(app, args);
      const all = countTokens(listFiles(dir));
      return { ...all, dir, files: args.quiet ? [] : all.files.slice(0, top) };
    },
    {
      value: ({ total_tokens, files }) => ({ total_tokens, files }),
      text: ({ total_tokens, files }) => {
        if (args.quiet) return `${total_tokens}\n`;
        const rows = files.map(({ path, tokens }) => [formatCount(tokens), path]);
        const table = renderTable([{ title: "TOKENS" }, { title: "FILE", shrink: true }], rows, tableOptions(io));
        const fits = total_tokens < SYSTEM_WARNING_TOKENS;
        const advice = `About ${formatCount(SYSTEM_WARNING_TOKENS)} fit into a request: the largest files are named instead of shown. Move details out of system/.\n`;
        const sum = `About ${formatCount(total_tokens)} tokens ${fits ? "in every request" : "under system/"}\n`;
        return `${rows.length > 0 ? table : ""}${sum}${fits ? "" : advice}`;
      },
    },
  );
}

async function findMemory(app: StoreApp, args: MemoryTokensArgs): Promise<string> {
  if (args["memory-dir"] !== undefined) return resolve(app.cwd, args["memory-dir"]);
  if (args.agent === undefined && app.env.memoryDir !== undefined) return app.env.memoryDir;
  const agent = await resolveAgent(app, args);
  return memoryPaths(app.paths, agent.id).memory;
}

/** Below `system/`; links are not followed. */
function listFiles(dir: string): { path: string; bytes: number }[] {
  const root = join(dir, SYSTEM_FOLDER);
  try {
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path: relative(dir, path).replaceAll(sep, "/"), bytes: lstatSync(path).size }));
  } catch (cause) {
    throw new LettaError("storage", `cannot read ${root}: ${systemReason(cause)}`, {
      cause,
      hint: "Is it a memory? Name one with --memory-dir DIR or --agent ID.",
    });
  }
}
