// SSH remotes, through the git program where there is one: keys, agents and known hosts are its business. It never runs
// in the repository itself, whose settings could start programs, but in an empty one beside it that borrows the objects.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killTree, MARK_VARIABLE } from "@/lib/process-tree.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { systemDisk } from "./disk.ts";
import { importObjects } from "./import-objects.ts";
import { Objects } from "./objects.ts";
import { type PushOutcome, RemoteError, type RemotePlace, type Transport } from "./remote.ts";
import { OPERATION_TIMEOUT_MS } from "./remote-limits.ts";
import { Scratch } from "./scratch.ts";
import type { Oid } from "./types.ts";

export interface SshTransportOptions {
  /** Of this process; what git and ssh need of it is picked. */
  env: Readonly<Record<string, string | undefined>>;
  /** `…/.git/objects` of the repository the transport is used with. */
  objectsDir: string;
  timeoutMs?: number;
}

const HAVE = "refs/heads/have";
const INCOMING = "refs/heads/incoming";

/** Where things are, which language, and which keys a person chose. */
const KEPT =
  /^(?:HOME|USER|LOGNAME|PATH|LANG|LANGUAGE|TZ|TMPDIR|XDG_[A-Z_]+|SSH_AUTH_SOCK|SSH_AGENT_PID|GIT_SSH|GIT_SSH_VARIANT|SystemRoot|APPDATA|LOCALAPPDATA|USERPROFILE)$/;

const SETTINGS = [
  ["protocol.allow", "never"],
  ["protocol.ssh.allow", "always"],
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["push.recurseSubmodules", "no"],
  ["push.followTags", "false"],
  ["push.gpgSign", "false"],
  ["credential.helper", ""],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

export function createSshTransport({ url }: RemotePlace & { kind: "ssh" }, options: SshTransportOptions): Transport {
  const tip = async (beside: Beside, branch: string, signal?: AbortSignal): Promise<Oid | null> => {
    const { out } = await beside.run(["ls-remote", "--refs", "--", url, branch], signal);
    return new RegExp(`^([0-9a-f]{40})\\t${RegExp.escape(branch)}$`, "m").exec(out)?.[1] ?? null;
  };

  return {
    async tip(branch, { signal } = {}) {
      using beside = await openBeside(options, {});
      return await tip(beside, branch, signal);
    },

    async fetch(objects, branch, { have = null, signal } = {}) {
      await objects.flush();
      using beside = await openBeside(options, have !== null && objects.has(have) ? { [HAVE]: have } : {});
      const oid = await tip(beside, branch, signal);
      if (oid === null || objects.has(oid)) return oid;
      const quiet = ["--quiet", "--no-tags", "--no-write-fetch-head"];
      // The branch may move meanwhile; what is fetched is what counts.
      await beside.run(["fetch", ...quiet, "--", url, `+${branch}:${INCOMING}`], signal);
      const { out } = await beside.run(["rev-parse", INCOMING], signal);
      const fetched = out.trim();
      const arrived = beside.objects();
      const oids = [...arrived.listLoose(), ...arrived.packs().flatMap((pack) => pack.oids())];
      await importObjects(objects, fetched, { oids, read: async (oid) => arrived.read(oid) });
      return fetched;
    },

    async push(objects, branch, { from, to }, { signal } = {}): Promise<PushOutcome> {
      await objects.flush();
      using beside = await openBeside(options, { [HAVE]: to });
      const lease = `--force-with-lease=${branch}:${from ?? ""}`;
      const args = ["push", "--porcelain", "--no-verify", lease, "--", url, `${to}:${branch}`];
      const { code, out, complaint } = await beside.run(args, signal, { fails: true });
      if (code === 0) return { status: "pushed" };
      const reason = /^!\t\S+\t\[[\w ]+\] \((.*)\)$/m.exec(out)?.[1];
      if (reason === undefined) throw complaint();
      const now = await tip(beside, branch, signal);
      if (now === to) return { status: "pushed" };
      return now === from ? { status: "refused", reason } : { status: "moved", tip: now };
    },
  };
}

interface Ran {
  code: number;
  out: string;
  /** What git said, as an error. */
  complaint(): RemoteError;
}

/** An empty repository whose objects are the other one's and what arrives. */
interface Beside extends Disposable {
  run(args: string[], signal?: AbortSignal, options?: { fails?: boolean }): Promise<Ran>;
  /** What arrived. */
  objects(): Objects;
}

async function openBeside(options: SshTransportOptions, refs: Record<string, Oid>): Promise<Beside> {
  const { env, objectsDir } = options;
  const program = Bun.which("git", env.PATH === undefined ? {} : { PATH: env.PATH });
  if (program === null) {
    throw new RemoteError("not_found", "remotes over SSH need git, and there is none here.", {
      hint: "Install git, or use an https:// address with a token.",
    });
  }
  const dir = mkdtempSync(join(tmpdir(), "letta-ssh-"));
  const dispose = (): void => rmSync(dir, { recursive: true, force: true });
  try {
    for (const folder of ["objects/info", "objects/pack", "refs/heads", "info"]) {
      mkdirSync(join(dir, folder), { recursive: true });
    }
    writeFileSync(join(dir, "HEAD"), "ref: refs/heads/main\n");
    writeFileSync(join(dir, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
    writeFileSync(join(dir, "objects/info/alternates"), `${objectsDir}\n`);
    for (const [ref, oid] of Object.entries(refs)) writeFileSync(join(dir, ref), `${oid}\n`);
  } catch (error) {
    dispose();
    throw error;
  }
  const childEnv = { ...pickEnv(env), GIT_DIR: dir };
  const sshCommand = env.GIT_SSH_COMMAND ?? (await userSshCommand(program, childEnv));
  return {
    run: (args, signal, { fails = false } = {}) =>
      runGit([program, ...SETTINGS, ...args], {
        cwd: dir,
        env: { ...childEnv, ...(sshCommand !== null && { GIT_SSH_COMMAND: sshCommand }) },
        timeoutMs: options.timeoutMs ?? OPERATION_TIMEOUT_MS,
        signal,
        fails,
      }),
    objects: () => new Objects(join(dir, "objects"), systemDisk, new Scratch(dir, systemDisk)),
    [Symbol.dispose]: dispose,
  };
}

/** Nobody is asked for anything: a question would wait for ever. */
function pickEnv(env: SshTransportOptions["env"]): Record<string, string> {
  const kept = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    ...Object.fromEntries(kept.filter(([name]) => KEPT.test(name))),
    GIT_TERMINAL_PROMPT: "0",
    GCM_INTERACTIVE: "never",
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    SSH_ASKPASS_REQUIRE: "never",
    GIT_ALLOW_PROTOCOL: "ssh",
    LC_ALL: "C",
  };
}

/** A person's own `core.sshCommand` and GIT_SSH are left alone: they know their ssh. */
async function userSshCommand(program: string, env: Record<string, string>): Promise<string | null> {
  const { GIT_DIR: _, ...plain } = env;
  const asked = Bun.spawn([program, "config", "--global", "--get", "core.sshCommand"], {
    env: plain,
    cwd: "/",
    stdin: "ignore",
    stderr: "ignore",
  });
  const own = (await asked.stdout.text()).trim();
  if (own !== "" || env.GIT_SSH !== undefined) return null;
  return "ssh -oBatchMode=yes -oConnectTimeout=20";
}

async function runGit(
  argv: string[],
  run: {
    cwd: string;
    env: Record<string, string>;
    timeoutMs: number;
    signal: AbortSignal | undefined;
    fails: boolean;
  },
): Promise<Ran> {
  const { cwd, env, timeoutMs, signal, fails } = run;
  signal?.throwIfAborted();
  const mark = crypto.randomUUID();
  const watchdog = createWatchdog();
  watchdog.begin(mark);
  const child = Bun.spawn(argv, {
    cwd,
    env: { ...env, [MARK_VARIABLE]: mark },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  watchdog.started(mark, child.pid);
  const limit = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([signal, limit]) : limit;
  const stop = (): void => void killTree({ pid: child.pid, mark }, { afterIntMs: 100, afterTermMs: 500 });
  either.addEventListener("abort", stop, { once: true });
  if (either.aborted) stop();
  try {
    const [out, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    signal?.throwIfAborted();
    if (limit.aborted) {
      throw new RemoteError("network", "git did not come to an end with the remote.", { retryable: true });
    }
    const complaint = (): RemoteError => new RemoteError("network", `git could not reach the remote: ${said(errors)}`);
    if (code !== 0 && !fails) throw complaint();
    return { code, out, complaint };
  } finally {
    either.removeEventListener("abort", stop);
    watchdog.end(mark);
    watchdog.close();
  }
}

/** The lines a person can use, without escape sequences. */
function said(errors: string): string {
  const lines = errors.replace(/[^\P{C}\n]/gu, "").split("\n");
  const filled = lines.map((line) => line.trim()).filter((line) => line !== "");
  return filled.slice(0, 4).join(" ").slice(0, 400) || "it did not say why";
}
