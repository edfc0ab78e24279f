// The sandbox of one process: which backend confines shell commands here, to what, and what is said when it gets in a
// command's way. A policy is made anew for every command, because what exists decides what must be protected.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import { listDirectory, realDisk } from "./disk.ts";
import { type Backend, renderLaunch } from "./launch.ts";
import { Placeholders, removeIntruders } from "./placeholders.ts";
import type { SandboxProfile } from "./policy.ts";
import { buildPolicy, type ProfileInput, workspaceRoots } from "./profiles.ts";
import { explainFailure, findSetupFailure, SETUP_FAILED } from "./report.ts";
import type { SandboxChoice } from "./settings.ts";
import type { Sandbox } from "./types.ts";

export interface SandboxOptions {
  choice: SandboxChoice;
  backend: Backend | null;
  /** Why there is none. */
  reason?: string;
  place: Omit<ProfileInput, "profile" | "network" | "tmp" | "readable" | "denyRead"> & { readable(): string[] };
  /** The system's temporary directory. */
  tmpdir: string;
  contained: boolean;
  /** The backend that was found does not work after all. */
  onSetupFailure(): void;
}

export function createSandbox(options: SandboxOptions): Sandbox {
  const { choice, backend, reason, place, tmpdir, contained, onSetupFailure } = options;
  const { mode, network, source } = choice;
  const wanted = mode !== "off";
  const active = wanted && backend !== null;
  const hasPlace = mode !== "workspace" || workspaceRoots({ ...place, profile: "workspace" }, realDisk).length > 0;
  const isContained = active && contained && hasPlace;
  const placeholders = new Placeholders();
  let tmp: string | null = null;
  const policy = (profile: SandboxProfile, memory: string[]) => {
    tmp ??= mkdtempSync(join(tmpdir, "letta-sandbox-"));
    const { denyRead } = choice;
    const workspace = [...place.workspace, ...memory];
    const readable = [...place.readable(), ...(profile === "strict" ? memory : [])];
    return buildPolicy({ ...place, workspace, readable, profile, network, denyRead, tmp }, realDisk);
  };

  const confine: Sandbox["confine"] = (command) => {
    if (mode === "off") return null;
    if (backend === null) {
      if (!choice.failIfUnavailable) return null;
      throw new ToolError(`${SETUP_FAILED}: ${reason ?? "no sandbox works here"}`);
    }
    const held: string[] = [];
    try {
      const made = policy(mode, command.memory === undefined ? [] : [command.memory]);
      if (backend.name === "bwrap") {
        for (const path of made.absent) {
          placeholders.hold(path);
          held.push(path);
        }
      }
      const launch = renderLaunch(command, made, { backend, list: listDirectory });
      return {
        ...launch,
        explain: (end) => {
          const failure = findSetupFailure(end);
          if (failure === null) return explainFailure(end, made);
          onSetupFailure();
          throw new ToolError(`${SETUP_FAILED}: ${failure}`);
        },
        release: () => {
          placeholders.release(held);
          removeIntruders(made.unholdable);
        },
      };
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
