// Builds `dist/letta`, or the file named as argument, for this machine; scripts/release.ts calls `compile` once per platform.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { indexBundle, readBundle } from "@/skills/bundle.ts";
import { packageFile } from "./npm-package.ts";
import type { Target } from "./targets.ts";

export const ROOT = join(import.meta.dir, "..");

/** Modules that run as threads: nothing imports them. */
const THREADS = ["src/sandbox/metadata-worker.ts"].map((path) => join(ROOT, path));

export interface CompileOptions {
  outfile: string;
  /** Default: this machine. */
  target?: Target;
  /** Default: src/main.ts. */
  entry?: string;
}

/** Links one executable. It appears whole: written beside `outfile` and renamed, so that an older one still running and
 *  other builders are not disturbed. */
export async function compile({ outfile, target, entry }: CompileOptions): Promise<void> {
  mkdirSync(dirname(outfile), { recursive: true });
  const scratch = mkdtempSync(join(dirname(outfile), ".build-"));
  // The name becomes part of the executable, so it must not be a random one: equal sources give equal bytes.
  const partial = join(scratch, `letta${target?.suffix ?? ""}`);
  try {
    await Bun.build({
      entrypoints: entry === undefined ? [join(ROOT, "src/main.ts"), ...THREADS] : [entry],
      target: "bun",
      format: "esm",
      minify: true,
      // Measured, `--version` and a headless turn: as one bundle with bytecode 12 and 132 ms, in chunks without bytecode
      // 4.4 and 199 ms, in chunks with bytecode 4.4 (the floor) and 96 ms, and 25 MB instead of 39 for `--version`,
      // because only what is used is mapped. Less bytecode (`bytecodeDepth`) is slower; minifying saves size only.
      bytecode: true,
      splitting: true,
      // pi-ai's module initialisers are marked pure and would be dropped.
      ignoreDCEAnnotations: true,
      compile: {
        outfile: partial,
        // Security: otherwise the binary runs a `preload` from any repository's bunfig.toml and takes variables from
        // its `.env` (test/e2e/autoload.test.ts).
        autoloadBunfig: false,
        autoloadDotenv: false,
        autoloadTsconfig: false,
        // Without it `exports` of a mod's packages do not resolve at run time.
        autoloadPackageJson: true,
        ...(target ? { target: target.bun, executablePath: await runtimeOf(target) } : {}),
      },
      plugins: [embedRipgrep(await ripgrepOf(target)), embedSkills(join(ROOT, "skills"))],
    });
    renameSync(partial, outfile);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Replaces src/tools/ripgrep-binary.ts, which finds the npm package in development, by the target's own file. */
function embedRipgrep(file: string): Bun.BunPlugin {
  const sha256 = createHash("sha256").update(readFileSync(file)).digest("hex");
  const contents = `
    import path from ${JSON.stringify(file)} with { type: "file" };
    export const ripgrepBinary = { path, sha256: ${JSON.stringify(sha256)}, embedded: true };`;
  return {
    name: "embed-ripgrep",
    setup: (build) => {
      build.onLoad({ filter: /[\\/]src[\\/]tools[\\/]ripgrep-binary\.ts$/ }, () => ({ contents, loader: "ts" }));
    },
  };
}

/** Replaces src/skills/bundled-index.ts and bundled-texts.ts, which read the folder in development, by what it holds. */
function embedSkills(folder: string): Bun.BunPlugin {
  const texts = readBundle(folder);
  const contents = {
    index: `const index = ${JSON.stringify(indexBundle(texts))}; export const bundledIndex = () => index;`,
    texts: `const texts = ${JSON.stringify(texts)}; export const bundledTexts = () => texts;`,
  };
  return {
    name: "embed-skills",
    setup: (build) => {
      build.onLoad({ filter: /[\\/]src[\\/]skills[\\/]bundled-(?:index|texts)\.ts$/ }, ({ path }) => ({
        contents: path.endsWith("bundled-index.ts") ? contents.index : contents.texts,
        loader: "ts",
      }));
    },
  };
}

function ripgrepOf(target: Target | undefined): Promise<string> {
  const name = target?.ripgrepPackage ?? `@vscode/ripgrep-${process.platform}-${process.arch}`;
  return packageFile(name, ["bin/rg", "bin/rg.exe"]);
}

function runtimeOf(target: Target): Promise<string> {
  return packageFile(target.runtimePackage, ["bin/bun", "bin/bun.exe"]);
}

if (import.meta.main) {
  const outfile = resolve(process.argv[2] ?? join(ROOT, "dist/letta"));
  await compile({ outfile });
  console.log(`built ${outfile}`);
}
