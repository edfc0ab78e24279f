// Runs a program and says how long it took, how much memory it had at its peak, or when its prompt was there.

import { childEnv, type TempHome } from "../../test/support/binary.ts";
import { peakMemory } from "../../test/support/peak-memory.ts";

/** Milliseconds from start to end. */
export async function measureTime(
  command: string[],
  home: TempHome,
  env: Record<string, string> = {},
): Promise<number> {
  const startedAt = performance.now();
  const child = Bun.spawn(command, {
    cwd: home.workdir,
    env: childEnv(home, env),
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const exitCode = await child.exited;
  const wallMs = performance.now() - startedAt;
  if (exitCode !== 0) throw new Error(`${command.join(" ")} exited ${exitCode}\n${await child.stderr.text()}`);
  return wallMs;
}

/** Peak memory, median of three. */
export async function measureMemory(
  command: string[],
  home: TempHome,
  env: Record<string, string> = {},
): Promise<number> {
  const peaks: number[] = [];
  for (let run = 0; run < 3; run++) {
    const { bytes, exitCode } = await peakMemory(command, { cwd: home.workdir, env: childEnv(home, env) });
    if (exitCode !== 0) throw new Error(`${command.join(" ")} exited ${exitCode}`);
    peaks.push(bytes);
  }
  return peaks.toSorted((a, b) => a - b)[1]!;
}

/** Milliseconds until the REPL's input line, or what is waited for, is on the screen of an 80-column terminal. */
export async function measurePrompt(
  command: string[],
  home: TempHome,
  env: Record<string, string> = {},
  pattern = /(^|\n)> ?$/m,
): Promise<number> {
  const shown = Promise.withResolvers<number>();
  let output = "";
  const decoder = new TextDecoder();
  const startedAt = performance.now();
  const terminal = new Bun.Terminal({
    cols: 80,
    rows: 24,
    data(_, bytes) {
      output += decoder.decode(bytes, { stream: true });
      if (pattern.test(Bun.stripANSI(output).replaceAll("\r", "\n"))) shown.resolve(performance.now() - startedAt);
    },
  });
  const child = Bun.spawn(command, {
    cwd: home.workdir,
    env: childEnv(home, { TERM: "xterm-256color", ...env }),
    terminal,
  });
  const timer = setTimeout(() => shown.reject(new Error(`no prompt:\n${output}`)), 20_000);
  try {
    return await Promise.race([
      shown.promise,
      child.exited.then((code) => Promise.reject(new Error(`exited ${code} without a prompt:\n${output}`))),
    ]);
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
    await child.exited;
    terminal.close();
  }
}
