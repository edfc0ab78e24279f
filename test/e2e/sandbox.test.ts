// What confined commands can and cannot do, on the compiled binary, with every backend that works on this machine and as
// the user who runs the tests (root included). Deeds stand in script files, so that nothing but the sandbox judges them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runLetta, spawnLetta } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { CHAT, callTools, headless } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";
import { type SandboxWorld, sandboxWorld, sleepers, until, workingBackends } from "../support/sandbox-world.ts";

const backends = await workingBackends();

/** Print ESCAPED when they succeed. `$OUT` is beside the workspace. */
const DEEDS: Record<string, string> = {
  // Written back as it is: where this works, the machine is still as it was.
  "kernel settings":
    'for f in kernel/core_pattern vm/swappiness kernel/hostname; do v=$(cat /proc/sys/$f) && echo "$v" > /proc/sys/$f && echo ESCAPED; done',
  "write outside": "echo x > $OUT/new && echo ESCAPED",
  "overwrite outside": "echo x > $OUT/secret && echo ESCAPED",
  "delete outside": "rm $OUT/secret && echo ESCAPED",
  "write through a link": "ln -s $OUT src/out && echo x > src/out/new && echo ESCAPED",
  "hard link in": "ln $OUT/secret src/linked && echo ESCAPED",
  "rename in": "mv -T $OUT/secret src/moved && echo ESCAPED",
  "rename out": "mv src/file $OUT/moved && echo ESCAPED",
  "write to /etc": "echo x > /etc/letta-test && echo ESCAPED",
  "start-up file": "echo x >> ~/.bashrc && echo ESCAPED",
  "read keys": "cat ~/.ssh/config && echo ESCAPED",
  "list keys": "ls ~/.ssh | grep config && echo ESCAPED",
  "change keys": "echo x >> ~/.ssh/config && echo ESCAPED",
  "read another agent's memory": "cat ~/.letta/agents/other/memory.md && echo ESCAPED",
  "list other agents": "ls ~/.letta/agents | grep other && echo ESCAPED",
  "change letta's settings": "echo '{}' > ~/.letta/settings.json && echo ESCAPED",
  "read letta's database": "head -c 16 ~/.letta/local/letta.db | grep SQLite && echo ESCAPED",
  "add a hook": "echo x > .git/hooks/pre-commit && echo ESCAPED",
  "change git's configuration": "echo x >> .git/config && echo ESCAPED",
  "put another .git in place": "mv .git .old && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit && echo ESCAPED",
  "make project settings": "mkdir -p .letta/mods && echo x > .letta/settings.json && echo ESCAPED",
  "make an MCP file": "echo x > .mcp.json && echo ESCAPED",
  "unmount what hides":
    "umount ~/.ssh; umount -l ~/.letta; cat ~/.ssh/config ~/.letta/agents/other/memory.md && echo ESCAPED",
  mount: "mount -t tmpfs none src && echo ESCAPED",
  "walk through other processes": "for p in /proc/[0-9]*; do cat $p/root$HOME/.ssh/config && echo ESCAPED; done",
  "read other environments": "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep only-the-harness && echo ESCAPED",
  "trace letta":
    "for p in /proc/[0-9]*; do case $(readlink $p/exe) in */letta) perl -e 'exit(syscall($ARGV[0], 16, $ARGV[1], 0, 0) == 0 ? 0 : 1)' $PTRACE $(basename $p) && echo ESCAPED;; esac; done",
  TCP: "(exec 3<>/dev/tcp/127.0.0.1/$PORT) && echo ESCAPED",
  UDP: "echo ESCAPED-BY-UDP > /dev/udp/127.0.0.1/$UDP",
  "socket file":
    'python3 -c \'import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ["OUT"] + "/socket"); print("ESC" + "APED")\'',
  "grandchild of its own":
    "setsid sh -c 'sleep 0.2; echo x > $OUT/late; cat ~/.ssh/config' & sleep 0.4; cat $OUT/late && echo ESCAPED",
};

/** Print WORKS. */
const USES: Record<string, string> = {
  "write inside": "echo x > src/new && echo WORKS",
  "make folders inside": "mkdir -p src/a/b && mv src/a src/c && rm -r src/c && echo WORKS",
  "temporary files": 'echo x > "$TMPDIR/x" && cat "$TMPDIR/x" && echo WORKS',
  "read the system": "cat /etc/passwd > /dev/null && echo WORKS",
  "start programs": "printf '#!/bin/sh\\necho WORKS\\n' > src/run && chmod +x src/run && ./src/run",
  devices: "echo x > /dev/null; head -c 1 /dev/urandom > /dev/null; echo WORKS > /dev/stderr",
  "an environment": '[ -n "$HOME$PATH" ] && echo WORKS',
  "a closed pipe ends its writer": "bash -c 'while :; do echo y; done' | head -1 && echo WORKS",
  here: '[ "$(pwd)" = "$PWD" ] && echo WORKS',
};

/** Exchanges a directory with a link to the outside for five seconds, as fast as it can. */
const SWAP = `
my ($a, $b) = ("src/dir", "src/evil");
my $end = time + 5;
open(my $file, ">", "src/swapping");
while (time < $end) {
  syscall($ENV{RENAMEAT2} + 0, -100, $a, -100, $b, 2) == 0 or die "cannot exchange: $!" for 1 .. 1000;
}
`;

if (backends.length === 0) {
  test("the doctor says why nothing works here", async () => {
    const { stdout, exitCode } = await runLetta(["sandbox", "doctor"]);
    expect(stdout).toContain("No sandbox works here");
    expect(exitCode).toBe(1);
  });
}

describe.each(backends)("$name", ({ name, path }) => {
  let world: SandboxWorld;
  let results: Map<string, string>;
  const datagrams: string[] = [];

  beforeAll(async () => {
    world = sandboxWorld();
    const all = Object.entries({ ...DEEDS, ...USES });
    mkdirSync(join(world.workdir, "scripts"));
    for (const [index, [, script]] of all.entries()) writeFileSync(join(world.workdir, `scripts/${index}`), script);
    const udp = await Bun.udpSocket({ socket: { data: (_, data) => void datagrams.push(data.toString()) } });
    const tcp = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const unix = Bun.listen({ unix: join(world.outside, "socket"), socket: { data() {} } });
    try {
      const run = await callTools(
        all.map((_, index) => ({ id: `c${index}`, name: "Bash", args: { command: `bash scripts/${index}` } })),
        {
          home: world,
          args: [],
          env: {
            PATH: path,
            OUT: world.outside,
            PORT: String(tcp.port),
            UDP: String(udp.port),
            PTRACE: process.arch === "arm64" ? "117" : "101",
            ANTHROPIC_API_KEY: "only-the-harness",
          },
        },
      );
      results = new Map(all.map(([key], index) => [key, run.results[index] ?? "no result"]));
    } finally {
      udp.close();
      tcp.stop(true);
      unix.stop(true);
    }
  }, 60_000);
  afterAll(() => world[Symbol.dispose]());

  test.each(Object.keys(DEEDS))("no: %s", (deed) => {
    expect(results.get(deed)).not.toContain("ESCAPED");
    expect(results.get(deed)).not.toMatch(/ssh-secret|memory-secret|no result|requires approval/);
  });

  test.each(Object.keys(USES))("yes: %s", (use) => expect(results.get(use)).toContain("WORKS"));

  test("the disk outside, and what is protected, are as before", () => {
    expect(datagrams).toEqual([]);
    expect(readdirSync(world.outside)).toEqual(["secret"]);
    expect(readFileSync(join(world.outside, "secret"), "utf8")).toBe("outside-secret\n");
    expect(readFileSync(join(world.path, ".ssh/config"), "utf8")).toBe("ssh-secret\n");
    expect(readFileSync(join(world.path, ".bashrc"), "utf8")).toBe("# mine\n");
    expect(readdirSync(join(world.workdir, ".git/hooks"))).toEqual(["sample"]);
    expect(readdirSync(world.workdir).sort()).toEqual([".git", "scripts", "src"]);
    // The private directory for temporary files went with the process.
    expect(readdirSync(join(world.path, "tmp")).filter((entry) => entry.startsWith("letta-sandbox"))).toEqual([]);
  });

  test("the reason is one line", () => {
    const memory = `${world.path}/.letta/agents/AGENT/memory`;
    expect(results.get("write to /etc")?.replace(/agent-local-[\w-]+/, "AGENT")).toContain(
      `[sandbox:workspace] likely blocked write; allowed roots: ${world.workdir}, ${memory}, ${world.path}/tmp/letta-sandbox-`,
    );
    expect(results.get("read keys")).toContain("[sandbox:workspace] likely blocked read;");
  });

  test("a contained run edits the workspace, and what it may not do names a flag", async () => {
    using home = sandboxWorld();
    const write = (id: string, file_path: string) => ({ id, name: "Write", args: { file_path, content: "new\n" } });
    const { results, stdout } = await callTools(
      [
        write("a", join(home.workdir, "src/new")),
        write("b", join(home.outside, "new")),
        write("c", join(home.workdir, ".git/hooks/pre-commit")),
        { id: "d", name: "Bash", args: { command: "python3 -V", outside_sandbox: true } },
      ],
      { home, args: ["--output-format", "stream-json"], env: { PATH: path } },
    );
    expect(stdout).toContain(`"sandbox":{"backend":"${name}","profile":"workspace"}`);
    expect(readFileSync(join(home.workdir, "src/new"), "utf8")).toBe("new\n");
    expect(existsSync(join(home.outside, "new"))).toBe(false);
    expect(existsSync(join(home.workdir, ".git/hooks/pre-commit"))).toBe(false);
    expect(results[1]).toContain("--");
    expect(results[2]).toContain("protected");
    expect(results[3]).toContain("--sandbox off");
  });

  test.if(Bun.which("perl") !== null)("a swapped directory leads file tools nowhere", async () => {
    using home = sandboxWorld({
      "work/swap.pl": SWAP,
      "work/src/dir/file": "inside\nend\n",
      "outside/file": "outside\nend\n",
    });
    symlinkSync(home.outside, join(home.workdir, "src/evil"));
    const times = (count: number, name: string, args: (n: number) => object) =>
      Array.from({ length: count }, (_, n) => ({ id: `${name}${n}`, name, args: args(n) }));
    const { results } = await callTools(
      [
        { id: "swap", name: "Bash", args: { command: "perl swap.pl", run_in_background: true } },
        { id: "wait", name: "Bash", args: { command: "until [ -e src/swapping ]; do :; done; echo SWAPPING" } },
        ...times(60, "Write", (n) => ({ file_path: `src/dir/n${n}`, content: "new" })),
        ...times(60, "Edit", () => ({ file_path: "src/dir/file", old_string: "end", new_string: "new end" })),
        ...times(60, "Read", () => ({ file_path: "src/dir/file" })),
        ...times(20, "Grep", () => ({ pattern: "side", path: "src", output_mode: "content" })),
      ],
      {
        home,
        args: ["--sandbox", "workspace"],
        env: { PATH: path, RENAMEAT2: process.arch === "arm64" ? "276" : "316" },
      },
    );
    expect(results[1]).toContain("SWAPPING");
    expect(results.filter((text) => /\boutside\b(?!\/)/.test(text))).toEqual([]);
    expect(readdirSync(home.outside).sort()).toEqual(["file", "secret"]);
    expect(readFileSync(join(home.outside, "file"), "utf8")).toBe("outside\nend\n");
    expect(results.filter((text) => text.includes("The path changed while it was used")).length).toBeGreaterThan(0);
  });

  test("without any flag a failing test of a fresh repository is fixed, and nothing else is touched", async () => {
    using home = sandboxWorld({
      "work/src/sum.sh": "echo $(($1 - $2))\n",
      "work/src/test.sh": '[ "$(sh src/sum.sh 1 2)" = 3 ] && echo PASSED || { echo FAILED; exit 1; }\n',
      "work/src/evil.sh": `echo x >> ~/.ssh/config; chmod 777 ~/.ssh/config; touch ~/.ssh/config; cat ~/.ssh/config
echo x > /etc/letta-test; (exec 3<>/dev/tcp/127.0.0.1/$PORT) && echo REACHED; true`,
    });
    const tcp = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const keys = statSync(join(home.path, ".ssh/config"), { bigint: true });
    const bash = (id: string, command: string) => ({ toolCalls: [{ id, name: "Bash", args: { command } }] });
    const file_path = join(home.workdir, "src/sum.sh");
    const edit = { file_path, old_string: "$1 - $2", new_string: "$1 + $2" };
    await using server = await startModelServer([
      bash("a", "sh src/test.sh"),
      { toolCalls: [{ id: "b", name: "Read", args: { file_path } }] },
      { toolCalls: [{ id: "c", name: "Edit", args: edit }] },
      bash("d", "sh src/test.sh"),
      bash("e", "bash src/evil.sh"),
      { toolCalls: [{ id: "f", name: "Write", args: { file_path: join(home.path, ".ssh/config"), content: "x" } }] },
      { text: "Fixed." },
    ]);
    const { args, env } = headless(server.url, ["fix the failing test"]);
    const { stdout } = await runLetta(args, { home, env: { ...env, PATH: path, PORT: String(tcp.port) } });
    tcp.stop(true);
    const result = (request: number) => server.requests[request]!.toolResults.at(-1)!.text;
    expect(stdout).toContain("Fixed.");
    expect(result(1)).toContain("FAILED");
    expect(result(4)).toContain("PASSED");
    expect(result(5)).not.toMatch(/REACHED|ssh-secret/);
    expect(result(6)).toContain(".ssh/config is protected");
    expect(existsSync("/etc/letta-test")).toBe(false);
    const after = statSync(join(home.path, ".ssh/config"), { bigint: true });
    expect([after.mode, after.mtimeNs, after.ctimeNs]).toEqual([keys.mode, keys.mtimeNs, keys.ctimeNs]);
  });

  test("strict writes nothing but temporary files", async () => {
    using home = sandboxWorld({ "work/run.sh": "echo x > src/new && echo ESCAPED; echo x > $TMPDIR/x && echo WORKS" });
    const { results } = await callTools([{ id: "a", name: "Bash", args: { command: "bash run.sh" } }], {
      home,
      args: ["--yolo", "--sandbox", "strict"],
      env: { PATH: path },
    });
    expect(results[0]).toContain("WORKS");
    expect(results[0]).not.toContain("ESCAPED");
  });

  test("a program on a terminal is confined, too", async () => {
    using home = sandboxWorld({
      "work/run": "[ -t 0 ] && echo TERMINAL; cat ~/.ssh/config && echo ESCAPED",
    });
    const { results } = await callTools(
      [{ id: "a", name: "exec_command", args: { cmd: "bash run", tty: true, yield_time_ms: 20_000 } }],
      { home, args: ["--toolset", "codex", "--sandbox", "workspace"], env: { PATH: path } },
    );
    expect(results[0]).toContain("TERMINAL");
    expect(results[0]).toContain("[sandbox:workspace] likely blocked read");
    expect(results[0]).not.toContain("ESCAPED");
  });

  test("a person may let a command out that the sandbox stopped", async () => {
    using home = sandboxWorld({ ".letta/settings.json": '{"sandbox":{"mode":"workspace","autoAllowShell":true}}' });
    const call = (id: string, more: object = {}) => ({
      // A question takes no keys while someone types.
      delayMs: 600,
      toolCalls: [{ id, name: "Bash", args: { command: `bash -c 'echo x > ${home.outside}/new'`, ...more } }],
    });
    await using server = await startModelServer([call("a"), call("b", { outside_sandbox: true }), { text: "Done." }]);
    const env = { ...CHAT.env(server.url), PATH: path };
    await using letta = await openPty(["--backend", "local", "--model", CHAT.handle], { home, env });
    await letta.waitFor(/> $/m);
    letta.type("write it\r");
    await letta.waitFor(/Run this command without the sandbox\?[\s\S]*1\. Yes/);
    expect(server.requests[1]!.toolResults[0]!.text).toContain("likely blocked write");
    expect(existsSync(join(home.outside, "new"))).toBe(false);
    letta.type("1");
    await letta.waitFor(/Done\./);
    expect(existsSync(join(home.outside, "new"))).toBe(true);
  });

  test.each(["SIGKILL", "SIGTERM"] as const)("%s leaves nothing of a confined command running", async (signal) => {
    using home = sandboxWorld();
    // A duration nobody else sleeps: it finds our processes.
    const seconds = `8${crypto.getRandomValues(new Uint32Array(1))[0]}`;
    const command = `setsid sleep ${seconds} & echo x > src/started; sleep ${seconds}; true`;
    await using server = await startModelServer([{ toolCalls: [{ id: "a", name: "Bash", args: { command } }] }]);
    const { args, env } = headless(server.url, ["--yolo", "--sandbox", "workspace", "x"]);
    await using letta = await spawnLetta(args, { home, env: { ...env, PATH: path } });
    letta.child.stdin.end();
    await until(() => sleepers(seconds) === 2);
    const killedAt = performance.now();
    letta.kill(signal);
    await until(() => sleepers(seconds) === 0);
    expect(performance.now() - killedAt).toBeLessThan(2500);
  });
});

test("without the sandbox these deeds succeed, so the test would notice", async () => {
  using home = sandboxWorld();
  const tried = [
    "write outside",
    "read keys",
    "list other agents",
    "walk through other processes",
    "TCP",
    "socket file",
  ];
  const tcp = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const unix = Bun.listen({ unix: join(home.outside, "socket"), socket: { data() {} } });
  for (const [index, deed] of tried.entries()) writeFileSync(join(home.workdir, `${index}.sh`), DEEDS[deed]!);
  const { results } = await callTools(
    tried.map((_, index) => ({ id: `c${index}`, name: "Bash", args: { command: `bash ${index}.sh` } })),
    { home, env: { OUT: home.outside, PORT: String(tcp.port) } },
  );
  tcp.stop(true);
  unix.stop(true);
  expect(tried.filter((_, index) => !results[index]?.includes("ESCAPED"))).toEqual([]);
});

test("--sandbox off: a headless run asks, which means no", async () => {
  using home = sandboxWorld();
  const { results, stdout } = await callTools([{ id: "a", name: "Bash", args: { command: "echo x > src/new" } }], {
    home,
    args: ["--sandbox", "off", "--output-format", "stream-json"],
  });
  expect(stdout).toContain('"sandbox":{"backend":"none","profile":"off"}');
  expect(results[0]).toContain("It would be allowed with");
  expect(existsSync(join(home.workdir, "src/new"))).toBe(false);
});
