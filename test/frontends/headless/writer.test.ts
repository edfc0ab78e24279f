// The writer against real pipes and devices: what a slow, leaving or full reader does to it.

import { expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWriter } from "@/frontends/headless/writer.ts";

const ENTRY = join(import.meta.dir, "writer-entry.ts");
const MEGABYTE = 1024 * 1024;

function command(total: number, piece: number): string {
  return `"${process.execPath}" "${ENTRY}" ${total} ${piece}`;
}

async function shell(script: string) {
  const child = Bun.spawn(["bash", "-c", script], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout: stdout.trim(), stderr: stderr.trim(), exitCode };
}

test("a reader that starts late gets every byte, and waiting costs no memory", async () => {
  const { stdout, stderr } = await shell(`${command(60 * MEGABYTE, 10_000)} | (sleep 1; wc -c)`);
  expect(stdout).toBe(String(60 * MEGABYTE));
  const report = JSON.parse(stderr);
  expect(report).toMatchObject({ closed: false, failure: null });
  expect(report.rssMb).toBeLessThan(150);
});

test("one piece of five megabytes arrives whole", async () => {
  const { stdout } = await shell(`${command(5_000_000, 5_000_000)} | (sleep 0.5; wc -c)`);
  expect(stdout).toBe("5000000");
});

test("a non-blocking pipe is waited for", async () => {
  // The reader sets O_NONBLOCK on the shared pipe end before the writer starts.
  const script = `python3 - <<'PY'
import fcntl, os, subprocess, time
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)
child = subprocess.Popen(${JSON.stringify([process.execPath, ENTRY, "2000000", "100000"])}, stdout=w)
os.close(w)
time.sleep(0.3)
size = 0
while chunk := os.read(r, 65536):
    size += len(chunk)
print(size, child.wait())
PY`;
  const { stdout } = await shell(script);
  expect(stdout).toBe("2000000 0");
});

test("a reader that leaves ends writing without an error", async () => {
  const { stdout, stderr, exitCode } = await shell(`${command(50 * MEGABYTE, 10_000)} | head -c 3`);
  expect(stdout).toBe("xxx");
  expect(JSON.parse(stderr)).toMatchObject({ closed: true, failure: null });
  expect(exitCode).toBe(0);
});

test("a full device is a failure that says so", async () => {
  const { stderr } = await shell(`${command(MEGABYTE, 1000)} > /dev/full`);
  expect(JSON.parse(stderr)).toMatchObject({
    closed: true,
    failure: "cannot write to standard output: no space left on device",
  });
});

test("pieces keep their order", async () => {
  const dir = mkdtempSync(join(tmpdir(), "letta-writer-"));
  const fd = openSync(join(dir, "out"), "w");
  const writer = openWriter(fd);
  const pieces = Array.from({ length: 500 }, (_, index) => `${index}\n`);
  await Promise.all(pieces.map((piece) => writer.write(piece)));
  await writer.drain();
  closeSync(fd);
  expect(readFileSync(join(dir, "out"), "utf8")).toBe(pieces.join(""));
  rmSync(dir, { recursive: true });
});
