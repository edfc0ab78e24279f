import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { ShellMode } from "@/frontends/repl/shell-mode.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { withoutSandbox } from "@/sandbox/types.ts";
import { readEnv } from "@/store/env.ts";
import { createShells } from "@/tools/shell.ts";

function open(shell?: string) {
  const printed: string[] = [];
  let notify = (): void => {};
  const mode = new ShellMode({
    app: {
      env: readEnv({ HOME: "/nonexistent", ...(shell && { SHELL: shell }) }),
      cwd: tmpdir(),
      services: {
        shells: createShells(createWatchdog({}), withoutSandbox()),
        childEnv: () => ({ PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: "/nonexistent" }),
      } as never,
    },
    place: () => ({ agentId: "a", conversationId: "c" }),
    print: (lines) => {
      printed.push(...lines);
      notify();
    },
    paintError: (text) => text,
    now: () => 0,
  });
  const untilPrinted = (text: string): Promise<void> =>
    new Promise((resolve) => {
      notify = () => printed.includes(text) && resolve();
      notify();
    });
  return { mode, printed, untilPrinted };
}

test.each([undefined, "/bin/bash"])("output is shown line by line and kept for the model (SHELL %p)", async (shell) => {
  const { mode, printed } = open(shell);
  await mode.run("echo one; printf 'two \\033[31mred\\033[0m' >&2; (exit 3)");
  expect(printed).toEqual(["one", "two red", "exit code 3"]);
  expect(mode.takeNotes()).toEqual([
    [
      "The user ran this command in their own shell; it was not you.",
      "<bash-input>echo one; printf 'two \\033[31mred\\033[0m' >&2; (exit 3)</bash-input>",
      "<bash-output>one\ntwo red\nexit code: 3</bash-output>",
    ].join("\n"),
  ]);
  expect(mode.takeNotes()).toEqual([]);
  expect(mode.startedAt).toBeNull();
});

test("quotes reach the shell as they were typed", async () => {
  const { mode, printed } = open("/bin/bash");
  await mode.run(`printf '%s\\n' "it's" 'a "b"' $((1+1))`);
  expect(printed).toEqual(["it's", 'a "b"', "2"]);
});

test("interrupting stops the command and what it started", async () => {
  const { mode, printed, untilPrinted } = open();
  const done = mode.run("sh -c 'echo started; sleep 60'; echo never");
  await untilPrinted("started");
  mode.kill();
  await done;
  expect(printed[0]).toBe("started");
  expect(printed).not.toContain("never");
});

test("a long output keeps its end for the model", async () => {
  const { mode } = open();
  await mode.run("seq 1 20000");
  const [note] = mode.takeNotes();
  expect(note?.length).toBeLessThan(31_000);
  expect(note).toContain("\n20000</bash-output>");
});
