// Finds a locked npm package on disk, or fetches it with npm. Package managers install only their own platform's
// binaries; a release needs those of all platforms.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const CACHE = join(ROOT, ".tmp/packages");

/** Path of the first of these files the package has, in the version bun.lock names. It is fetched when node_modules
 *  does not hold it (npm also moves Bun's program out of its platform package), and must have the locked checksum. */
export async function packageFile(name: string, candidates: string[]): Promise<string> {
  const { version, integrity } = lockedPackage(name);
  const cached = join(CACHE, `${name.replace("/", "-")}-${version}`);
  const find = () =>
    [join(ROOT, "node_modules", name), cached]
      .flatMap((folder) => candidates.map((file) => join(folder, file)))
      .find(existsSync);
  const found = find();
  if (found) return found;
  await fetchPackage(`${name}@${version}`, integrity, cached);
  const fetched = find();
  if (!fetched) throw new Error(`${name}@${version} has none of ${candidates.join(", ")}`);
  return fetched;
}

async function fetchPackage(spec: string, integrity: string, destination: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const scratch = mkdtempSync(join(CACHE, ".fetch-"));
  try {
    await run(["npm", "pack", spec, "--silent", "--pack-destination", scratch]);
    const tarball = readdirSync(scratch).find((file) => file.endsWith(".tgz"));
    if (!tarball) throw new Error(`npm pack ${spec} wrote no file`);
    const digest = createHash("sha512")
      .update(readFileSync(join(scratch, tarball)))
      .digest("base64");
    if (integrity !== `sha512-${digest}`) throw new Error(`${spec} does not have the checksum bun.lock names`);
    await run(["tar", "-xzf", join(scratch, tarball), "-C", scratch]);
    rmSync(destination, { recursive: true, force: true });
    renameSync(join(scratch, "package"), destination);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** bun.lock is JSON with trailing commas; a package entry is `[spec, registry, info, integrity]`. */
function lockedPackage(name: string): { version: string; integrity: string } {
  const lock = Bun.JSONC.parse(readFileSync(join(ROOT, "bun.lock"), "utf8")) as { packages: Record<string, string[]> };
  const entry = lock.packages[name];
  const [spec, , , integrity] = entry ?? [];
  if (!spec || !integrity) throw new Error(`bun.lock has no package ${name}`);
  return { version: spec.slice(name.length + 1), integrity };
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd: CACHE, stdout: "ignore", stderr: "pipe" });
  const [errors, exitCode] = await Promise.all([child.stderr.text(), child.exited]);
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${errors}`);
}
