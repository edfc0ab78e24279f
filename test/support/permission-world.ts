// A throw-away home and project with a real permission checker in it.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPermissionChecker, type PermissionCheckerOptions } from "@/permissions/checker.ts";
import type { PermissionChecker, PermissionTarget, Verdict } from "@/permissions/types.ts";
import { readEnv } from "@/store/env.ts";
import { type Paths, resolvePaths } from "@/store/paths.ts";
import { openSettings, type SettingsStore } from "@/store/settings.ts";
import { openTrust, type Trust } from "@/store/trust.ts";

export interface PermissionWorld {
  root: string;
  home: string;
  /** `<root>/project`, a git repository by its look. */
  project: string;
  paths: Paths;
  settings: SettingsStore;
  trust: Trust;
  checker: PermissionChecker;
  /** `Bash` on a command, in the project unless told. */
  shell(command: string, cwd?: string): Promise<Verdict>;
  /** A file tool; a relative path is taken from the project. */
  file(family: Extract<PermissionTarget, { kind: "file" }>["family"], path: string): Promise<Verdict>;
  /** Reads all files again, as a new process would. */
  reopen(options?: Partial<PermissionCheckerOptions>): Promise<PermissionWorld>;
}

export interface WorldFiles {
  user?: unknown;
  project?: unknown;
  local?: unknown;
  managed?: unknown;
  /** Further files, relative to the root. */
  files?: Record<string, string>;
}

export function createWorldRoot({ user, project, local, managed, files = {} }: WorldFiles): string {
  const root = mkdtempSync(join(tmpdir(), "letta-permissions-"));
  const all: Record<string, unknown> = {
    "home/.letta/settings.json": user,
    "project/.letta/settings.json": project,
    "project/.letta/settings.local.json": local,
    "managed.json": managed,
    "project/.git/HEAD": "ref: refs/heads/main\n",
    "project/.git/config": "[core]\n\tbare = false\n",
    ...files,
  };
  for (const [name, content] of Object.entries(all)) {
    if (content === undefined) continue;
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  mkdirSync(join(root, "home"), { recursive: true });
  return root;
}

export async function openWorld(
  root: string,
  options: Partial<PermissionCheckerOptions> = {},
): Promise<PermissionWorld> {
  const home = join(root, "home");
  const project = join(root, "project");
  const cwd = options.cwd ?? project;
  const paths = resolvePaths(readEnv({ HOME: home }));
  const settings = await openSettings({ paths, cwd, managedFile: join(root, "managed.json") });
  const trust = await openTrust({ paths, settings });
  const checker = createPermissionChecker({ settings, trust, paths, interactive: true, ...options, cwd });
  return {
    root,
    home,
    project,
    paths,
    settings,
    trust,
    checker,
    shell: (command, shellCwd = cwd) => checker.check("Bash", [{ kind: "shell", command, cwd: shellCwd }]),
    file: (family, path) =>
      checker.check(family, [{ kind: "file", family, path: path.startsWith("/") ? path : join(cwd, path) }]),
    reopen: (more) => openWorld(root, { ...options, ...more }),
  };
}

/** Creates a world; the returned disposer removes it. */
export function worldPool() {
  const roots: string[] = [];
  return {
    async make(files: WorldFiles = {}, options?: Partial<PermissionCheckerOptions>): Promise<PermissionWorld> {
      const root = createWorldRoot(files);
      roots.push(root);
      return openWorld(root, options);
    },
    dispose() {
      for (const root of roots) rmSync(root, { recursive: true, force: true });
    },
  };
}

/** `allow`, `deny`, `ask` or `ask!` (a person must answer). */
export function brief(verdict: Verdict): string {
  return verdict.behavior === "ask" && verdict.always ? "ask!" : verdict.behavior;
}
