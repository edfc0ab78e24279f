// Runs many proven commands for real.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { hardenEnv } from "@/shell/hardened-env.ts";
import type { PermissionWorld } from "./permission-world.ts";

const RIPGREP = join(import.meta.dir, `../../node_modules/@vscode/ripgrep-${process.platform}-${process.arch}/bin`);
/** With our ripgrep in front. */
export const PROGRAM_PATH = `${existsSync(RIPGREP) ? `${RIPGREP}:` : ""}${process.env.PATH}`;

/** All in one shell, each in a subshell: starting one for each takes longer than most of them. */
export async function runAll(world: PermissionWorld, texts: (string | null)[]): Promise<string[]> {
  const end = "==== end of a command ====";
  const script = texts.map((text) => `(\n${text}\n) </dev/null 2>&1; printf '\\n%s\\n' '${end}'`).join("\n");
  const env = hardenEnv({ PATH: PROGRAM_PATH, HOME: world.home }, [world.project]);
  const child = Bun.spawn(["bash", "--noprofile", "--norc"], {
    cwd: world.project,
    env,
    stdin: new Blob([script]),
    stdout: "pipe",
  });
  const output = Buffer.from(await child.stdout.bytes()).toString("latin1");
  const outputs = output.split(`\n${end}\n`).slice(0, -1);
  if (outputs.length !== texts.length) throw new Error(`${outputs.length} of ${texts.length} commands ran`);
  return outputs;
}
