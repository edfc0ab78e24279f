// The compiled binary on a pseudo-terminal against a scripted model server: what only the real thing shows.

import { expect, test } from "bun:test";
import { runLetta, tempHome } from "../../support/binary.ts";
import { startModelServer } from "../../support/model-server.ts";
import { openPty } from "../../support/pty.ts";

test("type, approve, watch, interrupt the tool, leave; the next sitting goes on", async () => {
  await using server = await startModelServer([
    {
      // A question takes no keys while someone types: it opens a moment after the message was sent.
      delayMs: 600,
      text: "Running it.",
      toolCalls: [
        { name: "Bash", args: { command: "python3 -c 'import time; print(41 + 1, flush=True); time.sleep(60)'" } },
      ],
    },
    { text: "Understood." },
  ]);
  using home = tempHome();
  await runLetta(["connect", "lmstudio", "--base-url", server.url, "--backend", "local"], { home });
  await using letta = await openPty([], { home });
  let at = await letta.waitFor(/lmstudio\/m\n*> /);
  letta.type("go\r");
  at = await letta.waitFor(/Run this command\?[\s\S]*1\. Yes/, at);
  letta.type("1");
  at = await letta.waitFor(/42[\s\S]*Running Bash/, at);
  letta.type("later\r");
  at = await letta.waitFor(/queued \(1\)/, at);
  letta.type("\x03");
  at = await letta.waitFor(/Interrupted[\s\S]*1 queued message held/, at);
  letta.type("\r");
  at = await letta.waitFor(/Understood\./, at);
  letta.type("\x04");
  expect(await letta.exited).toBe(0);

  await using again = await openPty([], { home });
  await again.waitFor(/> go[\s\S]*Bash[\s\S]*> later[\s\S]*Understood\.[\s\S]*> /);
  again.type("\x03\x03");
  expect(await again.exited).toBe(0);
}, 60_000);
