// Builds `dist/letta` for this machine. `scripts/release.ts` calls `compile` once per target.

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

export const ROOT = join(import.meta.dir, "..");

/** The flags are security: without the two autoload switches the binary would run a `preload` from any repository's
 *  `bunfig.toml` and take variables from its `.env`. `--ignore-dce-annotations` keeps pi-ai's module initialisers
 *  (spec 02 §8.2). The executable appears whole: it is linked beside `outfile` and renamed, so a running older one and
 *  other builders are not disturbed. */
export async function compile(options: { outfile: string; target?: string; entry?: string }): Promise<void> {
  const folder = dirname(options.outfile);
  mkdirSync(folder, { recursive: true });
  const suffix = options.target?.includes("windows") ? ".exe" : "";
  const partial = join(folder, `.build-${process.pid}-${crypto.randomUUID()}${suffix}`);
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
    options.entry ?? join(ROOT, "src/main.ts"),
    `--outfile=${partial}`,
  ];
  try {
    const child = Bun.spawn(command, { cwd: ROOT, stdout: "pipe", stderr: "pipe" });
    const [output, errors, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (exitCode !== 0) throw new Error(`bun build failed for ${options.outfile}\n${output}${errors}`);
    renameSync(partial, options.outfile);
  } finally {
    rmSync(partial, { force: true });
  }
}

if (import.meta.main) {
  const outfile = join(ROOT, "dist/letta");
  await compile({ outfile });
  console.log(`built ${outfile}`);
}
