// The whole texts of the bundled skills. scripts/build.ts replaces this module by one that holds them; what is here
// serves development and tests. Imported when a bundled skill is used, not before.

import { join } from "node:path";
import { type BundleTexts, readBundle } from "./bundle.ts";

export function bundledTexts(): BundleTexts {
  return readBundle(join(import.meta.dir, "../../skills"));
}
