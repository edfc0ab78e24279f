import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { bashTool } from "@/tools/bash.ts";
import { findLongSleep } from "@/tools/shell-checks.ts";
import { isAlive, openWorkbench, until } from "./support.ts";

const bench = openWorkbench();
afterAll(() => bench[Symbol.asyncDispose]());

const run = (command: string, more: object = {}, overrides = {}) =>
  bench.call(bashTool, { command, description: "test", ...more }, overrides);

test.each([
  ["both streams, in the order written", "echo a; echo b >&2; echo c", "success", "a\nb\nc"],
  ["nothing", "true", "success", "(Command completed with no output)"],
  ["an exit code", "echo x; exit 3", "error", "Exit code: 3\nx"],
  ["an exit code alone", "false", "error", "Exit code: 1"],
  ["a signal", "kill -9 $$", "error", "Exit code: 137"],
  ["the streams by name", "echo out > /dev/stdout; echo err > /dev/stderr", "success", "out\nerr"],
  ["no stdin", "cat; read line || echo none", "success", "none"],
  [
    "no terminal",
    "tty; [ -t 1 ] || echo no; (: < /dev/tty) 2>/dev/null || echo none",
    "success",
    "not a tty\nno\nnone",
  ],
  ["a new shell each time", "set | grep -c ^MARK=; MARK=1; cd /", "success", "0"],
  ["no pager", "echo $PAGER $GIT_PAGER", "success", "cat cat"],
] as const)("gives %s", async (_, command, status, output) => {
  expect(await run(command)).toMatchObject({ status, output });
});

test("a program that wants a terminal fails instead of hanging", async () => {
  const { status } = await run(
    "sudo -k; python3 -c 'import getpass; getpass.getpass()' </dev/null 2>&1; vi -e < /dev/tty",
  );
  expect(status).toBe("error");
});

test("split UTF-8 arrives whole, binary data is described", async () => {
  const split = await run("printf '\\xe6\\xbc'; sleep 0.05; printf '\\xa2\\xe5\\xad\\x97\\n'");
  expect(split.output).toBe("漢字");
  const binary = await run("echo start; head -c 200000 /dev/zero; echo; echo the end");
  expect(binary.output).toMatch(/^start\n\[about [\d,]+ bytes of binary data not shown\]\nthe end$/);
});

test("100 MB of output: bounded text, bounded memory, everything in a private file", async () => {
  const before = process.memoryUsage.rss();
  const { output } = await run("yes abcdefghi | head -c 100000000");
  expect(output.length).toBeLessThan(31_000);
  expect(output).toContain("of 100,000,000 characters.]");
  const path = /\[Full output written to: (.*)\]/.exec(output)?.[1] ?? "";
  expect([statSync(path).size, statSync(path).mode & 0o777]).toEqual([100_000_000, 0o600]);
  expect(process.memoryUsage.rss() - before).toBeLessThan(95_000_000);
  rmSync(path);
}, 30_000);

test("a timeout ends everything the command started", async () => {
  const { status, output } = await run("setsid sh -c 'echo $$ > pid; exec sleep 1000' & echo begun; sleep 9; sleep 9", {
    timeout: 400,
  });
  expect([status, output]).toEqual(["error", "begun\nCommand timed out after 400 ms and was ended."]);
  expect(isAlive(Number(readFileSync(join(bench.cwd, "pid"), "utf8")))).toBe(false);
});

test("an abort gives exactly the agreed text, ends soon, and also ends what ignores signals", async () => {
  const controller = new AbortController();
  const pidFile = join(bench.cwd, "stubborn");
  const running = run("trap '' INT TERM; echo $$ > stubborn; while :; do :; done", {}, { signal: controller.signal });
  const pid = Number(await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").trim()));
  const aborted = performance.now();
  controller.abort();
  await expect(running).rejects.toThrow("aborted");
  expect(performance.now() - aborted).toBeLessThan(2_000);
  expect(isAlive(pid)).toBe(false);
});

test("aborted before it began, nothing runs", async () => {
  const signal = AbortSignal.abort();
  await expect(run("touch never", {}, { signal })).rejects.toThrow("aborted");
  expect(existsSync(join(bench.cwd, "never"))).toBe(false);
});

test("a background child does not hold the result, and becomes a task", async () => {
  const { status, output } = await run(
    "(while [ ! -e go ]; do sleep 0.02; done; echo late; touch went) & echo $!; echo now",
  );
  expect(status).toBe("success");
  const [pid = "", now, note = ""] = output.split("\n");
  expect([now, isAlive(Number(pid))]).toEqual(["now", true]);
  const id = /background task (bash_\d+)/.exec(note)?.[1] ?? "";
  expect(bench.services.background.find(id)).toMatchObject({ state: "running", conversationId: "conv-1" });
  const told = new Promise<string>((resolve) => bench.services.background.onFinished((_, text) => resolve(text)));
  await Bun.write(join(bench.cwd, "go"), "");
  expect(await told).toContain("late");
  expect(bench.services.background.find(id)?.state).toBe("completed");
});

test("a daemon that closed its output does not hold anything", async () => {
  const { output } = await run("setsid sleep 300 >/dev/null 2>&1 & echo $!");
  const pid = Number(output);
  expect(isAlive(pid)).toBe(true);
  process.kill(pid);
});

test("what a command left in its group ends with this process", async () => {
  await using own = openWorkbench();
  const { output } = await own.call(bashTool, { command: "nohup sleep 300 >/dev/null 2>&1 & echo $!" });
  expect(isAlive(Number(output))).toBe(true);
  await own.services.background.stopAll();
  expect(isAlive(Number(output))).toBe(false);
});

test("no zombies", async () => {
  await Promise.all(Array.from({ length: 8 }, (_, index) => run(`exit ${index}`)));
  const children = Bun.spawnSync(["ps", "--ppid", String(process.pid), "-o", "stat="]).stdout.toString();
  expect(children.split("\n").filter((state) => state.startsWith("Z"))).toEqual([]);
});

test("a working directory that vanished is said in one line", async () => {
  const gone = join(bench.cwd, "gone/deep");
  const { output } = await run("pwd", {}, { cwd: gone });
  expect(output).toBe(`[The working directory ${gone} no longer exists; this ran in ${bench.cwd}.]\n${bench.cwd}`);
});

test("secrets and Bun's switches do not reach a command", async () => {
  await using own = openWorkbench({
    vars: {
      LETTA_API_KEY: "k",
      GH_TOKEN: "t",
      AWS_SECRET_ACCESS_KEY: "s",
      DB_PASSWORD: "p",
      MYAPI_KEY: "a",
      MY_PASS: "b",
      SSH_PRIVATE: "c",
      GITHUB_PAT: "d",
      DATABASE_URL: "postgres://user:hidden@db/x",
      HTTPS_PROXY: "http://user:word@proxy:1",
      BUN_OPTIONS: "--x",
      KEEP: "1",
    },
  });
  const { output } = await own.call(bashTool, {
    command:
      "echo $LETTA_API_KEY$GH_TOKEN$AWS_SECRET_ACCESS_KEY$DB_PASSWORD$BUN_OPTIONS$KEEP $AGENT_ID $CONVERSATION_ID; echo $MYAPI_KEY$MY_PASS$SSH_PRIVATE$GITHUB_PAT$DATABASE_URL; echo $HTTPS_PROXY",
  });
  expect(output).toBe("1 agent-1 conv-1\n\nhttp://user:word@proxy:1");
});

test("strict mode stops at the first failure", async () => {
  await using own = openWorkbench({ vars: { LETTA_BASH_STRICT: "1" } });
  expect(await own.call(bashTool, { command: "false | cat; echo reached" })).toMatchObject({ output: "Exit code: 1" });
});

test("live output reaches people while the command runs, without a flood", async () => {
  let live = "";
  await run("echo first; yes | head -c 3000000", {}, { onOutput: (text: string) => (live += text) });
  expect(live.startsWith("first\n")).toBe(true);
  expect(live.length).toBeLessThan(1_000_000);
});

test.each([
  ["sleep 60", "sleep 60"],
  ["  sleep 1m && cat log", "sleep 1m"],
  ["cd /tmp && sleep 30; ls", "sleep 30"],
  ["for i in 1 2; do sleep 30; done", "sleep 30"],
  ["while ! nc -z localhost 80; do\n  echo waiting\n  sleep 10\ndone; echo up", "sleep 10"],
] as const)("a long wait is refused: %p", (command, sleep) =>
  expect(run(command)).rejects.toThrow(`\`${sleep}\` would block this conversation`),
);

test.each([
  "sleep 0.1",
  "sleep 4",
  "echo ready; sleep 60",
  "sleep 60 & echo started",
  "sleep 60 & echo ready; sleep 60",
  "(sleep 60; true) & echo",
  "echo 'sleep 60'",
  "# sleep 60\ntrue",
  "echo sleep 60",
  "while true; do sleep 1; done",
  "while true; do sleep 60; done & echo",
  "make -j4 && ./wait --sleep 60",
])("no wait to refuse: %p", (command) => expect(findLongSleep(command)).toBeUndefined());

test.each([
  ["\u202e", "U+202E"],
  ["\u200b", "U+200B"],
  ["\x1b", "U+001B"],
  ["\r", "U+000D"],
])("a hidden character is refused: %p", (character, name) =>
  expect(run(`echo a${character}b`)).rejects.toThrow(`invisible character (${name} at position 6)`),
);

describe("without a shell", () => {
  test("says so", async () => {
    await using own = openWorkbench({ vars: { PATH: "/nowhere" } });
    // /bin/bash is found also without PATH where it exists.
    const { output } = await own.call(bashTool, { command: "echo ok" });
    expect(output).toBe("ok");
  });

  test("a directory that may not be entered is named", async () => {
    const closed = join(bench.cwd, "closed");
    mkdirSync(closed);
    chmodSync(closed, 0o000);
    const { status } = await run("pwd", {}, { cwd: closed }).catch((error: Error) => ({ status: error.message }));
    chmodSync(closed, 0o700);
    expect(["success", expect.stringContaining("could not be started")]).toContainEqual(status);
  });
});

test("what was proven runs, not what was written, and with an environment that cannot change it", async () => {
  await using bench = openWorkbench({
    vars: { GIT_EXTERNAL_DIFF: "./evil", LESSOPEN: "|./evil", BASH_ENV: "./evil", PATH: `${process.env.PATH}:.` },
  });
  const proven = { command: "echo 'proven'; export -p", closedRoots: [bench.cwd] };
  const { output } = await bench.call(bashTool, { command: "echo written" }, { proven });
  expect(output).toStartWith("proven\n");
  expect(output).not.toMatch(/evil/);
  expect(output).toContain('GIT_CONFIG_KEY_0="core.fsmonitor"');
  expect(output).not.toMatch(/PATH="[^"]*:\."/);
});
