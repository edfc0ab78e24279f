// Code that was written to get out of the sandbox: races, planted repositories, processes that hide. On the compiled
// binary, with every backend that works here, as the user who runs the tests. Each attack gives up after a few seconds.

import { describe, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { spawnLetta } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { callTools, headless } from "../support/protocols.ts";
import { type SandboxWorld, sandboxWorld, sleepers, until, workingBackends } from "../support/sandbox-world.ts";

const backends = await workingBackends();

/** Swaps two names as fast as it can, for as long as it may live. */
const SWAP = `
import ctypes, platform, sys, time
number = 276 if platform.machine() == "aarch64" else 316
call = ctypes.CDLL(None).syscall
end = time.monotonic() + 2.5
while time.monotonic() < end:
    call(number, -100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
`;

/** Leaves session, parent and environment behind, ignores polite signals, and tries to lose its mark. */
const HIDE = `
import ctypes, os, platform, signal, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
call = ctypes.CDLL(None).syscall
limit = (ctypes.c_uint64 * 2)(1000000, 1000000)
arm = platform.machine() == "aarch64"
call(261 if arm else 302, 0, 15, limit, None)
call(164 if arm else 160, 15, limit)
for fd in range(3): os.dup2(os.open("/dev/null", os.O_RDWR), fd)
os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
`;

/** Every call there is, by path and by descriptor. */
const CHANGE_METADATA = `
import os, sys
for path in sys.argv[1:]:
    def by_descriptor(act):
        fd = os.open(path, os.O_RDONLY)
        act(fd)
    for act in (
        lambda: os.chmod(path, 0o777),
        lambda: os.utime(path, (1, 1)),
        lambda: os.utime(path),
        lambda: os.lchown(path, 1, 1),
        lambda: os.setxattr(path, "user.x", b"x"),
        lambda: by_descriptor(lambda fd: os.fchmod(fd, 0o777)),
        lambda: by_descriptor(lambda fd: os.chmod("/proc/self/fd/%d" % fd, 0o777)),
        lambda: by_descriptor(lambda fd: os.utime(fd, (1, 1))),
        lambda: by_descriptor(lambda fd: os.setxattr(fd, "user.x", b"x")),
        lambda: by_descriptor(lambda fd: os.fchown(fd, 1, 1)),
        lambda: os.chmod(os.path.relpath(path, "/etc"), 0o777, dir_fd=os.open("/etc", os.O_RDONLY)),
    ):
        try:
            act()
        except OSError:
            pass
`;

/** Attacks that need it are skipped where there is no Python. */
const hasPython = Bun.which("python3") !== null;

if (backends.length === 0) {
  test.skip("no sandbox works here: letta sandbox doctor says why", () => {});
}

describe.each(backends)("$name", ({ path }) => {
  const confined = (home: SandboxWorld, commands: (string | { background: string })[], env = {}) =>
    callTools(
      commands.map((command, index) => ({
        id: `c${index}`,
        name: "Bash",
        args: typeof command === "string" ? { command } : { command: command.background, run_in_background: true },
      })),
      { home, args: ["--sandbox", "workspace"], env: { PATH: path, OUT: home.outside, ...env } },
    );

  test.each([
    [".github", "link", "../outside"],
    [".husky", "link", "../.ssh"],
    // A repository's directory is held so that it cannot be moved aside.
    ["src/new", "src/link", "../../outside"],
  ])("%s swapped for a link while the next commands start", async (name, link, target) => {
    using home = sandboxWorld({
      "outside/.git/hooks/sample": "",
      "work/src/swap.py": SWAP,
      // The name did not exist when the attack started, so nothing holds it there.
      "work/src/attack.sh": `mkdir -p ${name}/.git/hooks; ln -s ${target} ${link}
touch src/ready; python3 src/swap.py ${name} ${link}`,
      "work/src/try.sh": `echo x > ${name}/new; echo x > ${name}/.git/new; cat ${name}/config 2>/dev/null; true`,
    });
    const { results } = await confined(home, [
      { background: "bash src/attack.sh" },
      "until [ -e src/ready ]; do :; done",
      ...Array.from({ length: 40 }, () => "bash src/try.sh"),
    ]);
    expect(readdirSync(home.outside).sort()).toEqual([".git", "secret"]);
    expect(readdirSync(join(home.outside, ".git"))).toEqual(["hooks"]);
    expect(results.join("\n")).not.toContain("ssh-secret");
  });

  test("a launch in a subdirectory protects it like the top", async () => {
    using home = sandboxWorld({
      "work/sub/.envrc": "mine\n",
      "work/sub/try.sh": `echo x > .envrc; mkdir .letta; echo x > .letta/settings.json; echo x > .mcp.json
mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; mv ../sub ../other; mkdir ../sub; echo x > ../sub/.mcp.json
echo x > ../.mcp.json; cd ..; mv sub/.envrc sub/old; true`,
    });
    await confined({ ...home, workdir: join(home.workdir, "sub") }, ["bash try.sh"]);
    expect(readdirSync(home.workdir).sort()).toEqual([".git", "src", "sub"]);
    expect(readdirSync(join(home.workdir, "sub")).sort()).toEqual([".envrc", "try.sh"]);
    expect(readFileSync(join(home.workdir, "sub/.envrc"), "utf8")).toBe("mine\n");
  });

  test("repositories inside the workspace keep their hooks, settings and commondir", async () => {
    using home = sandboxWorld({
      ...{ "work/lib/a/.git/HEAD": "", "work/lib/a/.git/config": "mine\n", "work/lib/a/.git/hooks/sample": "" },
      "work/lib/tree/.git": "gitdir: ../a/.git\n",
      ...{ "work/bare.git/HEAD": "", "work/bare.git/objects/x": "", "work/bare.git/refs/x": "" },
      "work/src/try.sh": `cd lib/a
echo x >> .git/config; echo x > .git/hooks/pre-commit; echo .. > .git/commondir
mv .git .old; mv ../a ../b; mv ../../lib ../../old
echo x > ../tree/.git; rm ../tree/.git; mkdir ../../bare.git/hooks; echo x > ../../bare.git/hooks/update; true`,
    });
    await confined(home, ["bash src/try.sh"]);
    const lib = join(home.workdir, "lib");
    expect(readdirSync(lib).sort()).toEqual(["a", "tree"]);
    expect(readdirSync(join(lib, "a/.git")).sort()).toEqual(["HEAD", "config", "hooks"]);
    expect(readFileSync(join(lib, "a/.git/config"), "utf8")).toBe("mine\n");
    expect(readdirSync(join(lib, "a/.git/hooks"))).toEqual(["sample"]);
    expect(readFileSync(join(lib, "tree/.git"), "utf8")).toBe("gitdir: ../a/.git\n");
    expect(readdirSync(join(home.workdir, "bare.git")).sort()).toEqual(["HEAD", "objects", "refs"]);
  });

  test("a linked worktree keeps what leads to its repository, and no git directory gets settings it had not", async () => {
    const tree = "work/.git/worktrees/tree";
    using home = sandboxWorld({
      "work/.git/config": "[extensions]\n\tworktreeConfig = true\n",
      ...{ [`${tree}/HEAD`]: "ref: refs/heads/tree\n", [`${tree}/commondir`]: "../..\n" },
      [`${tree}/gitdir`]: "../../../../tree/.git\n",
      ...{ "work/lib/.git/HEAD": "", "work/lib/.git/config": "[extensions]\n\tworktreeConfig = true\n" },
      "work/src/try.sh": `cp -r .git src/evil; echo '[core] fsmonitor = touch $OUT/ran' >> src/evil/config
tree=.git/worktrees/tree
echo ../../../src/evil > $tree/commondir; echo x > $tree/gitdir; echo x > $tree/config.worktree; rm $tree/commondir
mkdir new; echo ../../../src/evil > new/commondir; mv -T new/commondir $tree/commondir
mv $tree .git/worktrees/other && mkdir -p $tree && echo ../../../src/evil > $tree/commondir
mv .git/worktrees .git/other && mkdir -p $tree && echo ../../../src/evil > $tree/commondir
for git in .git lib/.git; do
echo x > $git/config.worktree; echo x > $git/new; mv $git/new $git/config.worktree; mkdir -p $git/modules/x
rm -f $git/new; done; rm -rf new src/evil; git --git-dir=.git rev-parse --git-dir`,
    });
    // A killed run left its hold behind.
    writeFileSync(join(home.workdir, "lib/.git/config.worktree"), "", { mode: 0o444 });
    const { results } = await confined(home, ["bash src/try.sh", "bash src/try.sh"]);
    const git = join(home.workdir, ".git");
    expect(readFileSync(join(home.path, tree, "commondir"), "utf8")).toBe("../..\n");
    expect(readFileSync(join(home.path, tree, "gitdir"), "utf8")).toBe("../../../../tree/.git\n");
    expect(readdirSync(join(home.path, tree)).sort()).toEqual(["HEAD", "commondir", "gitdir"]);
    expect(readdirSync(join(git, "worktrees"))).toEqual(["tree"]);
    expect(readdirSync(git).sort()).toEqual(["HEAD", "config", "hooks", "worktrees"]);
    expect(readdirSync(join(home.workdir, "lib/.git")).filter((name) => /^(?:config|modules)/.test(name))).toEqual(
      // Landlock needs no hold of its own, and so finds none to take away.
      existsSync(join(home.workdir, "lib/.git/config.worktree")) ? ["config", "config.worktree"] : ["config"],
    );
    expect(results.join("\n")).not.toContain("unknown error occurred while reading");
  });

  test("the top does not become a repository, and a new one below it is told", async () => {
    using home = sandboxWorld({
      "work/src/try.sh": `mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; printf '[core]\nfsmonitor=touch x\n' > config
cd src; mkdir -p new/.git/hooks; true`,
    });
    rmSync(join(home.workdir, ".git"), { recursive: true });
    const { results } = await confined(home, ["bash src/try.sh"]);
    expect(existsSync(join(home.workdir, "HEAD"))).toBe(false);
    expect(results[0]).toContain(`new git repository: ${home.workdir}/src/new/.git`);
  });

  test("repositories a command plants start nothing when git comes across them", async () => {
    using home = sandboxWorld({ "work/src/x": "" });
    rmSync(join(home.workdir, ".git"), { recursive: true });
    const git = (...args: string[]) =>
      Bun.spawnSync(["git", "-c", "user.name=n", "-c", "user.email=a@b", ...args], {
        cwd: home.workdir,
        env: { PATH: process.env.PATH ?? "", HOME: home.path, GIT_CONFIG_NOSYSTEM: "1" },
      });
    git("init", "-q", "-b", "main");
    git("commit", "-q", "--allow-empty", "-m", "x");
    // What only a submodule's entry in the index leads to is planted where nobody looks.
    const deep = "src/node_modules/deep";
    writeFileSync(
      join(home.workdir, "src/try.sh"),
      `git() { command git -c user.name=n -c user.email=a@b "$@"; }
for place in src/sub ${deep} src/hooked src/plain; do mkdir -p $place; cp -r .git $place/.git; done
for place in src/sub ${deep}; do printf '[core]\n\tfsmonitor = touch %s; false\n' $OUT/ran >> $place/.git/config; done
printf '#!/bin/sh\ntouch %s\n' $OUT/ran > src/hooked/.git/hooks/post-commit; chmod +x src/hooked/.git/hooks/post-commit
(echo '[core]'; yes '#' | head -c 70000; echo 'fsmonitor = touch $OUT/ran; false') > src/hooked/.git/config.worktree
mkdir src/hooked/.git/HEAD.held; mkdir src/lead; echo "gitdir: ../node_modules/deep/.git" > src/lead/.git
cp .git/index src/index; export GIT_INDEX_FILE=src/index
git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src/sub --cacheinfo 160000,$(git rev-parse HEAD),${deep}
cat src/index > .git/index`,
    );
    // Written over in place, where nothing new can be made.
    git("add", "src/x");
    const { results } = await confined(home, ["bash src/try.sh"]);
    git("status");
    for (const place of ["src/sub", deep, "src/hooked", "src/lead", "src/plain"]) {
      git("-C", place, "status");
      git("-C", place, "commit", "--allow-empty", "-m", "y");
    }
    expect(git("ls-files", "-s").stdout.toString()).toContain(`160000`);
    expect(readdirSync(home.outside)).toEqual(["secret"]);
    expect(git("-C", "src/plain", "log", "--format=%s").stdout.toString()).toBe("y\nx\n");
    expect(results[0]).toContain("git does not use it until a person");
    expect(results[0]).toContain(`new git repository: ${home.workdir}/src/plain/.git;`);
  });

  test("scripts of hooks, and what git's settings point to, cannot be written or replaced", async () => {
    using home = sandboxWorld({
      ".letta/settings.json": JSON.stringify({
        hooks: { SessionEnd: [{ hooks: [{ type: "command", command: "bash tools/in/end.sh; bash tools/late.sh" }] }] },
      }),
      "work/tools/in/end.sh": "true\n",
      "work/.git/config": "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.gitconfig\n",
      "work/.githooks/pre-commit": "mine\n",
      "work/shared.gitconfig": "mine\n",
      ".gitconfig": "[core]\n\thooksPath = team/hooks\n[include]\n\tpath = more.gitconfig\n",
      "more.gitconfig": `[filter "x"]\n\tclean = sh src/tidy/clean.sh %f\n[alias]\n\tgo = "!./go.sh"\n`,
      ...{ "work/src/tidy/clean.sh": "mine\n", "work/.git/config.worktree": "[core]\n\tfsmonitor = src/watch\n" },
      "work/src/watch": "mine\n",
      "work/src/try.sh": `for file in src/tidy/clean.sh src/watch; do echo x > $file; mv $file x; done; mv src/tidy y
mkdir -p team/hooks; echo x > team/hooks/post-commit; echo x > go.sh; rm -f x src/watch
echo 'touch ../outside/ran' > tools/in/end.sh
mv tools/in tools/out && mkdir tools/in && echo 'touch ../outside/ran' > tools/in/end.sh
mv tools old && mkdir -p tools/in && echo 'touch ../outside/ran' > tools/in/end.sh
echo 'touch ../outside/ran' > tools/late.sh
echo x > .githooks/pre-commit; echo x > .githooks/pre-push; mv .githooks x; echo x > shared.gitconfig; true`,
    });
    await confined(home, ["bash src/try.sh"]);
    expect(readdirSync(home.outside)).toEqual(["secret"]);
    expect(readFileSync(join(home.workdir, "tools/in/end.sh"), "utf8")).toBe("true\n");
    expect(readdirSync(join(home.workdir, ".githooks"))).toEqual(["pre-commit"]);
    expect(readdirSync(home.workdir).filter((name) => ["team", "go.sh"].includes(name))).toEqual([]);
    for (const name of ["src/tidy/clean.sh", "src/watch"])
      expect(readFileSync(join(home.workdir, name), "utf8")).toBe("mine\n");
    expect(readFileSync(join(home.workdir, "shared.gitconfig"), "utf8")).toBe("mine\n");
  });

  test("what deny rules name cannot be read, under its name or another", async () => {
    using home = sandboxWorld({
      ".letta/settings.json": JSON.stringify({
        permissions: { deny: ["Read(src/deep/private)", "Read(*.key)", "Read(~/notes/**)"] },
      }),
      "work/.letta/settings.json": JSON.stringify({ permissions: { deny: ["Read(src/team.txt)"] } }),
      ...{ "work/src/deep/private": "denied-1\n", "work/src/a.key": "denied-2\n", "notes/x": "denied-3\n" },
      "work/src/team.txt": "denied-4\n",
      "work/src/try.sh": `cd src; cat deep/private a.key ~/notes/x team.txt
mv deep other; cat other/private; ln a.key b; cat b; cp team.txt c; cat c; true`,
    });
    const { results } = await confined(home, ["bash src/try.sh", "bash src/try.sh"]);
    expect(results.join("\n")).not.toContain("denied-");
  });

  test("editor and CI settings do not come into being", async () => {
    using home = sandboxWorld({
      "work/.github/x": "",
      "work/src/try.sh": `for place in . src/..; do mkdir -p $place/.vscode $place/.idea $place/.husky $place/.circleci $place/.github/workflows
for file in .vscode/tasks.json .idea/x .husky/pre-commit .circleci/config.yml .github/workflows/x.yml .gitlab-ci.yml; do
echo x > $place/$file; done; mv .github y; done; true`,
    });
    await confined(home, ["bash src/try.sh"]);
    expect(readdirSync(home.workdir).sort()).toEqual([".git", ".github", "src"]);
    expect(readdirSync(join(home.workdir, ".github"))).toEqual(["x"]);
  });

  test("named pipes of other programs do not hear it", async () => {
    using home = sandboxWorld({
      ".service/x": "",
      "work/src/try.sh": "echo ESCAPED > $OUT/pipe; echo ESCAPED > ~/.service/pipe",
    });
    const pipes = [join(home.outside, "pipe"), join(home.path, ".service/pipe")];
    const listening = pipes.map((pipe) => {
      expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
      // Both ends, so that neither side waits for the other.
      return openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    });
    await confined(home, ["bash src/try.sh"]);
    for (const fd of listening) {
      expect(() => readSync(fd, Buffer.alloc(10))).toThrow("EAGAIN");
      closeSync(fd);
    }
  });

  test.skipIf(!hasPython).each([null, "SIGKILL", "SIGTERM"] as const)(
    "a process that hides is gone when letta is (%s)",
    async (signal) => {
      const seconds = `9${crypto.getRandomValues(new Uint32Array(1))[0]}`;
      using home = sandboxWorld({ "work/src/hide.py": HIDE });
      const command = `python3 src/hide.py ${seconds}; ${signal ? "sleep 20" : "true"}`;
      await using server = await startModelServer([
        { toolCalls: [{ id: "a", name: "Bash", args: { command } }] },
        { text: "done" },
      ]);
      const { args, env } = headless(server.url, ["--yolo", "--sandbox", "workspace", "x"]);
      await using letta = await spawnLetta(args, { home, env: { ...env, PATH: path } });
      letta.child.stdin.end();
      if (signal) {
        await until(() => sleepers(seconds) === 1);
        letta.kill(signal);
      }
      await letta.child.exited;
      const endedAt = performance.now();
      await until(() => sleepers(seconds) === 0);
      expect(performance.now() - endedAt).toBeLessThan(2000);
    },
  );

  test.skipIf(!hasPython)("modes, owners, times and attributes outside stay, inside they can be set", async () => {
    using home = sandboxWorld({
      "work/src/attack.py": CHANGE_METADATA,
      "work/src/attack.sh": `for file in $OUT/secret ~/.ssh/config ~/.bashrc $OUT; do
chmod 777 $file; chmod -R 777 $file; touch $file; touch -h -d 2001-01-01 $file; chown 1 $file; chattr +d $file
ln -sfn $file src/link; chmod 777 src/link; touch -d 2001-01-01 src/link; python3 src/attack.py $file src/link
done`,
      "work/src/use.sh": `set -e; cd src; echo x > a; chmod 4750 a; touch -d 2001-01-01 a; chown $(id -u) a; cp -p a b
ln -s b own; touch -h -d 2002-02-02 own; tar cf t.tar a; mkdir x; tar xpf t.tar -C x; install -m 700 a x/c
python3 -c 'import os; f = open("d", "w"); os.fchmod(f.fileno(), 0o640); os.utime(f.fileno(), (1, 2)); os.chmod("/proc/self/fd/%d" % f.fileno(), 0o600)'
stat -c '%n %a %Y' a b x/a x/c d | grep -v " c " ; stat -c %Y own; printf '#!/bin/sh\necho WORKS\n' > run; chmod +x run; ./run`,
    });
    const watched = [
      home.outside,
      join(home.outside, "secret"),
      join(home.path, ".ssh/config"),
      join(home.path, ".bashrc"),
    ];
    const look = () =>
      watched.map((path) => {
        const { mode, uid, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
        return { path, mode, uid, mtimeNs, ctimeNs };
      });
    const before = look();
    const { results } = await confined(home, ["bash src/attack.sh", "TZ=UTC bash src/use.sh"]);
    expect(look()).toEqual(before);
    const lines = results[1]!.split("\n").filter((line) => !line.startsWith("x/c"));
    expect(lines).toEqual([
      expect.stringMatching(/^a [04]?750 978307200$/),
      expect.stringMatching(/^b 750 978307200$/),
      expect.stringMatching(/^x\/a [04]?750 978307200$/),
      ...["d 600 2", "1012608000", "WORKS"],
    ]);
  });

  test("other processes get no signal, and what they share is not there", async () => {
    const shared = `/dev/shm/letta-test-${process.pid}`;
    writeFileSync(shared, "theirs\n");
    try {
      using home = sandboxWorld({
        "work/src/try.sh": `kill -0 $RUNNER && echo ESCAPED; cat ${shared} && echo ESCAPED; echo x > ${shared}
prlimit --pid $RUNNER --nofile=99 && echo ESCAPED; taskset -p 1 $RUNNER && echo ESCAPED; renice -n 1 -p $RUNNER && echo ESCAPED
ionice -c 2 -n 7 -p $RUNNER && echo ESCAPED; nice -n 1 ionice -c 3 taskset 1 true && echo OWN; for t in /dev/pts/[0-9]*; do echo x > $t && echo ESCAPED; done; true`,
      });
      const { results } = await confined(home, ["bash src/try.sh"], { RUNNER: String(process.pid) });
      expect(results[0]).not.toContain("ESCAPED");
      expect(results[0]).toContain("OWN");
      expect(readFileSync(shared, "utf8")).toBe("theirs\n");
    } finally {
      rmSync(shared);
    }
  });
});
