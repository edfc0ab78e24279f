import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { BASH_REMINDER_CHARS } from "@/frontends/repl/limits.ts";
import { ShellMode } from "@/frontends/repl/shell-mode.ts";
import { createRedactor } from "@/lib/redactor.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { withoutSandbox } from "@/sandbox/types.ts";
import { readEnv } from "@/store/env.ts";
import { NO_SECRET_GUARD } from "@/tools/secret-guard.ts";
import { createShells } from "@/tools/shell.ts";

function open(shell?: string, secrets = NO_SECRET_GUARD) {
  const printed: string[] = [];
  let notify = (): void => {};
  const mode = new ShellMode({
    app: {
      env: readEnv({ HOME: "/nonexistent", ...(shell && { SHELL: shell }) }),
      cwd: tmpdir(),
      services: {
        secrets,
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

test("what is kept for the model has no secret in it, not half of one either", async () => {
  const redactor = createRedactor([{ name: "TOKEN", value: "s3cr3t-value" }]);
  const { mode, printed } = open(undefined, { ...NO_SECRET_GUARD, refresh: async () => redactor });
  // The cut falls into the first one.
  await mode.run(
    `echo s3cr3t-value; head -c ${BASH_REMINDER_CHARS - 8} /dev/zero | tr '\\0' x; echo; echo s3cr3t-value`,
  );
  expect(printed[0]).toBe("s3cr3t-value");
  const [note] = mode.takeNotes();
  expect(note!.slice(note!.indexOf("<bash-output>"))).not.toMatch(/s3cr|3cr3t|value/);
  expect(note).toEndWith("x\nTOKEN=<REDACTED></bash-output>");
});
