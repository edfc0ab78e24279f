// The sandbox of one process: which backend confines shell commands here, to what, and what is said when it gets in a
// command's way. A policy is made anew for every command, because what exists decides what must be protected.

import { mkdtempSync, rmSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import { actInPlace } from "@/lib/place-handle.ts";
import { createTags } from "@/lib/process-tree.ts";
import { openAttendant } from "./attendant.ts";
import { readMountInfo, realDisk } from "./disk.ts";
import { type Backend, type Launch, renderLaunch } from "./launch.ts";
import { Placeholders } from "./placeholders.ts";
import type { SandboxPolicy, SandboxProfile } from "./policy.ts";
import { buildPolicy, type ProfileInput, pipesOutside, workspaceRoots } from "./profiles.ts";
import { explainFailure, explainLeftovers, findSetupFailure, type Leftovers, SETUP_FAILED } from "./report.ts";
import type { SandboxChoice } from "./settings.ts";
import type { Confined, Sandbox } from "./types.ts";
import { isBare, scanWorkspace } from "./workspace-scan.ts";

export interface SandboxOptions {
  choice: SandboxChoice;
  backend: Backend | null;
  /** Why there is none. */
  reason?: string;
  place: Pick<ProfileInput, "workspace" | "home" | "lettaRoot" | "localStore">;
  /** What may change while the process runs; asked before each command. */
  current(): Pick<ProfileInput, "readable" | "denyRead" | "deniesRead" | "guarded">;
  /** The system's temporary directory. */
  tmpdir: string;
  contained: boolean;
  /** The backend that was found does not work after all. */
  onSetupFailure(): void;
}

export function createSandbox(options: SandboxOptions): Sandbox {
  const { choice, backend, reason, place, current, tmpdir, contained, onSetupFailure } = options;
  const { mode, network, source } = choice;
  const wanted = mode !== "off";
  const active = wanted && backend !== null;
  const hasPlace = mode !== "workspace" || workspaceRoots({ ...place, profile: "workspace" }, realDisk).length > 0;
  const isContained = active && contained && hasPlace;
  const placeholders = new Placeholders();
  const nextTag = createTags();
  let tmp: string | null = null;
  let pipes: string[] | null = null;
  const makePolicy = (profile: SandboxProfile, { name }: Backend, memory: string[]): SandboxPolicy => {
    tmp ??= mkdtempSync(join(tmpdir, "letta-sandbox-"));
    const now = current();
    const workspace = [...place.workspace, ...memory];
    const readable = [...now.readable, ...(profile === "strict" ? memory : [])];
    const denyRead = [...choice.denyRead, ...now.denyRead];
    const policy = buildPolicy({ ...place, ...now, workspace, readable, profile, network, denyRead, tmp }, realDisk);
    if (name !== "bwrap") return policy;
    // Nothing confined can make one outside, so looking once is enough.
    pipes ??= pipesOutside({ ...place, profile }, realDisk);
    return { ...policy, pipes: pipes.filter((path) => realDisk.kind(path) === "file") };
  };

  const confine: Sandbox["confine"] = (command) => {
    if (mode === "off") return null;
    if (backend === null) {
      if (!choice.failIfUnavailable) return null;
      throw new ToolError(`${SETUP_FAILED}: ${reason ?? "no sandbox works here"}`);
    }
    const held: string[] = [];
    try {
      const policy = makePolicy(mode, backend, command.memory === undefined ? [] : [command.memory]);
      if (backend.name === "bwrap") {
        for (const path of policy.absent) {
          placeholders.hold(path);
          held.push(path);
        }
      }
      const facts = {
        backend,
        list: realDisk.list,
        mountInfo: readMountInfo(),
        tag: nextTag(),
        attendant: openAttendant,
      };
      const launch = renderLaunch(command, policy, facts);
      return toConfined(launch, policy, {
        command: command.argv.at(-1) ?? "",
        releaseNames: () => placeholders.release(held),
        onSetupFailure,
      });
    } catch (error) {
      placeholders.release(held);
      throw new ToolError(`${SETUP_FAILED}: ${errorMessage(error)}`, { cause: error });
    }
  };

  return {
    status: {
      profile: mode,
      backend: active ? backend.name : "none",
      network,
      source,
      ...(reason && !active && { reason }),
    },
    active,
    // With a network, what a command reads could leave.
    autoAllow: active && network === "off" && (choice.autoAllowShell || isContained),
    // "Strict" is about the workspace too: edits ask.
    contained: isContained && mode === "workspace",
    confine,
    close: () => {
      if (tmp !== null) rmSync(tmp, { recursive: true, force: true });
      tmp = null;
    },
  };
}

function toConfined(
  launch: Launch,
  policy: SandboxPolicy,
  {
    command,
    releaseNames,
    onSetupFailure,
  }: {
    /** Its text. */
    command: string;
    releaseNames(): void;
    onSetupFailure(): void;
  },
): Confined {
  let leftovers: Leftovers | undefined;
  const release = (): Leftovers => {
    if (leftovers) return leftovers;
    releaseNames();
    leftovers = cleanUp(policy);
    return leftovers;
  };
  return {
    ...launch,
    explain: (end) => {
      const failure = findSetupFailure(end);
      if (failure === null)
        return (
          [explainFailure({ ...end, command }, policy), explainLeftovers(release(), policy)]
            .filter(Boolean)
            .join("\n") || null
        );
      onSetupFailure();
      throw new ToolError(`${SETUP_FAILED}: ${failure}`);
    },
    release,
  };
}

/** Takes away what git would obey and could not be kept from coming into being; names repositories that are new. */
function cleanUp(policy: SandboxPolicy): Leftovers {
  const removed: string[] = [];
  const remove = (path: string): void => {
    try {
      if (actInPlace(path, unlinkSync)) removed.push(path);
    } catch {
      /* there is none, or it is a directory, which git does not obey */
    }
  };
  for (const path of policy.unholdable) remove(path);
  for (const place of policy.neverBare) if (isBare(realDisk.list(place))) remove(join(place, "HEAD"));
  const roots = policy.rules.filter(({ access, path }) => access === "write" && path !== policy.tmp);
  const outer = roots
    .map(({ path }) => path)
    .filter((path) => !roots.some((other) => path.startsWith(`${other.path}/`)));
  const { repositories } = scanWorkspace(outer, realDisk);
  return { removed, repositories: repositories.filter((path) => !policy.repositories.includes(path)) };
}
