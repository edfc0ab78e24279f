// `letta version`: the same line as `letta --version`.

import { defineCommand } from "citty";
import { VERSION } from "@/version.ts";
import { commandContext } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

export const command = defineCommand({
  args: outputArgs,
  run: ({ args, data }) => runVersion(args, commandContext(data).io),
});

export async function runVersion(args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, () => ({ version: VERSION }), { text: ({ version }) => `${version} (letta)\n` });
}
