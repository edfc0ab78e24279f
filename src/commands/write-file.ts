// Files a command writes because the user named them (`--out`).

import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";

/** Writes a file that must not exist yet; directories are made. Returns the path. */
export async function writeNewFile(path: string, content: string | Uint8Array): Promise<string> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content, { flag: "wx" });
    return path;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") {
      throw new LettaError("usage", `${path} exists already`, { hint: "Name another file, or move this one away." });
    }
    throw new LettaError("storage", `cannot write ${path}: ${systemReason(error)}`, { cause: error });
  }
}
