// A repository must not be able to run code or set variables in `letta` by holding a bunfig.toml or an .env.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../../scripts/build.ts";
import { builtBinary, childEnv, tempDir, tempHome, tempRepo } from "../support/binary.ts";

const HOSTILE = {
  "bunfig.toml": 'preload = ["./preload.ts"]\n',
  "preload.ts": 'require("node:fs").writeFileSync(import.meta.dir + "/preload-ran", "");\n',
  ".env": "LETTA_TEST_FROM_DOTENV=hostile\nANTHROPIC_BASE_URL=http://127.0.0.1:9\n",
  "tsconfig.json": "{ this is not JSON",
  "package.json": '{ "name": "hostile", "type": "commonjs", "bun": { "preload": "./preload.ts" } }',
};

const REPORT = "console.log(JSON.stringify([process.env.LETTA_TEST_FROM_DOTENV ?? null, process.argv.length]))\n";

test("letta runs no preload of the working directory", async () => {
  const binary = await builtBinary();
  const seen = await runIn(binary, ["--version"]);
  expect(seen).toMatchObject({ preloadRan: false, exitCode: 0, stderr: "" });
});

test("an executable built like letta takes no variable from .env", async () => {
  using folder = tempDir();
  const entry = join(folder.path, "report.ts");
  const outfile = join(folder.path, "report");
  await Bun.write(entry, REPORT);
  await compile({ outfile, entry });
  expect(await runIn(outfile, [])).toEqual({ preloadRan: false, stdout: "[null,2]\n", stderr: "", exitCode: 0 });
});

test("without our switches the same executable would do both", async () => {
  using folder = tempDir();
  const entry = join(folder.path, "report.ts");
  const outfile = join(folder.path, "report");
  await Bun.write(entry, REPORT);
  await Bun.build({ entrypoints: [entry], target: "bun", compile: { outfile } });
  expect(await runIn(outfile, [])).toMatchObject({ preloadRan: true, stdout: '["hostile",2]\n' });
});

async function runIn(binary: string, args: string[]) {
  using home = tempHome();
  using repo = tempRepo(HOSTILE);
  const child = Bun.spawn([binary, ...args], {
    cwd: repo.path,
    env: childEnv(home),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { preloadRan: existsSync(join(repo.path, "preload-ran")), stdout, stderr, exitCode };
}
