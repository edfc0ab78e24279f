// Real shells as oracles: what argument lists do programs get when a text runs? Every program on PATH is a stub that
// writes its arguments down and succeeds.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// One write, so that programs of a pipe do not write into each other's records.
const STUB = `#!/bin/sh
printf '%s\\000' "$CASE" "\${0##*/}" "$@" "\u0001" >> "$LOG"
`;

/** Each text runs in a shell of its own process, in an empty directory, without input. */
const DRIVER = `
i=0
while IFS= read -r -d '' text; do
  export CASE=$i
  ( cd work; "$SHELL_UNDER_TEST" $SHELL_OPTIONS -c "$text" </dev/null >/dev/null 2>&1 )
  i=$((i + 1))
done
`;

export interface ShellOracle {
  /** Argument lists of the programs each text ran, sorted. */
  run(texts: string[], shell?: "bash" | "sh" | "zsh"): string[][][];
  dispose(): void;
}

export function createShellOracle(programs: readonly string[]): ShellOracle {
  const root = mkdtempSync(join(tmpdir(), "letta-oracle-"));
  mkdirSync(join(root, "bin"));
  for (const name of programs) {
    writeFileSync(join(root, "bin", name), STUB);
    chmodSync(join(root, "bin", name), 0o755);
  }
  return {
    run(texts, shell = "bash") {
      const log = join(root, "log");
      writeFileSync(log, "");
      rmSync(join(root, "work"), { recursive: true, force: true });
      mkdirSync(join(root, "work"));
      const options = { bash: "--noprofile --norc", sh: "", zsh: "-f" }[shell];
      Bun.spawnSync(["/bin/bash", "--noprofile", "--norc", "-c", DRIVER], {
        cwd: root,
        env: {
          PATH: join(root, "bin"),
          HOME: join(root, "work"),
          LOG: log,
          LC_ALL: "C.UTF-8",
          SHELL_UNDER_TEST: Bun.which(shell) ?? shell,
          SHELL_OPTIONS: options,
        },
        stdin: new Blob([texts.map((text) => `${text}\u0000`).join("")]),
        timeout: 60_000,
      });
      return readLog(readFileSync(log, "utf8"), texts.length);
    },
    dispose: () => rmSync(root, { recursive: true, force: true }),
  };
}

function readLog(log: string, count: number): string[][][] {
  const found: string[][][] = Array.from({ length: count }, () => []);
  for (const record of log.split("\u0001\u0000")) {
    const [index, ...argv] = record.split("\u0000");
    if (index !== undefined && index !== "") found[Number(index)]!.push(argv.slice(0, -1));
  }
  return found.map((list) => list.sort(byText));
}

export function byText(one: string[], other: string[]): number {
  const [a, b] = [one.join("\u0000"), other.join("\u0000")];
  return a < b ? -1 : a > b ? 1 : 0;
}
