// The sandbox a process gets: what settings and flags ask for, on what works here.

import { LettaError } from "@/lib/errors.ts";
import { modeCeiling } from "@/permissions/modes.ts";
import { expandHome } from "@/permissions/places.ts";
import type { DeniedReads } from "@/permissions/types.ts";
import type { Env } from "@/store/env.ts";
import type { Paths } from "@/store/paths.ts";
import type { SettingsStore } from "@/store/settings.ts";
import type { BackendOptions, Found } from "./backend.ts";
import { resolveSandbox, type SandboxChoice, type SandboxMode } from "./settings.ts";
import { type Sandbox, withoutSandbox } from "./types.ts";

export interface OpenSandboxOptions {
  env: Env;
  paths: Paths;
  settings: SettingsStore;
  /** Where the process was started; absolute. */
  cwd: string;
  /** `--sandbox`. */
  flag?: SandboxMode;
  /** Nobody is there to answer, and no flag said what may run. */
  unattended: boolean;
  /** A child agent that works on a memory. */
  memoryScope?: { dir: string; readable: string[] };
  /** Where background commands log; null before the first. */
  taskDirectory(): string | null;
  /** Files that run later without being asked about. */
  guardedFiles(): string[];
  /** What deny rules about reading name, and a check for what their patterns do; null when there are none. */
  deniedReads(): DeniedReads;
}

/** Throws `usage` when a flag asks for a sandbox and none works: who asks by name does not want to run without. */
export async function openSandbox(options: OpenSandboxOptions): Promise<Sandbox> {
  const { env, paths, settings, flag } = options;
  const contained = options.unattended && leavesModeOpen(settings);
  const asked = resolveSandbox(settings, { ...(flag && { flag }), fallback: contained ? "workspace" : "off" });
  const choice = options.memoryScope && env.memorySandbox ? forMemory(asked) : asked;
  if (choice.mode === "off") return withoutSandbox(choice.source);
  const [{ findBackend, forgetBackend, withoutGaps }, { createSandbox }] = await Promise.all([
    import("./backend.ts"),
    import("./sandbox.ts"),
  ]);
  const works = await findBackend(backendOptions(env, paths));
  const found: Found = choice.source === "default" ? withoutGaps(works) : works;
  if (choice.source === "flag" && found.backend === null) {
    throw new LettaError("usage", `no sandbox works here: ${found.reason}`, {
      hint: "See letta sandbox doctor. With --sandbox off commands run as permissions say.",
    });
  }
  return createSandbox({
    ...found,
    choice: { ...choice, denyRead: choice.denyRead.map((path) => expandHome(path, paths.home)) },
    place: {
      workspace: workspaceOf(options, choice),
      home: paths.home,
      lettaRoot: paths.root,
      localStore: paths.local,
      ...(options.memoryScope && { memory: [options.memoryScope.dir] }),
    },
    current: () => {
      const { paths: denyRead, denies: deniesRead } = options.deniedReads();
      const tasks = options.taskDirectory();
      const readable = [...(tasks === null ? [] : [tasks]), ...(options.memoryScope?.readable ?? [])];
      return { readable, denyRead, deniesRead, guarded: options.guardedFiles() };
    },
    tmpdir: env.tmpdir,
    contained,
    onSetupFailure: () => forgetBackend({ lettaRoot: paths.root }),
  });
}

/** Its memory and nothing else, without a network and without being asked: nobody is there. Where no sandbox works, its
 *  commands run as permissions say, and those allow only what is proven to read. */
function forMemory(asked: SandboxChoice): SandboxChoice {
  return { ...asked, mode: "memory-subagent", source: "harness", network: "off", autoAllowShell: true };
}

export function backendOptions(env: Env, paths: Paths): BackendOptions {
  return { lettaRoot: paths.root, tmpdir: env.tmpdir, path: env.all.PATH ?? "/usr/local/bin:/usr/bin:/bin" };
}

/** Roots come from where the user started and what the user wrote, never from a repository or a tool call. */
function workspaceOf({ settings, cwd, paths }: OpenSandboxOptions, choice: SandboxChoice): string[] {
  const added = [...(settings.user.permissions?.additionalDirectories ?? []), ...choice.writableRoots];
  const roots = settings.projectRoot === null ? [cwd] : [cwd, settings.projectRoot];
  return [...roots, ...added.map((path) => expandHome(path, paths.home))];
}

/** Nobody chose a permission mode, the administrator's ceiling has room, and no settings were lost. */
function leavesModeOpen(settings: SettingsStore): boolean {
  const { user, project, local, managed, problems } = settings;
  if ([user, project, local].some(({ permissions }) => permissions?.mode !== undefined)) return false;
  if (problems.some(({ kind, key }) => kind === "unreadable" || /^(?:permissions|sandbox)/.test(key ?? "")))
    return false;
  const ceiling = modeCeiling(managed);
  return ceiling === null || ceiling === "acceptEdits" || ceiling === "unrestricted";
}
