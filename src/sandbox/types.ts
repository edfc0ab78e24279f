// The sandbox as tools and front ends see it. Loaded with them, so it holds nothing that works.

import type { Backend, Launch } from "./launch.ts";
import type { CommandEnd } from "./report.ts";
import type { SandboxChoice } from "./settings.ts";

export interface SandboxStatus {
  profile: SandboxChoice["mode"];
  /** `none`: commands are not confined. */
  backend: Backend["name"] | "none";
  network: "on" | "off";
  /** Who chose the profile. */
  source: SandboxChoice["source"];
  /** Why there is no backend although a profile is wanted. */
  reason?: string;
}

export interface Confined extends Launch {
  /** One line for the model, null when the sandbox is not to blame. Throws ToolError when it could not be set up. */
  explain(end: CommandEnd): string | null;
  /** When the command has ended or could not be started. */
  release(): unknown;
}

export interface Sandbox {
  readonly status: SandboxStatus;
  /** Commands run inside. */
  readonly active: boolean;
  /** They need no answer because of it. */
  readonly autoAllow: boolean;
  /** Files in the workspace may be edited without an answer, too: nobody is there to give one. */
  readonly contained: boolean;
  /** Null: the command runs as without a sandbox. Throws ToolError when it must not. `memory` is the folder of the
   *  agent's own memory: it belongs to the workspace. */
  confine(command: { argv: string[]; cwd: string; terminal?: boolean; memory?: string }): Confined | null;
  /** Removes the private temporary directory. */
  close(): void;
}

/** What tools without an app (tests, small commands) are given: nothing is confined. */
export function withoutSandbox(source: SandboxChoice["source"] = "default"): Sandbox {
  return {
    status: { profile: "off", backend: "none", network: "on", source },
    active: false,
    autoAllow: false,
    contained: false,
    confine: () => null,
    close: () => {},
  };
}
