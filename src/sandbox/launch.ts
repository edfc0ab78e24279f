// A command and a policy → what to start instead of it. One function per backend; nothing is started here.

import type { InputDescriptor } from "@/lib/input-descriptors.ts";
import type { ProcessTag } from "@/lib/process-tree.ts";
import { renderBwrap } from "./bwrap.ts";
import type { ExecPlan } from "./exec.ts";
import { type ListDirectory, planLandlock } from "./landlock.ts";
import type { SandboxPolicy } from "./policy.ts";
import { renderSeatbelt } from "./seatbelt.ts";
import { encodeProgram, seccompProgram } from "./seccomp.ts";

export type Backend =
  | { name: "bwrap"; path: string }
  | { name: "landlock"; abi: number; self: string[] }
  | { name: "seatbelt" };

export interface Launch {
  argv: string[];
  /** Descriptors 3, 4, …: bytes to read, or one of ours. */
  inputs: InputDescriptor[];
  /** Added to the command's environment. */
  env: Record<string, string>;
  /** Marks its processes, also those that hide; absent where they end with the command anyway. */
  tag?: ProcessTag;
}

export interface LaunchFacts {
  backend: Backend;
  list: ListDirectory;
  mountInfo: string;
  tag: ProcessTag;
  /** Socket to who answers for the kernel; asked where it is needed. */
  attendant(): number;
}

const FIRST_INPUT = 3;

export function renderLaunch(
  command: { argv: string[]; cwd: string; terminal?: boolean },
  policy: SandboxPolicy,
  { backend, list, mountInfo, tag, attendant }: LaunchFacts,
): Launch {
  const env = {
    ...Object.fromEntries(["TMPDIR", "TMP", "TEMP"].map((name) => [name, policy.tmp])),
    LETTA_SANDBOX: backend.name,
  };
  switch (backend.name) {
    case "bwrap": {
      const architecture = process.arch === "arm64" ? "arm64" : "x64";
      // Its network is its own: sockets in it reach nobody.
      const program = seccompProgram({ architecture, inet: true, ownNamespaces: true });
      const facts = {
        bwrap: backend.path,
        cwd: command.cwd,
        seccompFd: FIRST_INPUT,
        mountInfo,
        terminal: command.terminal ?? false,
      };
      return {
        argv: [...renderBwrap(policy, facts), ...command.argv],
        inputs: [encodeProgram(program)],
        env,
      };
    }
    case "landlock": {
      const landlock = planLandlock(policy, backend.abi, list);
      const plan: ExecPlan = {
        landlock,
        inet: policy.network === "on",
        tag: Number(tag.own),
        metadata: { rules: policy.rules },
      };
      const inputs = [new TextEncoder().encode(JSON.stringify(plan)), attendant()];
      return { argv: [...backend.self, "__sandbox-exec", "--", ...command.argv], inputs, env, tag };
    }
    case "seatbelt":
      return { argv: [...renderSeatbelt(policy), ...command.argv], inputs: [], env };
  }
}
