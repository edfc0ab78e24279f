// The real terminal on a pseudo-terminal: whatever ends the process, the shell gets its terminal back.

import { expect, test } from "bun:test";
import { join } from "node:path";

const MODULE = join(import.meta.dir, "../../src/lib/terminal.ts");
const ICANON_AND_ECHO = process.platform === "darwin" ? 0x108 : 0o12;

/** `last` is what the script writes last: the process may have ended before all of it has come through the terminal. */
async function runOnPty(
  body: string,
  last: string,
  drive?: (type: (keys: string) => void, output: () => string) => void,
) {
  let output = "";
  const complete = Promise.withResolvers<void>();
  const pty = new Bun.Terminal({
    cols: 60,
    rows: 20,
    data(_, bytes) {
      output += new TextDecoder().decode(bytes);
      if (output.includes(last)) complete.resolve();
      drive?.(
        (keys) => void pty.write(keys),
        () => output,
      );
    },
  });
  const script = `import { openTerminal } from ${JSON.stringify(MODULE)};\nconst terminal = openTerminal({ dumb: false });\n${body}`;
  const child = Bun.spawn([process.execPath, "-e", script], { terminal: pty, env: { ...process.env, TERM: "xterm" } });
  const [exitCode] = await Promise.all([child.exited, complete.promise]);
  const cooked = (pty.localFlags & ICANON_AND_ECHO) === ICANON_AND_ECHO;
  pty.close();
  return { output, exitCode, cooked };
}

const READY = `terminal.write("ready " + terminal.columns + "x" + terminal.rows);\nterminal.onData(() => {});\n`;

test.each([
  ["close", `terminal.close();`, 0],
  ["process.exit", `process.exit(3);`, 3],
  ["an uncaught exception", `setTimeout(() => { throw new Error("crash"); }, 5);`, 1],
  ["an unhandled rejection", `Promise.reject(new Error("crash"));`, 1],
] as const)("%s restores the terminal", async (_name, ending, code) => {
  const { output, exitCode, cooked } = await runOnPty(READY + ending, "\x1b[?2004l");
  expect(output).toContain("ready 60x20");
  expect(output).toContain("\x1b[?2004h");
  expect(output).toContain("\x1b[?2004l");
  expect(cooked).toBe(true);
  expect(exitCode).toBe(code);
});

test("keys arrive as bytes, also Ctrl-C", async () => {
  let typed = false;
  const { output } = await runOnPty(
    `terminal.onData((bytes) => { terminal.write("got " + [...bytes].join(",")); if (bytes.includes(3)) { terminal.close(); process.exit(0); } });\nterminal.write("ready");`,
    "\x1b[?2004l",
    (type, seen) => {
      if (typed || !seen().includes("ready")) return;
      typed = true;
      type("a\x03");
    },
  );
  expect(output).toMatch(/got (97,3|97.*got 3)/s);
});

test("a pipe and TERM=dumb are no terminal to draw on", async () => {
  const script = `import { openTerminal } from ${JSON.stringify(MODULE)};\nconst terminal = openTerminal({ dumb: false });\nterminal.onData((bytes) => { if (bytes === null) { terminal.close(); process.exit(0); } terminal.write(String(terminal.interactive) + new TextDecoder().decode(bytes)); });`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdin: new Blob(["line\n"]), stdout: "pipe" });
  expect(await child.stdout.text()).toBe("falseline\n");
});

test("a large output is written whole", async () => {
  const { output } = await runOnPty(`terminal.write("x".repeat(500_000) + "END"); terminal.close();`, "\x1b[?2004l");
  expect(output.match(/x/g)?.length).toBeGreaterThanOrEqual(500_000);
  expect(output).toContain("END");
});
