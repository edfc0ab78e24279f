// Secrets of the compiled binary: a command can use them, the model, the terminal and the disk never see them.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runLetta, type TempHome, tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { CHAT, headless, PROTOCOLS } from "../support/protocols.ts";
import { openPty } from "../support/pty.ts";

const VALUE = "v4lue-nobody-may-see";
const bash = (command: string, id = "a") => ({ id, name: "Bash", args: { command } });

/** Everything under the home but the secrets' own file. */
function filesWith(home: TempHome, text: string): string[] {
  return readdirSync(home.path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "local-agent-secrets.json")
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}

test("set by a pipe, used by name, seen by nobody", async () => {
  using home = tempHome();
  await using server = await startModelServer([
    { text: "hello" },
    {
      toolCalls: [
        bash(
          'test "$DEPLOY_TOKEN" = "v4lue-nobody""-may-see" && echo right; echo $DEPLOY_TOKEN; echo $DEPLOY_TOKEN | base64',
          "a",
        ),
        bash("printenv DEPLOY_TOKEN || echo unset", "b"),
        bash('printf %s "$DEPLOY_TOKEN" > written', "c"),
        { id: "d", name: "Read", args: { file_path: join(home.workdir, "written") } },
      ],
    },
    { text: "done" },
  ]);
  const { env } = headless(server.url, []);
  const run = (...args: string[]) => runLetta(headless(server.url, args).args, { home, env });
  await run("hi");
  const set = await runLetta(["secret", "set", "DEPLOY_TOKEN"], { home, stdin: `${VALUE}\n` });
  expect(set).toMatchObject({ exitCode: 0, stderr: "" });
  expect(set.stdout).not.toContain(VALUE);
  const listed = await runLetta(["secret", "list"], { home });
  expect(listed.stdout).toBe("DEPLOY_TOKEN\n");
  const used = await run("--continue", "--yolo", "--output-format", "stream-json", "deploy");
  expect(used.exitCode).toBe(0);
  const results = server.requests[2]!.toolResults.map(({ text }) => text);
  expect(results[0]).toStartWith("right\nDEPLOY_TOKEN=<REDACTED>\nDEPLOY_TOKEN=<REDACTED>");
  expect(results[1]).toBe("unset");
  expect(results[3]).toContain("DEPLOY_TOKEN=<REDACTED>");
  expect(JSON.stringify(server.requests)).not.toContain(VALUE);
  expect(JSON.stringify(server.requests[1]!.messages)).toContain("`$DEPLOY_TOKEN`");
  expect(used.stdout + used.stderr).not.toContain(VALUE);
  expect(filesWith(home, VALUE)).toEqual([join(home.workdir, "written")]);
});

test("the provider's own key does not come back in a result", async () => {
  using home = tempHome();
  await using server = await startModelServer([
    { toolCalls: [bash("tr '\\0' '\\n' < /proc/$PPID/environ | grep -a ANTHROPIC_API_KEY")] },
    { text: "done" },
  ]);
  const anthropic = PROTOCOLS[0]!;
  const { args, env } = headless(server.url, ["--yolo", "go"], anthropic);
  await runLetta(args, { home, env: { ...env, ANTHROPIC_API_KEY: "anthropic-key-0815" } });
  expect(server.requests[1]!.toolResults[0]?.text).toBe("ANTHROPIC_API_KEY=ANTHROPIC_API_KEY=<REDACTED>");
});

test("known shapes are taken out when the user wants it; a repository has no say", async () => {
  using home = tempHome();
  const token = `ghp_${"a1B2".repeat(9)}`;
  await Bun.write(join(home.workdir, "leak.txt"), `token ${token}\n`);
  await Bun.write(join(home.workdir, ".letta/settings.json"), '{"redaction":"off"}');
  const read = async () => {
    const call = { id: "a", name: "Read", args: { file_path: join(home.workdir, "leak.txt") } };
    await using server = await startModelServer([{ toolCalls: [call] }, { text: "done" }]);
    const { args, env } = headless(server.url, ["go"]);
    await runLetta(args, { home, env });
    return server.requests[1]!.toolResults[0]!.text;
  };
  expect(await read()).toContain(token);
  await Bun.write(join(home.path, ".letta/settings.json"), '{"redaction":"known+patterns"}');
  expect(await read()).toContain("token <REDACTED GitHub token>");
});

test("on a terminal: /secret shows and remembers no value", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ toolCalls: [bash(`echo "<$MY_TOKEN>"`)] }, { text: "All done." }]);
  const args = ["--backend", "local", "--model", CHAT.handle, "--yolo"];
  await using letta = await openPty(args, { home, env: CHAT.env(server.url) });
  await letta.waitFor(/> $/m);
  letta.type("/secret set MY_TOKEN two words\r");
  const kept = await letta.waitFor(/MY_TOKEN is kept/);
  letta.type("use it\r");
  const used = await letta.waitFor(/<MY_TOKEN=<REDACTED>>/, kept);
  const done = await letta.waitFor(/All done\./, used);
  expect(server.requests[1]!.toolResults[0]?.text).toBe("<MY_TOKEN=<REDACTED>>");
  letta.type("/secret\r");
  const listed = await letta.waitFor(/\$MY_TOKEN/, done);
  // Until then the command is still running and would refuse the next one.
  await letta.waitFor(/> $/m, listed);
  letta.type("/secret unset MY_TOKEN\r");
  await letta.waitFor(/MY_TOKEN is forgotten/, listed);
  expect(letta.text().slice(kept)).not.toContain("two words");
  letta.type("/exit\r");
  expect(await letta.exited).toBe(0);
  expect(filesWith(home, "two words")).toEqual([]);
});
