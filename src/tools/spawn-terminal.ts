// A process on a terminal of its own, for programs that ask, draw or wait for keys. It leads a session, so that a group
// kill reaches it, and the terminal is its controlling one.

import type { Spawned } from "./shell.ts";

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface TerminalSpawn {
  cwd: string;
  env: Record<string, string>;
  size: TerminalSize;
  /** Become descriptors 3, 4, … */
  files: number[];
}

/** Throws the system's error when it cannot be started. What the terminal shows goes to `onBytes`. */
export function spawnOnTerminal(
  argv: string[],
  { cwd, env, size, files }: TerminalSpawn,
  onBytes: (bytes: Uint8Array) => void,
): Spawned & { write(text: string): void } {
  const closed = Promise.withResolvers<void>();
  const terminal = new Bun.Terminal({
    cols: size.columns,
    rows: size.rows,
    name: "xterm-256color",
    data: (_, bytes) => onBytes(bytes),
    exit: () => closed.resolve(),
  });
  let child: Bun.Subprocess;
  try {
    child = Bun.spawn(argv, {
      cwd,
      env: { ...env, TERM: "xterm-256color" },
      terminal,
      // The first three are the terminal's.
      stdio: ["ignore", "ignore", "ignore", ...files],
      detached: true,
    });
  } catch (error) {
    terminal.close();
    throw error;
  }
  const close = (): void => {
    if (!terminal.closed) terminal.close();
    closed.resolve();
  };
  const exited = child.exited.then(async (code) => {
    // What it wrote last is still on its way; what it left running loses the terminal, as when a window is closed.
    await Promise.race([closed.promise, Bun.sleep(DRAIN_MS)]);
    close();
    return code;
  });
  return {
    pid: child.pid,
    exited,
    closed: closed.promise,
    stopReading: async () => close(),
    write: (text) => {
      if (!terminal.closed) terminal.write(text);
    },
  };
}

const DRAIN_MS = 50;
