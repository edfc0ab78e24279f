// The directory for temporary files of confined commands. Its name says whose it is, so that what a killed process left is
// taken away by the next one.

import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isPidAlive } from "@/lib/process-stat.ts";

const PREFIX = "letta-sandbox-";

export function makePrivateTmp(tmpdir: string): string {
  const owners = `${PREFIX}${pidNamespace()}-`;
  removeAbandoned(tmpdir, owners);
  return mkdtempSync(join(tmpdir, `${owners}${process.pid}-`));
}

/** In another namespace the same number is another process. */
function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0"; // This system has none.
  }
}

function removeAbandoned(tmpdir: string, owners: string): void {
  try {
    for (const name of readdirSync(tmpdir)) {
      const pid = name.startsWith(owners) ? /^(\d+)-/.exec(name.slice(owners.length))?.[1] : undefined;
      if (pid === undefined || isPidAlive(Number(pid))) continue;
      const path = join(tmpdir, name);
      const stat = lstatSync(path);
      if (stat.isDirectory() && stat.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    }
  } catch {
    /* not ours to look into, or another process was faster */
  }
}
