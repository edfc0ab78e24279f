// Builds `dist/letta` for this machine. `scripts/release.ts` calls `compile` once per target.

import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** The flags are security: without the two autoload switches the binary would run a `preload` from any repository's
 *  `bunfig.toml` and take variables from its `.env`. `--ignore-dce-annotations` keeps pi-ai's module initialisers
 *  (spec 02 §8.2). */
export async function compile(options: {
  outfile: string;
  target?: string;
  define?: Record<string, string>;
}): Promise<void> {
  mkdirSync(dirname(options.outfile), { recursive: true });
  const command = [
    process.execPath,
    "build",
    "--compile",
    "--minify",
    "--bytecode",
    "--format=esm",
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    "--compile-autoload-package-json",
    "--ignore-dce-annotations",
    ...(options.target ? [`--target=${options.target}`] : []),
    join(ROOT, "src/main.ts"),
    `--outfile=${options.outfile}`,
  ];
  const child = Bun.spawn(command, { cwd: ROOT, stdout: "pipe", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`bun build failed for ${options.outfile}`);
}

if (import.meta.main) {
  const outfile = join(ROOT, "dist/letta");
  await compile({ outfile });
  console.log(`built ${outfile}`);
}
