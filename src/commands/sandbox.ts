// `letta sandbox doctor`: tries every way of confining commands on this machine and says what each can and cannot do.
// Exit code 0: one works, 1: none does.

import { defineCommand } from "citty";
import type { Core } from "@/app.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { type Candidate, forgetBackend, landlockVersion, probeAll } from "@/sandbox/backend.ts";
import { SCOPE_ABI } from "@/sandbox/landlock.ts";
import { backendOptions } from "@/sandbox/open.ts";
import { resolveSandbox } from "@/sandbox/settings.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

const doctor = defineCommand({
  meta: { name: "doctor", description: "Try every sandbox of this system and say which one is used" },
  args: outputArgs,
  run: ({ args, data }) => withCore(data, (core, io) => runSandboxDoctor(core, args, io)),
});

export const command = defineCommand({ subCommands: { doctor } });

interface Report {
  /** What commands would run in; null when none works. */
  backend: Candidate["name"] | null;
  platform: string;
  /** Landlock's version in this kernel; 0: none. */
  landlock_abi: number;
  settings: { mode: string; source: string; network: string };
  backends: { name: Candidate["name"]; works: boolean; reason?: string; limits: string[] }[];
}

/** What a backend cannot do, so that nobody believes more than is true. */
const LIMITS: Record<Candidate["name"], string[]> = {
  bwrap: [
    "what a command leaves running ends with it",
    "protected names that do not exist are held by empty directories while a command runs",
    "named pipes outside are closed where they were looked for: below /run, at home, beside the folder",
  ],
  landlock: [
    "commands make new files inside the folders of the workspace, not at its top, and cannot write to .git itself",
    "folders that hold hidden ones (/, your home) cannot be listed",
    "no servers, not even on this machine, while the network is off",
    "no shared memory, message queues, pseudo-terminals and file attributes (setfattr, chattr)",
  ],
  seatbelt: ["hidden files keep their names and sizes visible"],
};

const SIGNALS = "commands can send signals to your other processes";
/** Of every backend. */
const SCAN =
  "repositories, and files that deny rules name by a pattern, are found in the first 200 folders of the workspace";

export async function runSandboxDoctor(core: Core, args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, () => examine(core), {
    text: renderReport,
    exitCode: (report) => (report.backend === null ? 1 : 0),
  });
}

async function examine({ env, paths, settings }: Core): Promise<Report> {
  const options = backendOptions(env, paths);
  // What was found out before may be why somebody asks.
  forgetBackend(options);
  const candidates = await probeAll(options);
  const { mode, source, network } = resolveSandbox(settings, { fallback: "workspace" });
  return {
    backend: candidates.find(({ probe }) => probe?.works)?.name ?? null,
    platform: `${process.platform}-${process.arch}`,
    landlock_abi: landlockVersion(),
    settings: { mode, source, network },
    backends: candidates.map(({ name, reason, probe }) => {
      const why = probe && !probe.works ? probe.reason : reason;
      const limits = [
        ...LIMITS[name],
        ...(name === "landlock" && landlockVersion() < SCOPE_ABI ? [SIGNALS] : []),
        SCAN,
      ];
      return { name, works: probe?.works ?? false, ...(why !== undefined && { reason: why }), limits };
    }),
  };
}

function renderReport({ backend, platform, landlock_abi, settings, backends }: Report): string {
  const lines = backends.flatMap(({ name, works, reason, limits }) => [
    `${name.padEnd(10)}${works ? "works" : `does not work: ${toPlainLine(reason ?? "unknown")}`}`,
    ...(works ? limits.map((limit) => `          - ${limit}`) : []),
  ]);
  const verdict =
    backend === null
      ? `No sandbox works here (${platform}): commands run only as permissions say. On Linux, install bubblewrap.`
      : `Commands run in ${backend} when a sandbox is asked for, and with -p unless a flag says otherwise.`;
  const chosen = `Profile ${settings.mode} (${settings.source}), network ${settings.network}, Landlock version ${landlock_abi}`;
  return `${[...lines, chosen, verdict].join("\n")}\n`;
}
