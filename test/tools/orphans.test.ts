// SIGKILL gives a process no chance to clean up: the watchdog must.

import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive, until } from "./support.ts";

const HOST = join(import.meta.dir, "../fixtures/tools/shell-host.ts");
const SLOW_SEARCH = join(import.meta.dir, "../fixtures/tools/endless-search");
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A process with tool services that runs one command; the pids its processes wrote. */
async function host(command: string, pidFiles: string[], ...flags: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "letta-orphans-"));
  folders.push(folder);
  const child = Bun.spawn([process.execPath, HOST, folder, command, ...flags], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const read = (name: string): number | undefined => {
    try {
      return Number(readFileSync(join(folder, name), "utf8")) || undefined;
    } catch {
      return undefined; // Not written yet.
    }
  };
  const pids = await Promise.all(pidFiles.map((name) => until(() => read(name))));
  return { child, pids };
}

const SLEEPER = (name: string): string => `sh -c 'echo $$ > ${name}.new; mv ${name}.new ${name}; exec sleep 1000'`;
const STUBBORN = `sh -c 'trap "" TERM INT HUP; echo $$ > stubborn.new; mv stubborn.new stubborn; while :; do sleep 1; done'`;

test("kill -9 leaves nothing of a running command after two seconds", async () => {
  const { child, pids } = await host(
    `setsid ${SLEEPER("daemon")} & setsid sh -c "setsid ${SLEEPER("deep").replaceAll("$", "\\$")} &" ; ${STUBBORN} & ${SLEEPER("plain")}`,
    ["daemon", "deep", "stubborn", "plain"],
  );
  expect(pids.map(isAlive)).toEqual([true, true, true, true]);
  child.kill("SIGKILL");
  await child.exited;
  await until(() => !pids.some(isAlive), 2_000);
}, 20_000);

test("kill -9 ends a search, too", async () => {
  const { child, pids } = await host("true", ["search"], "--search", SLOW_SEARCH);
  expect(pids.map(isAlive)).toEqual([true]);
  child.kill("SIGKILL");
  await child.exited;
  await until(() => !pids.some(isAlive), 2_000);
}, 20_000);

test("kill -9 also ends background tasks and what finished commands left in their group", async () => {
  const { child, pids } = await host(
    `nohup ${SLEEPER("left")} >/dev/null 2>&1 &`,
    ["left", "task"],
    "--task",
    SLEEPER("task"),
  );
  await until(() => pids.every(isAlive));
  child.kill("SIGKILL");
  await child.exited;
  await until(() => !pids.some(isAlive), 2_000);
}, 20_000);

test("a daemon that left on purpose, with closed output, is left alone", async () => {
  const { child, pids } = await host(
    `setsid ${SLEEPER("daemon")} >/dev/null 2>&1 & sleep 0.1`,
    ["daemon"],
    "--wait-for-end",
  );
  expect(await child.stdout.text()).toContain("ended");
  await child.exited;
  expect(isAlive(pids[0]!)).toBe(true);
  process.kill(pids[0]!);
}, 20_000);

test("ending without cleaning up is as good as being killed", async () => {
  const { child, pids } = await host(SLEEPER("plain"), ["plain"], "--exit-when-started");
  await child.exited;
  await until(() => !pids.some(isAlive), 2_000);
}, 20_000);
