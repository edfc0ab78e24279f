// The compiled binary on a pseudo-terminal, as a person has it: keys in, and what was written out, with a way to wait
// for it. Only the text matters here; control sequences are stripped before matching.

import { builtBinary, childEnv, type LettaOptions, tempHome } from "./binary.ts";

export interface PtyLetta extends AsyncDisposable {
  readonly pid: number;
  /** Everything written so far, without control sequences. */
  text(): string;
  raw(): string;
  type(keys: string): void;
  /** Waits until text written after `since` (an index into `text()`, default 0) matches. Returns where the match ends. */
  waitFor(pattern: RegExp, since?: number, timeoutMs?: number): Promise<number>;
  readonly exited: Promise<number>;
}

/** Only a wait that is going to fail takes this long. */
const LAST_WORDS_MS = 500;

export async function openPty(
  args: string[],
  options: LettaOptions & { columns?: number; rows?: number } = {},
): Promise<PtyLetta> {
  const ownHome = options.home ? undefined : tempHome();
  const home = options.home ?? ownHome!;
  const decoder = new TextDecoder();
  let raw = "";
  let ended = false;
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of [...listeners]) listener();
  };
  const terminal = new Bun.Terminal({
    cols: options.columns ?? 80,
    rows: options.rows ?? 24,
    data(_, bytes) {
      raw += decoder.decode(bytes, { stream: true });
      notify();
    },
  });
  const child = Bun.spawn([await builtBinary(), ...args], {
    cwd: options.cwd ?? home.workdir,
    env: childEnv(home, { TERM: "xterm-256color", ...options.env }),
    terminal,
  });
  const exited = child.exited;
  // Its last words may come through the terminal after it has ended.
  void exited.then(() => {
    setTimeout(() => {
      ended = true;
      notify();
    }, LAST_WORDS_MS);
  });
  const text = () => Bun.stripANSI(raw).replaceAll("\r", "");
  return {
    pid: child.pid,
    text,
    raw: () => raw,
    type: (keys) => void terminal.write(keys),
    waitFor(pattern, since = 0, timeoutMs = 20_000) {
      return new Promise((resolve, reject) => {
        const finish = (settle: () => void) => {
          clearTimeout(timer);
          listeners.delete(check);
          settle();
        };
        const check = () => {
          const match = pattern.exec(text().slice(since));
          if (match) finish(() => resolve(since + match.index + match[0].length));
          else if (ended) finish(() => reject(new Error(`the process ended without ${pattern}:\n${text()}`)));
        };
        const timer = setTimeout(() => finish(() => reject(new Error(`no ${pattern}:\n${text()}`))), timeoutMs);
        listeners.add(check);
        check();
      });
    },
    exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
      terminal.close();
      ownHome?.[Symbol.dispose]();
    },
  };
}
