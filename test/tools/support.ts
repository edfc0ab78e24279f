// A real set of tool services in a temporary home.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import type { ShadowStore } from "@/store/shadow.ts";
import type { AnyTool, ToolContext, ToolResult } from "@/tools/define-tool.ts";
import { createToolServices, type ToolServices } from "@/tools/services.ts";

export interface Workbench extends AsyncDisposable {
  home: string;
  cwd: string;
  services: ToolServices;
  context(overrides?: Partial<ToolContext>): ToolContext;
  /** Parses and runs; a plain string becomes a result. */
  call(tool: AnyTool, args: unknown, overrides?: Partial<ToolContext>): Promise<ToolResult & { output: string }>;
}

export function openWorkbench(
  options: {
    vars?: Record<string, string>;
    isHidden?: (path: string) => boolean;
    shadow?: (paths: ToolServices["paths"]) => ShadowStore;
  } = {},
): Workbench {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "letta-tools-")));
  const env = readEnv({ ...process.env, HOME: root, LETTA_SCRATCHPAD: join(root, "scratch"), ...options.vars });
  const paths = resolvePaths(env);
  const services = createToolServices({
    env,
    paths,
    shadow: options.shadow?.(paths) ?? null,
    isHidden: options.isHidden ?? (() => false),
  });
  const context = (overrides: Partial<ToolContext> = {}): ToolContext => ({
    agentId: "agent-1",
    conversationId: "conv-1",
    turnId: "turn-1",
    toolCallId: "call-1",
    cwd: root,
    signal: new AbortController().signal,
    services,
    onOutput: () => {},
    ...overrides,
  });
  return {
    home: root,
    cwd: root,
    services,
    context,
    call: async (tool, args, overrides) => {
      const result = await tool.run(tool.parse(args), context(overrides));
      if (typeof result === "string") return { status: "success", output: result };
      if (typeof result.output !== "string") throw new Error("expected text");
      return { ...result, output: result.output };
    },
    [Symbol.asyncDispose]: async () => {
      await services.background.stopAll();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Resolves when `check` gives something, looking again as soon as the event loop is free. */
export async function until<T>(check: () => T | undefined | false, timeoutMs = 8_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = check();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error("the condition did not come true");
    await Bun.sleep(10);
  }
}

/** False for zombies too. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false; // ESRCH
  }
  const state = Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)])
    .stdout.toString()
    .trim();
  return state !== "" && !state.startsWith("Z");
}
