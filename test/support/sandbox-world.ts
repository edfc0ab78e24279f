// What sandbox tests on the compiled binary share: which backends this machine has, and a home with things worth
// protecting, outside of the system's temp directory, which the sandbox replaces.

import { afterAll } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { runLetta, type TempHome } from "./binary.ts";

export interface BackendUnderTest {
  name: string;
  /** A PATH on which letta finds just this backend. */
  path: string;
}

/** The backends that work here, as `letta sandbox doctor` says. Without any, the doctor's exit code is 1. */
export async function workingBackends(): Promise<BackendUnderTest[]> {
  if (process.platform !== "linux") return [];
  const path = process.env.PATH ?? "";
  const { stdout } = await runLetta(["sandbox", "doctor", "--json"], { env: { PATH: path } });
  const { backends } = JSON.parse(stdout).data as { backends: { name: string; works: boolean }[] };
  const names = backends.filter(({ works }) => works).map(({ name }) => name);
  return names.map((name) => ({ name, path: name === "bwrap" ? path : pathWithoutBwrap() }));
}

let withoutBwrap: string | undefined;

/** The usual programs, and no bubblewrap. */
function pathWithoutBwrap(): string {
  if (withoutBwrap !== undefined) return withoutBwrap;
  const directory = mkdtempSync("/var/tmp/letta-path-");
  // The file's tests share it; the runner has no end of its own that could be waited for.
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
    withoutBwrap = undefined;
  });
  const entries = (process.env.PATH ?? "").split(delimiter).filter((entry) => entry !== "");
  const kept = entries.map((entry) => {
    if (!Bun.which("bwrap", { PATH: entry })) return entry;
    for (const name of readdirSync(entry)) {
      const link = join(directory, name);
      if (name !== "bwrap" && !lstatSync(link, { throwIfNoEntry: false })) symlinkSync(join(entry, name), link);
    }
    return directory;
  });
  withoutBwrap = [...new Set(kept)].join(delimiter);
  return withoutBwrap;
}

export interface SandboxWorld extends TempHome {
  /** Beside the workspace. */
  readonly outside: string;
}

export function sandboxWorld(files: Record<string, string> = {}): SandboxWorld {
  const path = realpathSync(mkdtempSync("/var/tmp/letta-sandbox-test-"));
  const all: Record<string, string> = {
    ".ssh/config": "ssh-secret\n",
    ".bashrc": "# mine\n",
    ".letta/agents/other/memory.md": "memory-secret\n",
    "outside/secret": "outside-secret\n",
    "work/.git/HEAD": "ref: refs/heads/main\n",
    "work/.git/config": "[core]\n\tbare = false\n",
    "work/.git/hooks/sample": "",
    "work/src/file": "inside\n",
    ...files,
  };
  for (const [name, content] of Object.entries(all)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
  }
  mkdirSync(join(path, "tmp"));
  return {
    path,
    workdir: join(path, "work"),
    outside: join(path, "outside"),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** How many processes sleep for so long. Choose a duration nobody else has. */
export function sleepers(seconds: string): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`sleep\0${seconds}`);
    } catch {
      // It has just ended.
      return false;
    }
  }).length;
}

/** Throws when it never becomes true. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("the condition never came true");
    await Bun.sleep(10);
  }
}
