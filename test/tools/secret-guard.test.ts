import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HARNESS_SECRET, openAgentSecrets } from "@/store/agent-secrets.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSecrets } from "@/store/secrets.ts";
import type { UserSettings } from "@/store/settings.ts";
import { bashTool } from "@/tools/bash.ts";
import type { AnyTool, ToolContext, ToolResult } from "@/tools/define-tool.ts";
import { execCommandTool } from "@/tools/exec-command.ts";
import { monitorTool } from "@/tools/monitor.ts";
import { createSecretGuard, namesVariable } from "@/tools/secret-guard.ts";
import { createToolServices } from "@/tools/services.ts";
import { writeStdinTool } from "@/tools/write-stdin.ts";
import { until } from "./support.ts";

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

const VALUE = "s3cr3t-value-of-the-agent";

async function open(user: UserSettings = {}, vars: Record<string, string> = {}) {
  const home = mkdtempSync(join(tmpdir(), "letta-guard-"));
  const env = readEnv({ HOME: home, PATH: process.env.PATH, LETTA_SKIP_KEYCHAIN_CHECK: "1", ...vars });
  const paths = resolvePaths(env);
  const agentSecrets = openAgentSecrets({ env, paths, keychain: null });
  const secrets = openSecrets({ env, paths, keychain: null });
  const guard = createSecretGuard({ env, paths, settings: { user }, secrets, agentSecrets });
  const services = createToolServices({ env, paths, shadow: null, secrets: guard });
  closing.push(async () => {
    await services.background.stopAll();
    rmSync(home, { recursive: true, force: true });
  });
  await agentSecrets.set("agent-1", "TOKEN", VALUE);
  await guard.refresh();
  let live = "";
  const context: ToolContext = {
    agentId: "agent-1",
    conversationId: "conv-1",
    turnId: "turn-1",
    toolCallId: "call-1",
    cwd: home,
    signal: new AbortController().signal,
    services,
    onOutput: (text) => {
      live += text;
    },
  };
  const bash = async (command: string, patch = {}) => {
    const result = await bashTool.run(bashTool.parse({ command, ...patch }), context);
    return typeof result === "string" ? result : String(result.output);
  };
  return { context, home, guard, agentSecrets, secrets, services, bash, paths, live: () => live };
}

test.each([
  ["echo $TOKEN", true],
  [`echo \${TOKEN}`, true],
  [`echo \${TOKEN:-x} \${#TOKEN}`, true],
  [`echo \${!TOKEN}`, true],
  ["echo $TOKENS", false],
  ["printenv TOKEN", false],
  ["echo $MY_TOKEN", false],
  ["Write-Output $env:TOKEN", true],
])("%s names it: %p", (command, expected) => expect(namesVariable(command, "TOKEN")).toBe(expected));

test("a command gets the secrets it names, and nothing shows their values", async () => {
  const { bash, live } = await open();
  expect(await bash(`printenv TOKEN; test -n "\${TOKEN}" && echo "$TOKEN" && printf %s "$TOKEN" | base64`)).toBe(
    "TOKEN=<REDACTED>\nTOKEN=<REDACTED>\nTOKEN=<REDACTED>",
  );
  expect(live()).not.toContain(VALUE);
  expect(await bash("printenv TOKEN; echo none")).toBe("none");
});

test("no command gets the token of a memory's remote, and none shows it", async () => {
  const { bash, agentSecrets, guard } = await open();
  const name = `${HARNESS_SECRET}HOST_1234`;
  await agentSecrets.set("agent-1", name, "of-the-remote");
  await guard.refresh();
  expect(await guard.envFor("agent-1", `echo $${name}`)).toEqual({});
  expect(await bash(`echo "[$${name}]" of-the-remote`)).toBe(`[] ${name}=<REDACTED>`);
});

test("values that arrive in pieces, with colours between, are found in text and live output", async () => {
  const { bash, live } = await open();
  const pieces = `printf '\\033[1m'; for part in ${VALUE.match(/.{1,5}/g)!.join(" ")}; do printf %s "$part"; sleep 0.02; printf '\\033[0m'; done; echo`;
  expect(await bash(pieces)).toBe("TOKEN=<REDACTED>");
  expect(live()).toBe("TOKEN=<REDACTED>\n");
});

test("overflow and background files hold no values", async () => {
  const { bash, paths, services } = await open();
  const output = await bash('for i in $(seq 3000); do echo "$i $TOKEN"; done');
  expect(output).toContain("Full output written to");
  const files = readdirSync(paths.projects, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files).toHaveLength(1);
  expect(readFileSync(join(files[0]!.parentPath, files[0]!.name), "utf8")).not.toContain(VALUE);
  const told = Promise.withResolvers<string>();
  services.background.onFinished((_, notification) => told.resolve(notification));
  await bash('echo "$TOKEN"', { run_in_background: true });
  expect(await told.promise).not.toContain(VALUE);
  const task = services.background.list()[0]!;
  expect(readFileSync(task.outputFile, "utf8")).toBe("TOKEN=<REDACTED>\n[exit code: 0]\n");
});

test("provider keys, secret variables and new secrets are known; plain words are not", async () => {
  const vars = { LETTA_API_KEY: "letta-key-1", GH_TOKEN: "gh-token-12", DB_PASSWORD: "password" };
  const { guard, secrets, agentSecrets } = await open({}, vars);
  const record = { name: "mine", providerType: "openai-compatible", createdAt: "", updatedAt: "" };
  await secrets.saveProvider(record, "stored-key-1");
  await agentSecrets.set("agent-2", "OTHER", "of-another-agent");
  const redactor = await guard.refresh();
  expect(redactor.redact("letta-key-1 gh-token-12 password stored-key-1 of-another-agent")).toBe(
    "LETTA_API_KEY=<REDACTED> GH_TOKEN=<REDACTED> password MINE_KEY=<REDACTED> OTHER=<REDACTED>",
  );
});

test("the setting decides", async () => {
  const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w";
  const show = async (redaction: UserSettings["redaction"]) =>
    (await open({ redaction })).guard.redactor.redact(`${VALUE} ${jwt}`);
  expect(await show("off")).toBe(`${VALUE} ${jwt}`);
  expect(await show("known")).toBe(`TOKEN=<REDACTED> ${jwt}`);
  expect(await show("known+patterns")).toBe("TOKEN=<REDACTED> <REDACTED JWT>");
});

test("nothing is created by looking", async () => {
  const home = mkdtempSync(join(tmpdir(), "letta-guard-"));
  const env = readEnv({ HOME: home });
  const paths = resolvePaths(env);
  const agentSecrets = openAgentSecrets({ env, paths, keychain: null });
  const secrets = openSecrets({ env, paths, keychain: null });
  const guard = createSecretGuard({ env, paths, settings: { user: {} }, secrets, agentSecrets });
  expect((await guard.refresh()).idle).toBe(true);
  expect(existsSync(join(home, ".letta"))).toBe(false);
  rmSync(home, { recursive: true });
});

test("programs a model talks to get and show no more", async () => {
  const { context, services } = await open();
  const run = async (tool: AnyTool, args: object) =>
    String(((await tool.run(tool.parse(args), context)) as ToolResult).output);
  const started = await run(execCommandTool as AnyTool, {
    cmd: 'printf "got $TOKEN, more: "; read line; echo "$line"',
    tty: true,
    yield_time_ms: 1_000,
  });
  expect(started).toContain("got TOKEN=<REDACTED>, more:");
  const id = Number(/session ID (\d+)/.exec(started)?.[1]);
  const typed = await run(writeStdinTool as AnyTool, { session_id: id, chars: `${VALUE}\n`, yield_time_ms: 1_000 });
  expect(typed).not.toContain(VALUE);
  expect(typed).toContain("TOKEN=<REDACTED>");
  expect(readFileSync(services.background.find(String(id))!.outputFile, "utf8")).not.toContain(VALUE);
});

test("a watched command: neither its events nor the file of its stderr", async () => {
  const { context, services } = await open();
  const told: string[] = [];
  services.background.onFinished((_, text) => told.push(text));
  const command = `echo "out $TOKEN"; printf %s "$TOKEN" | base64 -w 12; echo "err $TOKEN" >&2; printf %s "$TOKEN" | base64 -w 12 >&2`;
  const args = monitorTool.parse({ description: "it", command });
  const { output } = (await monitorTool.run(args, context)) as ToolResult;
  const encoded = Buffer.from(VALUE).toString("base64");
  await until(() => told.some((text) => text.includes("ended")));
  const events = told.join("\n");
  expect(events).toContain("out TOKEN=&lt;REDACTED&gt;\nTOKEN=&lt;REDACTED&gt;");
  const errors = readFileSync(/Its stderr: (.*)/.exec(String(output))![1]!, "utf8");
  expect(errors).toStartWith("err TOKEN=<REDACTED>\nTOKEN=<REDACTED>");
  for (const text of [events, errors])
    for (let at = 0; at + 8 < encoded.length; at += 4) expect(text).not.toContain(encoded.slice(at, at + 8));
});

test("the end of a session comes whole when it looks like the beginning of a value", async () => {
  const { context } = await open();
  const args = execCommandTool.parse({ cmd: `printf 'ends in ${VALUE.slice(0, 5)}'` });
  expect(String(((await execCommandTool.run(args, context)) as ToolResult).output)).toEndWith(
    `ends in ${VALUE.slice(0, 5)}`,
  );
});

test("what may not be looked at any more stays known, and is no error", async () => {
  const { guard, file } = await openWithFile();
  rmSync(file);
  // Looking at it fails, as it does where a sandbox hides it.
  symlinkSync(file, file);
  expect((await guard.refresh()).redact(`echo ${VALUE}`)).not.toContain(VALUE);
});

async function openWithFile() {
  const home = mkdtempSync(join(tmpdir(), "letta-guard-"));
  closing.push(async () => rmSync(home, { recursive: true, force: true }));
  const env = readEnv({ HOME: home, LETTA_SKIP_KEYCHAIN_CHECK: "1" });
  const paths = resolvePaths(env);
  const agentSecrets = openAgentSecrets({ env, paths, keychain: null });
  const secrets = openSecrets({ env, paths, keychain: null });
  const guard = createSecretGuard({ env, paths, settings: { user: {} }, secrets, agentSecrets });
  await agentSecrets.set("agent-1", "TOKEN", VALUE);
  await guard.refresh();
  return { guard, file: agentSecrets.file };
}
