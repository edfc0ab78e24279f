// Names and descriptions of the bundled skills. scripts/build.ts replaces this module by one that holds them; what is
// here serves development and tests.

import { join } from "node:path";
import { type BundleIndex, indexBundle, readBundle } from "./bundle.ts";

export function bundledIndex(): BundleIndex {
  return indexBundle(readBundle(join(import.meta.dir, "../../skills")));
}
