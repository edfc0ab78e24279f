// What a child finds open besides the usual three.

import { closeSync } from "node:fs";
import { openMemoryFile } from "./memory-file.ts";

/** Bytes to read, or a descriptor of ours that stays open here. */
export type InputDescriptor = Uint8Array | number;

/** Opens them for as long as `start` takes. Throws what `start` throws. */
export function withInputs<T>(inputs: readonly InputDescriptor[], start: (files: number[]) => T): T {
  const made: number[] = [];
  try {
    const files = inputs.map((input) => {
      if (typeof input === "number") return input;
      const fd = openMemoryFile(input);
      made.push(fd);
      return fd;
    });
    return start(files);
  } finally {
    for (const fd of made) closeSync(fd);
  }
}
