// Cross-compiles every target into `dist/release/`: `letta-<target>.gz` and `SHA256SUMS`, which is what install.sh
// downloads. The same sources give the same names and, with the same Bun, the same bytes. With names as arguments only
// those targets are built. Ends with a summary; exit code 1 when a target could not be built.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { compile, ROOT } from "./build.ts";
import { findSignatureProblem, signAdHoc } from "./macho-signature.ts";
import { TARGETS, type Target } from "./targets.ts";

const RELEASE = join(ROOT, "dist/release");

interface Artifact {
  target: Target;
  file: string;
  bytes: number;
  sha256: string;
}

type Outcome = { status: "built"; artifact: Artifact } | { status: "failed"; target: Target; reason: string };

async function release(names: string[]): Promise<number> {
  const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name));
  if (unknown.length > 0) {
    console.error(`Error: unknown target ${unknown.join(", ")}. Targets: ${TARGETS.map((t) => t.name).join(", ")}`);
    return 2;
  }
  rmSync(RELEASE, { recursive: true, force: true });
  mkdirSync(RELEASE, { recursive: true });
  const outcomes: Outcome[] = [];
  for (const target of TARGETS.filter((t) => names.length === 0 || names.includes(t.name))) {
    const outcome = await build(target);
    outcomes.push(outcome);
    console.log(describe(outcome));
  }
  writeChecksums(outcomes.flatMap((outcome) => (outcome.status === "built" ? [outcome.artifact] : [])));
  const failed = outcomes.filter((outcome) => outcome.status === "failed");
  console.log(`${outcomes.length - failed.length} of ${outcomes.length} targets are in ${RELEASE}`);
  return failed.length === 0 ? 0 : 1;
}

async function build(target: Target): Promise<Outcome> {
  const executable = join(RELEASE, `letta-${target.name}${target.suffix}`);
  try {
    await compile({ outfile: executable, target });
    const packed = gzipSync(sign(readFileSync(executable), target), { level: 9 });
    const file = `letta-${target.name}.gz`;
    writeFileSync(join(RELEASE, `${file}.partial`), packed);
    renameSync(join(RELEASE, `${file}.partial`), join(RELEASE, file));
    const sha256 = createHash("sha256").update(packed).digest("hex");
    return { status: "built", artifact: { target, file, bytes: packed.length, sha256 } };
  } catch (error) {
    return { status: "failed", target, reason: reasonOf(error) };
  } finally {
    rmSync(executable, { force: true });
  }
}

function sign(executable: Uint8Array, target: Target): Uint8Array {
  if (!target.name.startsWith("darwin-")) return executable;
  const signed = findSignatureProblem(executable) === null ? executable : signAdHoc(executable, "letta");
  const problem = findSignatureProblem(signed);
  if (problem !== null) throw new Error(`code signature: ${problem}`);
  return signed;
}

/** The format of `sha256sum`: its `--check` reads it. */
function writeChecksums(artifacts: Artifact[]): void {
  const lines = artifacts.map(({ sha256, file }) => `${sha256}  ${file}\n`).sort();
  writeFileSync(join(RELEASE, "SHA256SUMS"), lines.join(""));
}

function describe(outcome: Outcome): string {
  if (outcome.status === "failed") return `FAILED ${outcome.target.name}: ${outcome.reason}`;
  const { file, bytes } = outcome.artifact;
  return `${file}  ${(bytes / 1e6).toFixed(1)} MB`;
}

/** Bun's build errors arrive as one AggregateError. */
function reasonOf(error: unknown): string {
  const errors = error instanceof AggregateError ? error.errors : [error];
  return errors.map((one) => (one instanceof Error ? one.message : String(one))).join("; ");
}

process.exitCode = await release(process.argv.slice(2));
