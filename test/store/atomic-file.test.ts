import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const dir = mkdtempSync(join(tmpdir(), "atomic-file-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("a lock that could not be written, as on a full disk, is not left behind", async () => {
  const path = join(dir, "full.json");
  const script = `
    import { withFileLock } from ${JSON.stringify(join(import.meta.dir, "../../src/store/atomic-file.ts"))};
    await withFileLock(process.argv[1], () => console.log("locked")).catch((error) => console.log(error.code));
  `;
  // No file may grow, and the signal that says so is ignored: every write fails.
  const limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh"];
  const child = Bun.spawn([...limited, process.execPath, "-e", script, path], { stdout: "pipe", stderr: "inherit" });
  expect(await child.stdout.text()).toBe("storage\n");
  expect(existsSync(`${path}.lock`)).toBe(false);
});
