// install.sh as `curl … | sh` runs it, against a loopback server with real files. The "release" is a shell script that
// answers --version, so that nothing here depends on a build.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import pkg from "../../package.json" with { type: "json" };
import { TARGETS } from "../../scripts/targets.ts";
import { tempDir } from "../support/binary.ts";

const INSTALLER = join(import.meta.dir, "../../install.sh");
const PROGRAM = '#!/bin/sh\n[ "$1" = --version ] && echo "9.9.9 (letta)"\n';
const SHELLS = [["sh"], ["bash", "--posix"]];

interface Release {
  files: Record<string, Uint8Array>;
  /** Sends half of a file of this name and cuts the connection. */
  cut?: string;
  /** Sends the headers and half of a file of this name, then nothing. */
  stall?: string;
}

let release: Release = { files: {} };
let stalled = Promise.withResolvers<void>();
let server: Bun.TCPSocketListener<undefined>;

// A bare socket server: it must be able to break off in the middle.
beforeAll(() => {
  server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, request) {
        const name = /^GET \/releases\/(\S+) /.exec(request.toString())?.[1] ?? "";
        const body = release.files[name];
        if (!body) {
          socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
          return;
        }
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`);
        const broken = name === release.cut || name === release.stall;
        socket.write(broken ? body.subarray(0, body.length / 2) : body);
        if (name === release.stall) stalled.resolve();
        else socket.end();
      },
    },
  });
});
afterAll(() => server.stop(true));

function releaseOf(program: string, change: (files: Record<string, Uint8Array>) => void = () => {}): Release {
  const files: Record<string, Uint8Array> = { "letta-linux-x64.gz": gzipSync(program) };
  files.SHA256SUMS = checksums(files);
  change(files);
  return { files };
}

function checksums(files: Record<string, Uint8Array>): Uint8Array {
  const lines = Object.entries(files).map(
    ([name, bytes]) => `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`,
  );
  return Buffer.from(lines.join(""));
}

interface InstallOptions {
  shell?: string[];
  env?: Record<string, string | undefined>;
  uname?: [system: string, machine: string];
  libc?: "glibc" | "musl";
  /** Commands the machine does not have. */
  without?: string[];
  /** Blocks a file may have: a full disk. */
  fileLimit?: number;
}

/** Runs the installer in a home with a space in its name, on a machine whose commands are links to the real ones. */
async function install(home: string, options: InstallOptions = {}) {
  const child = startInstaller(home, options);
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exitCode };
}

function startInstaller(home: string, { shell = ["sh"], env, uname, libc, without = [], fileLimit }: InstallOptions) {
  const bin = machine(join(home, "../bin"), uname ?? ["Linux", "x86_64"], libc ?? "glibc", without);
  const command = fileLimit === undefined ? shell : ["sh", "-c", `ulimit -f ${fileLimit} && exec sh`];
  return Bun.spawn([join(bin, command[0]!), ...command.slice(1)], {
    cwd: home,
    env: definedOnly({
      PATH: bin,
      HOME: home,
      LETTA_DOWNLOAD_BASE: `http://127.0.0.1:${server.port}/releases/`,
      ...env,
    }),
    stdin: Bun.file(INSTALLER),
    stdout: "pipe",
    stderr: "pipe",
  });
}

function machine(bin: string, [system, processor]: [string, string], libc: string, without: string[]): string {
  mkdirSync(bin);
  const commands =
    "sh bash curl wget awk sed grep gzip sha256sum mktemp mkdir rmdir rm mv chmod cat head dirname basename ls find";
  for (const name of commands.split(" ")) {
    const path = Bun.which(name);
    if (path && !without.includes(name)) symlinkSync(path, join(bin, name));
  }
  const script = (name: string, body: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  script("uname", `[ "$1" = -s ] && echo ${system} || echo ${processor}`);
  script("getconf", libc === "glibc" ? "echo glibc 2.36" : "exit 1");
  script("ldd", libc === "glibc" ? "echo GNU libc" : "echo 'musl libc (x86_64)' >&2; exit 1");
  return bin;
}

function tempMachine() {
  const folder = tempDir("letta-install-");
  const home = join(folder.path, "my home");
  mkdirSync(home);
  return { home, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

function definedOnly(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

const everythingIn = (home: string) => readdirSync(home, { recursive: true });

test("in a checkout: builds, installs, and the program runs", async () => {
  using folder = tempDir("letta install-");
  const target = join(folder.path, "bin");
  const child = Bun.spawn([INSTALLER], {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? "", HOME: folder.path, LETTA_INSTALL_DIR: target },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toContain(`Installed letta ${pkg.version}: ${target}/letta\n`);
  expect(readdirSync(target)).toEqual(["letta"]);
  expect(await new Response(Bun.spawn([join(target, "letta"), "--version"]).stdout).text()).toBe(
    `${pkg.version} (letta)\n`,
  );
});

describe("a good release", () => {
  test.each(SHELLS)("installs under %s", async (...shell) => {
    using at = tempMachine();
    release = releaseOf(PROGRAM);
    const { stdout, stderr, exitCode } = await install(at.home, { shell });
    expect(stderr).toBe("");
    expect(stdout).toContain(`Installed letta 9.9.9: ${at.home}/.local/bin/letta\n`);
    expect(stdout).toContain(`${at.home}/.local/bin is not on your PATH`);
    expect(stdout).toContain("letta demo");
    expect(exitCode).toBe(0);
    expect(readFileSync(join(at.home, ".local/bin/letta"), "utf8")).toBe(PROGRAM);
    expect(readdirSync(join(at.home, ".local/bin"))).toEqual(["letta"]);
  });

  test.each([[["curl"]], [["wget", "gzip"]]])("installs on a machine without %p", async (without) => {
    using at = tempMachine();
    release = releaseOf(PROGRAM, (files) => {
      files["letta-linux-x64"] = Buffer.from(PROGRAM);
      files.SHA256SUMS = checksums({ ...files, SHA256SUMS: new Uint8Array() });
    });
    const { stderr, exitCode } = await install(at.home, { without });
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(readFileSync(join(at.home, ".local/bin/letta"), "utf8")).toBe(PROGRAM);
  });

  test("replaces an older program in the directory named, which is on PATH", async () => {
    using at = tempMachine();
    release = releaseOf(PROGRAM);
    const folder = join(at.home, "tools");
    mkdirSync(folder);
    writeFileSync(join(folder, "letta"), "old");
    const PATH = `${join(at.home, "../bin")}:${folder}`;
    const { stdout, exitCode } = await install(at.home, { env: { LETTA_INSTALL_DIR: folder, PATH } });
    expect(stdout).not.toContain("PATH");
    expect(exitCode).toBe(0);
    expect(readFileSync(join(folder, "letta"), "utf8")).toBe(PROGRAM);
    expect(readdirSync(folder)).toEqual(["letta"]);
  });

  const machines: [[string, string], "glibc" | "musl", string][] = [
    [["Linux", "x86_64"], "glibc", "linux-x64"],
    [["Linux", "aarch64"], "glibc", "linux-arm64"],
    [["Linux", "x86_64"], "musl", "linux-x64-musl"],
    [["Linux", "arm64"], "musl", "linux-arm64-musl"],
    [["Darwin", "x86_64"], "glibc", "darwin-x64"],
    [["Darwin", "arm64"], "glibc", "darwin-arm64"],
    [["MINGW64_NT-10.0", "x86_64"], "glibc", "windows-x64"],
  ];
  test.each(machines)("%p with %s takes %s", async (uname, libc, target) => {
    using at = tempMachine();
    release = { files: { [`letta-${target}.gz`]: gzipSync(PROGRAM) } };
    release.files.SHA256SUMS = checksums(release.files);
    const { stderr, exitCode } = await install(at.home, { uname, libc });
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    const suffix = TARGETS.find(({ name }) => name === target)!.suffix;
    expect(existsSync(join(at.home, `.local/bin/letta${suffix}`))).toBe(true);
  });

  test("every target of scripts/release is some machine's", () => {
    expect(machines.map(([, , target]) => target).sort()).toEqual(TARGETS.map(({ name }) => name).sort());
  });
});

describe("whatever goes wrong is said, and nothing stays behind", () => {
  const withoutChecksum = (files: Record<string, Uint8Array>) => {
    files.SHA256SUMS = Buffer.from(`${"0".repeat(64)}  letta-linux-x64.gz\n`);
  };
  const cases: [name: string, release: Release, options: InstallOptions, message: string][] = [
    ["wrong checksum", releaseOf(PROGRAM, withoutChecksum), {}, "does not have the published checksum"],
    ["truncated download", { ...releaseOf(PROGRAM), cut: "letta-linux-x64.gz" }, {}, "stopped before its end"],
    [
      "truncated download with wget",
      { ...releaseOf(PROGRAM), cut: "letta-linux-x64.gz" },
      { without: ["curl"] },
      "letta-linux-x64.gz",
    ],
    ["empty server", { files: {} }, {}, "/releases/SHA256SUMS is not there"],
    [
      "missing file",
      releaseOf(PROGRAM, (files) => void delete files["letta-linux-x64.gz"]),
      {},
      "letta-linux-x64.gz is not there",
    ],
    ["no release for the platform", releaseOf(PROGRAM), { uname: ["Linux", "aarch64"] }, "no letta for linux-arm64"],
    ["a program that does not run", releaseOf("#!/bin/sh\nexit 3\n"), {}, "does not run on this machine"],
    ["unknown processor", releaseOf(PROGRAM), { uname: ["Linux", "riscv64"] }, "processor: riscv64"],
    ["unknown system", releaseOf(PROGRAM), { uname: ["SunOS", "x86_64"] }, "system: SunOS"],
    ["no address", releaseOf(PROGRAM), { env: { LETTA_DOWNLOAD_BASE: undefined } }, "LETTA_DOWNLOAD_BASE is not set"],
    ["a strange address", releaseOf(PROGRAM), { env: { LETTA_DOWNLOAD_BASE: "-o/tmp/x" } }, "must start with https://"],
    ["no server", releaseOf(PROGRAM), { env: { LETTA_DOWNLOAD_BASE: "http://127.0.0.1:1" } }, "could not download"],
    ["no home", releaseOf(PROGRAM), { env: { HOME: undefined } }, "HOME is not set"],
    ["no downloader", releaseOf(PROGRAM), { without: ["curl", "wget"] }, "needs curl or wget"],
    ["no checksum program", releaseOf(PROGRAM), { without: ["sha256sum"] }, "needs sha256sum, shasum or openssl"],
    ["full disk", releaseOf(PROGRAM + "#\n".repeat(100_000)), { fileLimit: 8 }, "could not unpack letta-linux-x64.gz"],
  ];
  test.each(cases)("%s", async (_, files, options, message) => {
    using at = tempMachine();
    release = files;
    const { stdout, stderr, exitCode } = await install(at.home, options);
    expect(stderr).toContain("Error: ");
    expect(stderr).toContain(message);
    expect(stdout).not.toContain("Installed");
    expect(exitCode).toBe(1);
    expect(everythingIn(at.home)).toEqual([]);
  });

  test.each([
    ["a file where the directory should be", "tools", "cannot create the directory"],
    ["a file in the directory's way", "tools/bin", "cannot create the directory"],
  ])("%s", async (_, name, message) => {
    using at = tempMachine();
    release = releaseOf(PROGRAM);
    writeFileSync(join(at.home, "tools"), "");
    const { stderr, exitCode } = await install(at.home, { env: { LETTA_INSTALL_DIR: join(at.home, name) } });
    expect(stderr).toContain(message);
    expect(exitCode).toBe(1);
    expect(everythingIn(at.home)).toEqual(["tools"]);
  });

  test("a failed update leaves the old program as it was", async () => {
    using at = tempMachine();
    release = releaseOf(PROGRAM, withoutChecksum);
    mkdirSync(join(at.home, ".local/bin"), { recursive: true });
    writeFileSync(join(at.home, ".local/bin/letta"), "old");
    const { exitCode } = await install(at.home);
    expect(exitCode).toBe(1);
    expect(readFileSync(join(at.home, ".local/bin/letta"), "utf8")).toBe("old");
    expect(readdirSync(join(at.home, ".local/bin"))).toEqual(["letta"]);
  });

  test.each([
    ["SIGINT", "sh", 130],
    ["SIGTERM", "sh", 143],
    ["SIGINT", "bash", 130],
  ] as const)("%s to %s half-way", async (signal, shell, code) => {
    using at = tempMachine();
    stalled = Promise.withResolvers();
    release = { ...releaseOf(PROGRAM), stall: "letta-linux-x64.gz" };
    const child = startInstaller(at.home, { shell: [shell] });
    await stalled.promise;
    child.kill(signal);
    expect(await child.exited).toBe(code);
    expect(everythingIn(at.home)).toEqual([]);
  });
});
