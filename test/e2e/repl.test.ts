// Line mode as a person has it: the compiled binary on an 80-column terminal, against a scripted model.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { CHAT } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

const ARGS = ["--backend", "local", "--model", CHAT.handle];

test("what is typed while it streams waits for the end of the turn", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await startModelServer([
    { text: ["The first ", "answer."], gate: gate.promise },
    { text: "The second answer." },
  ]);
  await using letta = await openPty(ARGS, { env: CHAT.env(server.url) });
  await letta.waitFor(/> $/m);
  letta.type("one\r");
  await letta.waitFor(/The first/);
  letta.type("two\r");
  await letta.waitFor(/queued \(1\)/);
  expect(server.requests).toHaveLength(1);
  gate.resolve();
  await letta.waitFor(/The first answer\..*The second answer\./s);
  expect(server.requests[1]!.messages.at(-1)).toMatchObject({ role: "user", text: expect.stringContaining("two") });
});

test("Ctrl-C stops the running command; on an empty line twice it leaves; the next sitting goes on", async () => {
  using home = tempHome();
  await using server = await startModelServer([
    {
      text: "I will wait.",
      toolCalls: [{ id: "a", name: "Bash", args: { command: "echo begun > begun; sleep 600" } }],
    },
    { text: "Here again." },
  ]);
  const options = { home, env: CHAT.env(server.url) };
  {
    await using letta = await openPty([...ARGS, "--yolo"], options);
    await letta.waitFor(/> $/m);
    letta.type("wait for ever\r");
    await letta.waitFor(/sleep 600/);
    while (!(await Bun.file(join(home.workdir, "begun")).exists())) await Bun.sleep(10);
    letta.type("\x03");
    const stopped = await letta.waitFor(/Interrupted/);
    letta.type("\x03");
    await letta.waitFor(/again to leave/, stopped);
    letta.type("\x03");
    expect(await letta.exited).toBe(0);
    expect(letta.text()).toContain("Come back with letta");
  }
  await using next = await openPty(ARGS, options);
  await next.waitFor(/wait for ever/);
  await next.waitFor(/> $/m);
  // The history of the input line survives, too.
  next.type("\x1b[A\r");
  await next.waitFor(/Here again\./);
  const { messages, toolResults } = server.requests[1]!;
  expect(messages.at(-1)).toMatchObject({ role: "user", text: expect.stringContaining("wait for ever") });
  expect(toolResults).toEqual([{ id: "a", text: expect.stringMatching(/interrupt/i) }]);
});

test("kill -9 in the middle: the next sitting shows what was said", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ text: ["Half of ", "it"], fault: "stall" }]);
  const options = { home, env: CHAT.env(server.url) };
  {
    await using letta = await openPty(ARGS, options);
    await letta.waitFor(/> $/m);
    letta.type("tell me\r");
    await letta.waitFor(/Half of/);
    process.kill(letta.pid, "SIGKILL");
    await letta.exited;
  }
  await using next = await openPty(ARGS, options);
  await next.waitFor(/tell me/);
  await next.waitFor(/Half of/);
});

test("a repository's allow rules are asked about before they count", async () => {
  await using server = await startModelServer([]);
  using home = tempHome();
  await Bun.write(join(home.workdir, ".git/HEAD"), "ref: refs/heads/main\n");
  await Bun.write(join(home.workdir, ".letta/settings.json"), '{"permissions":{"allow":["Bash(:*)"]}}');
  await using letta = await openPty(ARGS, { home, env: CHAT.env(server.url) });
  await letta.waitFor(/trust/i);
  expect(letta.text()).toContain("Bash(:*)");
});

test("plan mode: nothing changes before the plan is agreed to, afterwards edits need no more questions", async () => {
  using home = tempHome();
  const file = join(home.workdir, "a.txt");
  await Bun.write(file, "one\n");
  const edit = { name: "Edit", args: { file_path: file, old_string: "one", new_string: "two" } };
  await using server = await startModelServer([
    // Keys just after other keys do not answer a question.
    { toolCalls: [{ id: "a", name: "EnterPlanMode", args: {} }], delayMs: 500 },
    { toolCalls: [{ ...edit, id: "b" }], delayMs: 500 },
    { toolCalls: [{ id: "c", name: "ExitPlanMode", args: { plan: "# The plan\n\nSay two." } }] },
    { toolCalls: [{ ...edit, id: "d" }] },
    { text: "All done." },
  ]);
  await using letta = await openPty(ARGS, { home, env: CHAT.env(server.url) });
  await letta.waitFor(/> $/m);
  letta.type("plan it\r");
  const asked = await letta.waitFor(/Use EnterPlanMode\?[\s\S]*No, and tell/);
  letta.type("y");
  const plan = await letta.waitFor(/Carry out this plan\?[\s\S]*Say two\.[\s\S]*No, and tell/, asked);
  expect(await Bun.file(file).text()).toBe("one\n");
  letta.type("2");
  await letta.waitFor(/All done\./, plan);
  const results = server.requests[4]!.toolResults.map(({ text }) => text);
  expect(results[0]).toContain("Plan mode is on");
  expect(results[1]).toBe("Permission denied: plan mode changes nothing");
  expect(results[2]).toContain("The user agreed to the plan. Plan mode has ended; the permission mode is standard.");
  expect(results[3]).toContain("Replaced 1 occurrence");
  expect(await Bun.file(file).text()).toBe("two\n");
});
