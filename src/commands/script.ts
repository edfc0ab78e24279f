// `letta script FILE …`: becomes Bun, which is in this executable, and runs a TypeScript or JavaScript file. So a skill's
// scripts need nothing installed. Plain `BUN_BE_BUN=1 letta FILE` would run what the bunfig.toml of the working directory
// preloads, read its `.env`, and fetch packages from the network: none of that happens here.

import { statSync } from "node:fs";
import { devNull } from "node:os";
import { resolve } from "node:path";
import { defineCommand } from "citty";
import { LettaError } from "@/lib/errors.ts";
import { withoutBunSwitches } from "@/lib/self.ts";
import { commandContext } from "./context.ts";

const SWITCHES = [`--config=${devNull}`, "--no-env-file", "--no-install"];

export const command = {
  ...defineCommand({
    meta: { name: "script", description: "Run a TypeScript or JavaScript file with the built-in Bun" },
    args: {
      file: { type: "positional", required: true, description: "The file; everything after it is the script's" },
    },
    run: ({ rawArgs, data }) => {
      const { cwd, env } = commandContext(data);
      const [file = "", ...args] = rawArgs;
      return runScript({ file: resolve(cwd, file), args, cwd, vars: env.all });
    },
  }),
  passThrough: true,
};

interface ScriptRun {
  /** Absolute. */
  file: string;
  args: string[];
  cwd: string;
  vars: Readonly<Record<string, string | undefined>>;
}

/** Where a process can become another one it does not return. */
async function runScript({ file, args, cwd, vars }: ScriptRun): Promise<number> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new LettaError("not_found", `no such file: ${file}`);
  const argv = [process.execPath, ...SWITCHES, file, ...args];
  const env = { ...withoutBunSwitches(vars), BUN_BE_BUN: "1" };
  if (process.platform !== "win32" && process.execve) process.execve(process.execPath, argv, env);
  return await Bun.spawn(argv, { cwd, env, stdio: ["inherit", "inherit", "inherit"] }).exited;
}
