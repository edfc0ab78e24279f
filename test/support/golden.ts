// Golden files: reviewed texts under test/golden. `UPDATE_GOLDEN=1 bun test` rewrites them.

import { expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dir, "../golden");

export function expectGolden(name: string, text: string): void {
  const file = join(ROOT, name);
  if (process.env.UPDATE_GOLDEN) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(existsSync(file) ? readFileSync(file, "utf8") : `(no ${name}; run with UPDATE_GOLDEN=1)`).toBe(text);
}
