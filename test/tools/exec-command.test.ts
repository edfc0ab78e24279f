import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execCommandTool } from "@/tools/exec-command.ts";
import { writeStdinTool } from "@/tools/write-stdin.ts";
import { isAlive, openWorkbench, until } from "./support.ts";

const bench = openWorkbench();
afterAll(() => bench[Symbol.asyncDispose]());

const exec = (args: object, overrides = {}) => bench.call(execCommandTool, { login: false, ...args }, overrides);
const stdin = (args: object, overrides = {}) => bench.call(writeStdinTool, args, overrides);
/** The envelope's parts. */
function parts(output: string) {
  const match =
    /^Chunk ID: ([0-9a-f]{6})\nWall time: (\d+\.\d{4}) seconds\nProcess (exited with code|running with session ID) (-?\d+)\nOriginal token count: (\d+)\nOutput:\n([\s\S]*)$/.exec(
      output,
    );
  if (!match) throw new Error(`no envelope: ${output}`);
  return {
    ended: match[3] === "exited with code",
    number: Number(match[4]),
    tokens: Number(match[5]),
    text: match[6]!,
  };
}

test("a command that ends says how, and what it wrote as it was written", async () => {
  const result = await exec({ cmd: "echo out; echo err >&2; exit 3" });
  expect(parts(result.output)).toEqual({ ended: true, number: 3, tokens: 2, text: "out\nerr" });
  expect(result).toMatchObject({ status: "error", summary: "exit code 3" });
  expect((await exec({ cmd: "echo fine" })).status).toBe("success");
});

test("what was proven runs, without login shell, chosen shell and terminal", async () => {
  const proven = { command: "echo 'proven'; test -t 1 || echo 'no terminal'", closedRoots: [bench.cwd] };
  const args = { cmd: "echo written", shell: "sh", login: true, tty: true };
  const { output } = await exec(args, { proven });
  expect(parts(output).text).toBe("proven\nno terminal");
});

test("what takes longer goes on, and is looked at until it ends", async () => {
  const flag = join(bench.cwd, "go");
  const first = parts(
    (await exec({ cmd: `echo one; until [ -e ${flag} ]; do read -t 0.02 < <(:); done; echo two`, yield_time_ms: 250 }))
      .output,
  );
  expect(first).toMatchObject({ ended: false, text: "one" });
  const session_id = first.number;
  await expect(stdin({ session_id, chars: "x" })).rejects.toThrow("has no terminal: its stdin is closed");
  await Bun.write(flag, "");
  expect(parts((await stdin({ session_id })).output)).toMatchObject({ ended: true, number: 0, text: "two" });
  await expect(stdin({ session_id })).rejects.toThrow(`There is no session ${session_id}`);
  const log = readFileSync(bench.services.background.find(String(session_id))!.outputFile, "utf8");
  expect(log).toBe("one\ntwo\n[exit code: 0]\n");
});

describe("on a terminal", () => {
  test("a program asks, is answered, and is interrupted", async () => {
    const first = parts(
      (await exec({ cmd: 'read -p "name? " name; echo "hi $name"; sleep 600', tty: true, yield_time_ms: 300 })).output,
    );
    expect(first).toMatchObject({ ended: false, text: "name?" });
    const session_id = first.number;
    expect(parts((await stdin({ session_id, chars: "Ada\n" })).output).text).toContain("hi Ada");
    const last = parts((await stdin({ session_id, chars: "\u0003", yield_time_ms: 5000 })).output);
    expect(last).toMatchObject({ ended: true, number: 130 });
  });

  test("it is a terminal of 80 by 24, and the output comes without escapes", async () => {
    const { text } = parts(
      (await exec({ cmd: "tty >/dev/null && stty size; printf '\\033[31mred\\033[0m\\n'; echo $TERM", tty: true }))
        .output,
    );
    expect(text).toBe("24 80\nred\nxterm-256color");
  });

  test("jobs end with it, also in process groups of their own", async () => {
    const { text } = parts((await exec({ cmd: "set -m; sleep 600 & echo pid=$!", tty: true })).output);
    const pid = Number(/pid=(\d+)/.exec(text)![1]);
    await until(() => !isAlive(pid));
  });
});

test("an end nobody waited for is told, one that was reported is not", async () => {
  const told: string[] = [];
  const stop = bench.services.background.onFinished((task) => told.push(task.id));
  const flag = join(bench.cwd, "end");
  await exec({ cmd: "true" });
  const { number } = parts(
    (await exec({ cmd: `until [ -e ${flag} ]; do read -t 0.02 < <(:); done`, yield_time_ms: 250 })).output,
  );
  await Bun.write(flag, "");
  await until(() => told.length > 0);
  stop();
  expect(told).toEqual([String(number)]);
});

test("a process that keeps the output open does not hold the call", async () => {
  const { output } = await exec({ cmd: "sleep 600 & echo started" });
  expect(parts(output)).toMatchObject({ ended: true, number: 0 });
  expect(output).toMatch(/started\n\[A process it started is still running as background task \d+/);
});

test("an abort while starting ends the command, while looking it does not", async () => {
  const controller = new AbortController();
  const pidFile = join(bench.cwd, "pid");
  const run = exec({ cmd: `echo $$ > ${pidFile}; sleep 600` }, { signal: controller.signal });
  const pid = await until(() => Number(Bun.spawnSync(["cat", pidFile]).stdout.toString()) || undefined);
  controller.abort();
  await expect(run).rejects.toThrow();
  expect(isAlive(pid)).toBe(false);

  const { number: session_id } = parts((await exec({ cmd: "sleep 600", yield_time_ms: 250 })).output);
  await expect(stdin({ session_id }, { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(bench.services.background.find(String(session_id))?.state).toBe("running");
  expect(await bench.services.background.stop(String(session_id))).toBe(true);
});

test("output is cut in the middle at the wanted size", async () => {
  const { output } = await exec({ cmd: "seq 1 5000", max_output_tokens: 100 });
  expect(output).toContain("Original token count: 5974\n");
  expect(output).toMatch(/\nOutput:\n1\n2\n[\s\S]* characters omitted\] \.\.\.\n[\s\S]*5000\n/);
  expect(output.length).toBeLessThan(800);
});

test("permission: the command where it runs, another directory, a shell of the model's choice", () => {
  mkdirSync(join(bench.cwd, "sub"));
  const targets = (args: object) =>
    execCommandTool.targets(execCommandTool.parse({ cmd: "ls 'a'", ...args }), bench.context());
  const { cwd } = bench;
  expect(targets({})).toEqual([{ kind: "shell", command: "ls 'a'", cwd }]);
  expect(targets({ workdir: "sub" })).toEqual([
    { kind: "shell", command: "ls 'a'", cwd: join(cwd, "sub") },
    { kind: "file", family: "ListDir", path: join(cwd, "sub") },
  ]);
  expect(targets({ shell: "/tmp/x y" })).toEqual([{ kind: "shell", command: "'/tmp/x y' -c 'ls '\\''a'\\'''", cwd }]);
});

test("permission: what is typed is a command with what was typed before it; to look and to interrupt asks nobody", async () => {
  const { number: session_id } = parts((await exec({ cmd: "cat", tty: true, yield_time_ms: 250 })).output);
  const targets = (chars: string) => writeStdinTool.targets({ session_id, chars }, bench.context());
  expect(targets("")).toEqual([{ kind: "none" }]);
  expect(targets("\u0003\u0004")).toEqual([{ kind: "none" }]);
  const typed = { tool: "write_stdin", reshaped: false };
  const allowedFor = targets("m x\n");
  expect(allowedFor).toEqual([{ kind: "shell", command: "m x", cwd: bench.cwd, typed }]);
  await stdin({ session_id, chars: "r" }, { allowedFor: targets("r") });
  expect(targets("m x\n")).toEqual([{ kind: "shell", command: "rm x", cwd: bench.cwd, typed }]);
  // Decided beside the "r", before that was typed.
  await expect(stdin({ session_id, chars: "m x\n" }, { allowedFor })).rejects.toThrow("nothing was typed. Call again.");
  await stdin({ session_id, chars: "\u0003" });
});

test.each([
  [{ cmd: "ls", workdir: "nope" }, "Working directory not found"],
  [{ cmd: "ls", shell: "/nope/sh" }, "Executable not found: /nope/sh"],
  [{ cmd: "echo \u202e" }, "invisible character"],
])("%j is refused", async (args, message) => {
  await expect(exec(args)).rejects.toThrow(message);
});

test("a login shell reads the profile, and still finds what was on PATH", async () => {
  const profile = join(bench.home, ".bash_profile");
  writeFileSync(profile, "PATH=/usr/bin:/bin\nFROM_PROFILE=yes\n");
  const path = join(bench.cwd, "own-bin");
  mkdirSync(path);
  writeFileSync(join(path, "own-tool"), "#!/bin/sh\necho found\n", { mode: 0o755 });
  const services = {
    ...bench.services,
    childEnv: (context: Parameters<typeof bench.services.childEnv>[0]) => ({
      ...bench.services.childEnv(context),
      PATH: `${path}:/usr/bin:/bin`,
    }),
  };
  const run = async (args: object) =>
    parts((await exec({ cmd: "own-tool; echo $FROM_PROFILE", ...args }, { services })).output);
  expect(await run({ login: true })).toMatchObject({ text: "found\nyes" });
  expect(await run({ login: false })).toMatchObject({ text: "found" });
});
