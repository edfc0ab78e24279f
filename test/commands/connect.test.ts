import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import type { Core } from "@/app.ts";
import { type ConnectArgs, runConnect } from "@/commands/connect.ts";
import { runModelList, runModelSet } from "@/commands/model.ts";
import { runProvidersList, runProvidersRemove, runProvidersTest } from "@/commands/providers.ts";
import { codeOf } from "@/lib/errors.ts";
import { openSecrets } from "@/store/secrets.ts";
import { type ModelServerOptions, startModelServer } from "../support/model-server.ts";
import { type RecordedIo, recordingIo, tempCore } from "./support.ts";

/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:9";

async function core(vars: Record<string, string> = {}): Promise<Core> {
  const base = await tempCore({
    LETTA_SKIP_KEYCHAIN_CHECK: "1",
    OLLAMA_BASE_URL: NOWHERE,
    LMSTUDIO_BASE_URL: NOWHERE,
    LLAMA_CPP_BASE_URL: NOWHERE,
    ...vars,
  });
  return { ...base, secrets: openSecrets({ env: base.env, paths: base.paths, keychain: null }) };
}

interface Answers {
  stdin?: string;
  secret?: string;
  line?: string;
}

function io(answers: Answers = {}): RecordedIo & { readStdin(): Promise<string> } {
  const { stdin = "", secret, line } = answers;
  return Object.assign(recordingIo(), {
    readStdin: async () => stdin,
    ...(secret === undefined ? {} : { askSecret: async () => secret }),
    ...(line === undefined ? {} : { ask: async () => line }),
  });
}

async function connect(on: Core, args: ConnectArgs, answers: Answers = {}) {
  const recorded = io(answers);
  const exit = await runConnect(on, { json: true, ...args }, recorded);
  return { exit, ...JSON.parse(recorded.out), err: recorded.err, out: recorded.out };
}

const server = (options: ModelServerOptions = {}) => startModelServer([], options);

test("a local server is asked for its models and needs no key", async () => {
  await using far = await server({ models: [{ id: "qwen", contextWindow: 40960 }] });
  const on = await core();
  const { ok, data } = await connect(on, { provider: "lmstudio", "base-url": far.url });
  expect(ok).toBe(true);
  expect(data).toEqual({
    name: "lmstudio",
    provider: "lmstudio",
    baseUrl: `${far.url}/v1`,
    verified: true,
    keyChecked: false,
    keyStoredIn: null,
    models: [{ handle: "lmstudio/qwen", contextWindow: 40960 }],
    next: ["letta --model lmstudio/qwen", "letta model set lmstudio/qwen"],
  });
  expect(await on.secrets.findKey("lmstudio")).toBeNull();
});

test("a connection of the user's own name is connected again by that name, where only the key differs", async () => {
  await using far = await server({ models: [{ id: "qwen" }], requireKey: "new-key" });
  const on = await core();
  const first = { provider: "openai-compatible", name: "mine", "base-url": far.url, "context-window": "32k" };
  await connect(on, { ...first, "no-verify": true, key: "-" }, { stdin: "old-key" });
  const { data } = await connect(on, { provider: "mine", key: "-" }, { stdin: "new-key" });
  expect(data).toMatchObject({ name: "mine", provider: "openai-compatible", baseUrl: `${far.url}/v1`, verified: true });
  expect(await on.secrets.findKey("mine")).toBe("new-key");
  const [record] = await on.secrets.listProviders();
  expect(record?.contextWindows).toEqual({ "*": 32768 });
});

test("text for people names models and what to type next, never the key", async () => {
  await using far = await server({ models: [{ id: "claude-sonnet-5-5" }], requireKey: "right-key" });
  const on = await core();
  const recorded = io({ stdin: "right-key\n" });
  await runConnect(on, { provider: "anthropic", key: "-", "base-url": far.url }, recorded);
  expect(recorded.out).toContain("Connected anthropic");
  expect(recorded.out).toContain("anthropic/claude-sonnet-5-5");
  expect(recorded.out).toContain("Next:  letta --model anthropic/claude-sonnet-5-5");
  expect(recorded.out + recorded.err).not.toContain("right-key");
  expect(await on.secrets.findKey("anthropic")).toBe("right-key");
  expect(far.listings[0]?.keys).toEqual(["right-key"]);
});

test("a refused key is not stored and ends with 3", async () => {
  await using far = await server({ requireKey: "right-key" });
  const on = await core();
  const { exit, error, out } = await connect(on, { provider: "openai", "base-url": far.url }, { secret: "wrong-key" });
  expect([exit, error.code]).toEqual([3, "auth"]);
  expect(error.hint).toContain("Nothing was stored");
  expect(out).not.toContain("wrong-key");
  expect(await on.secrets.listProviders()).toEqual([]);
});

test("a dead address is not stored, unless told so", async () => {
  const on = await core();
  const dead = { provider: "lmstudio", "base-url": NOWHERE };
  expect(await connect(on, dead)).toMatchObject({ exit: 1, error: { code: "network" } });
  expect(await on.secrets.listProviders()).toEqual([]);
  expect(await connect(on, { ...dead, "no-verify": true })).toMatchObject({ ok: true, data: { verified: false } });
  expect(await on.secrets.listProviders()).toMatchObject([{ name: "lmstudio", baseUrl: `${NOWHERE}/v1` }]);
});

test("a key in argv is accepted with a warning", async () => {
  await using far = await server();
  const { ok, err } = await connect(await core(), { provider: "openai", key: "sk-visible", "base-url": far.url });
  expect(ok).toBe(true);
  expect(err).toContain("visible to other users");
  expect(err).not.toContain("sk-visible");
});

test("without a terminal the key comes from the environment, or it is a usage error", async () => {
  await using far = await server({ requireKey: "from-env" });
  const args = { provider: "openai", "base-url": far.url };
  expect(await connect(await core({ OPENAI_API_KEY: "from-env" }), args)).toMatchObject({ ok: true });
  const refused = await connect(await core(), args);
  expect(refused).toMatchObject({ exit: 2, error: { code: "usage" } });
  expect(refused.error.hint).toContain("OPENAI_API_KEY");
});

test.each([
  [{}, "which provider?"],
  [{ provider: "antropic" }, 'unknown provider "antropic"'],
  [{ provider: "openai-compatible" }, "needs --base-url"],
  [{ provider: "openai-compatible", "base-url": "not a url", key: "k" }, "is not an address"],
  [{ provider: "openai-compatible", "base-url": NOWHERE, name: "a/b" }, "cannot be part of a model handle"],
  [{ provider: "openai-compatible", "base-url": NOWHERE, name: "anthropic" }, "would hide Anthropic"],
  [{ provider: "openai", key: "a", "api-key": "b" }, "the key was given twice"],
  [{ provider: "openai", key: "two words" }, "white space"],
  [{ provider: "ollama", timeout: "soon" }, "--timeout takes"],
] as [ConnectArgs, string][])("refused: %j", async (args, message) => {
  const { exit, error } = await connect(await core(), args);
  expect(exit).toBe(2);
  expect(error.message).toContain(message);
});

test("several endpoints of one kind, each under its own name", async () => {
  await using one = await server({ models: [{ id: "a", contextWindow: 8192 }] });
  await using two = await server({ models: [{ id: "b", contextWindow: 8192 }] });
  const on = await core();
  await connect(on, { provider: "openai-compatible", "base-url": one.url, name: "home" });
  await connect(on, { provider: "openai-compatible", "base-url": two.url, name: "work" });
  const recorded = recordingIo();
  await runModelList(on, { format: "json" }, recorded);
  expect(JSON.parse(recorded.out).map(({ handle }: { handle: string }) => handle)).toEqual(["home/a", "work/b"]);
});

test.each([
  [{ "context-window": "32k" }, {}, 32768],
  [{ json: false }, { line: "16384" }, 16384],
] as [ConnectArgs, Answers, number][])(
  "an unreported context window is taken from the user: %j",
  async (args, answers, tokens) => {
    await using far = await server({ models: [{ id: "m", contextWindow: null }], engines: [] });
    const on = await core();
    const recorded = io(answers);
    await runConnect(on, { provider: "openai-compatible", "base-url": far.url, name: "mine", ...args }, recorded);
    expect((await on.secrets.listProviders())[0]?.contextWindows).toEqual({ m: tokens });
  },
);

test("an unreported context window that nobody knows is said, not guessed", async () => {
  await using far = await server({ models: [{ id: "m", contextWindow: null }], engines: [] });
  const { data, err } = await connect(await core(), { provider: "vllm", "base-url": far.url });
  expect(data.models).toEqual([{ handle: "vllm/m", contextWindow: null }]);
  expect(err).toContain("--context-window");
});

test("timeouts and AWS fields are remembered", async () => {
  const on = await core();
  await connect(
    on,
    {
      provider: "bedrock",
      region: "eu-central-1",
      "access-key": "AKIA",
      "secret-key": "-",
      timeout: "10m",
      "no-verify": true,
    },
    { stdin: "shh" },
  );
  expect(await on.secrets.listProviders()).toMatchObject([
    { name: "amazon-bedrock", region: "eu-central-1", accessKey: "AKIA", timeoutMs: 600_000 },
  ]);
  expect(await on.secrets.findKey("amazon-bedrock")).toBe("shh");
  expect(statSync(on.paths.providerAuth).mode & 0o777).toBe(0o600);
});

test("list, test and remove tell stored from environment", async () => {
  await using far = await server({ requireKey: "k" });
  const on = await core({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: far.url });
  await connect(on, { provider: "anthropic", "base-url": far.url }, { secret: "k" });
  const list = recordingIo();
  await runProvidersList(on, { json: true }, list);
  expect(JSON.parse(list.out).data.slice(0, 2)).toMatchObject([
    { name: "anthropic", source: "stored", key: on.paths.providerAuth, reachable: true, error: null },
    { name: "openai", source: "env", key: "OPENAI_API_KEY", reachable: true, error: null },
  ]);
  const tested = recordingIo();
  expect(await runProvidersTest(on, { name: "openai" }, tested)).toBe(0);
  expect(tested.out).toBe("openai: ok, 1 model\n");
  const removed = recordingIo();
  await runProvidersRemove(on, { name: "anthropic" }, removed);
  expect(removed.out).toBe("Removed anthropic; no key of it is kept.\n");
  expect(readFileSync(on.paths.providerAuth, "utf8")).not.toContain("anthropic");
  expect(runProvidersRemove(on, { name: "openai" }, recordingIo()).catch(codeOf)).resolves.toBe("usage");
  expect(runProvidersRemove(on, { name: "nobody" }, recordingIo()).catch(codeOf)).resolves.toBe("not_found");
});

test("test fails with the exit code of what is wrong", async () => {
  await using far = await server({ requireKey: "right" });
  const on = await core({ OPENAI_API_KEY: "wrong", OPENAI_BASE_URL: far.url });
  const tested = recordingIo();
  expect(await runProvidersTest(on, {}, tested)).toBe(3);
  expect(tested.out).toContain("openai: failed: OpenAI: 401");
  expect(tested.out).toContain("Check OPENAI_API_KEY");
});

test("model set resolves before it saves", async () => {
  await using far = await server({ models: [{ id: "qwen3" }] });
  const on = await core({ LMSTUDIO_BASE_URL: far.url });
  const recorded = recordingIo();
  await runModelSet(on, { handle: "lmstudio/qwen" }, recorded);
  expect(on.settings.user.defaultModel).toBe("lmstudio/qwen");
  expect(recorded.err).toContain("Did you mean lmstudio/qwen3?");
  expect(runModelSet(on, { handle: "nobody/x" }, recordingIo()).catch(codeOf)).resolves.toBe("not_found");
  expect(runModelSet(on, { handle: "openai/x" }, recordingIo()).catch(codeOf)).resolves.toBe("no_provider");
  expect(on.settings.user.defaultModel).toBe("lmstudio/qwen");
});

test("model list marks the default and filters by provider", async () => {
  await using far = await server({ models: [{ id: "m", contextWindow: 131072, vision: true }] });
  const on = await core({ LMSTUDIO_BASE_URL: far.url });
  const recorded = recordingIo({ isTty: true });
  await runModelList(on, { provider: "lm-studio" }, recorded);
  expect(recorded.out).toMatch(/^\* +lmstudio\/m +131k +unknown +see$/m);
  expect(runModelList(on, { provider: "nobody" }, recordingIo()).catch(codeOf)).resolves.toBe("not_found");
});
