// The demo is the first thing a newcomer sees: it must work on a bare machine, without a network, and leave nothing.

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { QUESTION_GUARD_MS } from "@/frontends/repl/limits.ts";
import { runLetta, spawnLetta, tempHome } from "../support/binary.ts";
import { openPty } from "../support/pty.ts";

test.each([[[]], [["--yes"]]])("on a pipe, with %p", async (flags) => {
  using home = tempHome();
  const { stdout, stderr, exitCode, durationMs } = await runLetta(["demo", ...flags], { home });
  expect(stderr).toBe("");
  for (const said of [
    "scripted stand-in",
    "Read",
    "test.sh",
    "Edit",
    "price.sh",
    "sh test.sh",
    "ok: 100 becomes 120",
    "memory create reference/price-project",
    "Letta       how the price project is tested, for next time",
  ]) {
    expect(stdout).toContain(said);
  }
  expect(stdout).toContain("letta connect");
  expect(exitCode).toBe(0);
  expect(durationMs).toBeLessThan(20_000);
  expect(traces(home.path)).toEqual([]);
});

test("on a terminal a person is asked", async () => {
  using home = tempHome();
  await using demo = await openPty(["demo"], { home });
  await demo.waitFor(/Run this command\?.*sh test\.sh.*1\. Yes/s);
  await demo.waitFor(/don't ask again|No, and tell/);
  demo.type("y");
  await demo.waitFor(/ok: 100 becomes 120.*letta connect/s);
  expect(await demo.exited).toBe(0);
  expect(traces(home.path)).toEqual([]);
});

test("a no is respected", async () => {
  using home = tempHome();
  await using demo = await openPty(["demo"], { home });
  await demo.waitFor(/No, and tell/);
  // A question does not take keys that may have been meant for something else before it opened.
  await Bun.sleep(QUESTION_GUARD_MS);
  demo.type("3\r");
  await demo.waitFor(/not proven.*letta connect/s);
  expect(demo.text()).not.toContain("ok: 100 becomes 120");
  expect(await demo.exited).toBe(0);
  expect(traces(home.path)).toEqual([]);
});

test("Ctrl-C leaves at once and leaves nothing", async () => {
  using home = tempHome();
  await using demo = await openPty(["demo"], { home });
  await demo.waitFor(/No, and tell/);
  demo.type("\x03");
  expect(await demo.exited).toBe(130);
  expect(traces(home.path)).toEqual([]);
});

test("SIGTERM leaves nothing", async () => {
  using home = tempHome();
  await using demo = await spawnLetta(["demo"], { home });
  await demo.waitFor("stdout", /scripted stand-in/);
  demo.kill("SIGTERM");
  const { exitCode } = await demo.exited;
  // It may have been over already: a pipe gets the story without pauses.
  expect([0, 143]).toContain(exitCode);
  expect(traces(home.path)).toEqual([]);
});

/** Everything in the home but the directories the test made. */
function traces(home: string): string[] {
  return [...readdirSync(home).filter((name) => name !== "work" && name !== "tmp"), ...readdirSync(join(home, "tmp"))];
}
