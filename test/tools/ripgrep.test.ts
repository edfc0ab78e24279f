import { afterEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256 } from "@/lib/hash.ts";
import { runRipgrep, unpack } from "@/tools/ripgrep.ts";
import { openWorkbench } from "./support.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  }
});

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "letta-rg-"));
  folders.push(folder);
  const source = join(folder, "embedded");
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  writeFileSync(source, bytes);
  return {
    folder,
    source,
    sha256: sha256(bytes),
    directory: join(folder, "bin/rg-1"),
    target: join(folder, "bin/rg-1/rg"),
  };
}

test("unpacks once, executable, and keeps what is right", () => {
  const { target, ...options } = setUp();
  expect(unpack(options)).toBe(target);
  const first = statSync(target);
  expect(first.mode & 0o777).toBe(0o755);
  expect(unpack(options)).toBe(target);
  expect(statSync(target).ino).toBe(first.ino);
});

test("what was changed or cut is replaced, never run", () => {
  const { target, ...options } = setUp();
  mkdirSync(options.directory, { recursive: true });
  writeFileSync(target, "#!/bin/sh\necho evil\n", { mode: 0o755 });
  expect(unpack(options)).toBe(target);
  expect(statSync(target).size).toBe(60_000);
});

test("a wrong checksum or a place that cannot be written gives nothing", () => {
  const { target, ...options } = setUp();
  expect(unpack({ ...options, sha256: "0".repeat(64) })).toBeNull();
  const blocked = join(options.folder, "file");
  writeFileSync(blocked, "");
  expect(unpack({ ...options, directory: join(blocked, "below") })).toBeNull();
  expect(statSync(target, { throwIfNoEntry: false })).toBeUndefined();
});

test("several processes at once all end with a whole file", async () => {
  const { target, source, sha256: hash, directory } = setUp();
  const module = join(import.meta.dir, "../../src/tools/ripgrep.ts");
  const script = `const { unpack } = await import(${JSON.stringify(module)});
    console.log(unpack(${JSON.stringify({ source, sha256: hash, directory })}));`;
  const runs = Array.from({ length: 4 }, () => Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" }));
  const outputs = await Promise.all(runs.map((run) => run.stdout.text()));
  expect(outputs).toEqual(Array.from({ length: 4 }, () => `${target}\n`));
  expect(sha256(await Bun.file(target).bytes())).toBe(hash);
  expect(readdirSync(directory)).toEqual(["rg"]);
});

test("a search without end is stopped; what it found so far counts", async () => {
  await using bench = openWorkbench();
  const program = join(import.meta.dir, "../fixtures/tools/endless-search");
  const { signal, services, cwd } = bench.context();
  const run = await runRipgrep(program, [], { cwd, maxBytes: 1_000, signal, shells: services.shells, timeoutMs: 300 });
  expect(run).toMatchObject({ stdout: "found\n", cut: true, timedOut: true });
});
