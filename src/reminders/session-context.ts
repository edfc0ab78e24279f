// The device, the directory and the state of its repository. Told at first, after a change of directory and after a
// compaction; not on every turn, because it would change the prompt each time.

import { hostname, release } from "node:os";
import { describeGit, summariseGit } from "./git-summary.ts";
import type { Reminder } from "./registry.ts";
import { formatLocalTime } from "./time.ts";

export const sessionContext: Reminder = {
  id: "session-context",
  async build({ cwd, env, settings, systemInfo, version, now }, previous) {
    if (!systemInfo || settings.user.sessionContextEnabled === false) return null;
    // Asking git costs processes: only when there is something to say.
    if (previous === cwd) return null;
    const git = await summariseGit(cwd, env);
    const why =
      previous === undefined
        ? "It tells you where you work, so that you need not ask."
        : `The working directory has changed; before, it was ${previous}.`;
    const text = [
      `This is an automated message, not written by the user. ${why}`,
      `- Local time: ${formatLocalTime(now)}`,
      `- Device: ${describeSystem()}`,
      `- Client: letta ${version}`,
      `- Working directory: ${cwd}`,
      ...describeGit(git),
      ...(process.platform === "win32" ? ["- Commands run in the shell of this Windows system: use its syntax."] : []),
    ].join("\n");
    return { text, fingerprint: cwd };
  },
};

function describeSystem(): string {
  const names: Partial<Record<NodeJS.Platform, string>> = { darwin: "macOS", linux: "Linux", win32: "Windows" };
  return `${names[process.platform] ?? process.platform} ${release()} (${process.arch}), ${hostname()}`;
}
