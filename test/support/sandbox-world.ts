// What sandbox tests on the compiled binary share: which backends this machine has, and a home with things worth
// protecting, outside of the system's temp directory, which the sandbox replaces.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { runLetta, type TempHome } from "./binary.ts";

export interface BackendUnderTest {
  name: string;
  /** A PATH on which letta finds just this backend. */
  path: string;
}

const PROGRAMS = [
  ...["bash", "sh", "cat", "ls", "ln", "mv", "cp", "rm", "mkdir", "touch", "sleep", "setsid", "env", "head", "grep"],
  ...["mount", "umount", "perl", "python3", "id", "kill", "true", "chmod", "tr", "bun", "readlink"],
];

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
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  for (const name of PROGRAMS) {
    const found = Bun.which(name);
    if (found) symlinkSync(realpathSync(found), join(directory, name));
  }
  const rest = (process.env.PATH ?? "").split(delimiter).filter((entry) => !Bun.which("bwrap", { PATH: entry }));
  withoutBwrap = [directory, ...rest].join(delimiter);
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
