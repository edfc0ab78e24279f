import { expect, test } from "bun:test";
import { join } from "node:path";

const CHILD = `'${process.execPath}' '${join(import.meta.dir, "io-child.ts")}'`;

async function shell(script: string): Promise<{ out: string; err: string; code: number }> {
  const child = Bun.spawn(["sh", "-c", script], { stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { out, err, code };
}

test("a reader that starts late gets everything", async () => {
  const { out, code } = await shell(`${CHILD} 4000 | { sleep 0.3; cat; }`);
  expect(code).toBe(0);
  expect(out.length).toBe(4000 * 1024);
  expect(out.split("\n").at(-2)?.slice(0, 8)).toBe("00003999");
});

test("a reader that leaves early ends the writing, without an error", async () => {
  const { out, err } = await shell(`${CHILD} 100000 | head -c 8`);
  expect(out).toBe("00000000");
  expect(Number(/^wrote (\d+)\n$/.exec(err)?.[1])).toBeLessThan(100000);
});

test.if(process.platform === "linux")("a full device is an error that says so", async () => {
  const { err, code } = await shell(`${CHILD} 1 > /dev/full`);
  expect(err).toContain("cannot write to standard output: no space left on device");
  expect(code).not.toBe(0);
});
