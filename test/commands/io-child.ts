// Writes a lot through the real Io; run by io.test.ts. Arguments: number of kilobytes.

import { processIo } from "@/commands/io.ts";
import { readEnv } from "@/store/env.ts";

const io = processIo(readEnv());
let written = 0;
for (let index = 0; index < Number(process.argv[2]) && !io.closed; index++) {
  io.stdout(`${String(index).padStart(8, "0")}${"x".repeat(1015)}\n`);
  written += 1;
}
io.stderr(`wrote ${written}\n`);
