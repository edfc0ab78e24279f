import { expect, test } from "bun:test";
import { isPidAlive, readProcessStat } from "@/lib/process-stat.ts";

test("a living and an ended process", async () => {
  const child = Bun.spawn(["sleep", "60"], { stdin: "ignore" });
  expect(isPidAlive(child.pid)).toBe(true);
  child.kill();
  await child.exited;
  expect(isPidAlive(child.pid)).toBe(false);
  expect(readProcessStat(child.pid)).toBeNull();
});

test.skipIf(process.platform !== "linux")("what the kernel says about us", () => {
  expect(readProcessStat(process.pid)).toEqual({
    state: expect.stringMatching(/^[RS]$/),
    parent: process.ppid,
    group: expect.any(Number),
    startTicks: expect.stringMatching(/^\d+$/),
  });
});
