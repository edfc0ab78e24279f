// Runs a program once and says how long it took and how much memory it had at its peak.

import { childEnv, type TempHome } from "../../test/support/binary.ts";

export interface Sample {
  wallMs: number;
  rssBytes: number;
}

export async function measureProcess(
  command: string[],
  home: TempHome,
  env: Record<string, string> = {},
): Promise<Sample> {
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
  return { wallMs, rssBytes: Number(child.resourceUsage()?.maxRSS ?? 0) };
}

/** Milliseconds until the REPL's input line is on the screen of an 80-column terminal. */
export async function measurePrompt(
  command: string[],
  home: TempHome,
  env: Record<string, string> = {},
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
      if (/(^|\n)> ?$/m.test(Bun.stripANSI(output).replaceAll("\r", "\n")))
        shown.resolve(performance.now() - startedAt);
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
