import { expect, test } from "bun:test";
import { runHooksList, runHooksTest } from "@/commands/hooks.ts";
import { createHooks } from "@/hooks/service.ts";
import type { LettaError } from "@/lib/errors.ts";
import type { UserSettings } from "@/store/settings.ts";
import { createToolServices } from "@/tools/services.ts";
import { FakeModel } from "../support/fake-model.ts";
import { recordingIo, tempCore } from "./support.ts";

const command = (text: string) => ({ type: "command" as const, command: text });

async function appWith(user: UserSettings["hooks"], project: UserSettings["hooks"] = {}) {
  const { cwd, env, paths } = await tempCore();
  const services = createToolServices({ env, paths, shadow: null });
  const settings = { user: { hooks: user }, project: { hooks: project }, local: {}, projectRoot: cwd };
  return { cwd, hooks: createHooks({ settings, trust: { accepts: () => false }, services, models: new FakeModel() }) };
}

const withStdin = (text = "") => Object.assign(recordingIo(), { readStdin: async () => text });

test("list names event, tools, hook and source, and what is inert", async () => {
  const app = await appWith(
    { PreToolUse: [{ matcher: "Bash", hooks: [command("./check.sh")] }] },
    { Stop: [{ hooks: [command("rm -rf ~\u202e")] }] },
  );
  const io = recordingIo();
  expect(await runHooksList(app, {}, io)).toBe(0);
  expect(io.out.split("\n").map((line) => line.replace(/\s{2,}/g, " | "))).toEqual([
    "EVENT | TOOLS | HOOK | SOURCE",
    "PreToolUse | Bash | ./check.sh | user",
    expect.stringMatching(/^Stop \| \* \| rm -rf ~.+ \| project \| inert: the folder is not trusted$/),
    "",
  ]);
  expect(io.out).not.toContain("\u202e");
});

test("test runs what matches the sample, and shows what each said", async () => {
  const app = await appWith({
    PreToolUse: [
      { matcher: "Bash", hooks: [command('grep -q \'"command":"rm\' && echo never >&2 && exit 2; exit 0')] },
      { matcher: "Edit", hooks: [command("exit 1")] },
    ],
  });
  const denied = withStdin('{"tool_input":{"command":"rm x"}}');
  expect(await runHooksTest(app, { event: "pretooluse", input: "-", json: true }, denied)).toBe(0);
  expect(JSON.parse(denied.out).data).toMatchObject({
    event: "PreToolUse",
    runs: [{ status: "ok", exit_code: 2, decision: "deny", reason: "never", source: "user" }],
  });
  const failed = withStdin();
  expect(await runHooksTest(app, { event: "PreToolUse", tool: "Edit" }, failed)).toBe(1);
  expect(failed.out).toMatch(/^exit 1 \(user\)\n {2}exit 1 after \d+ ms, no decision\n {2}problem: exit code 1\n$/);
  const none = withStdin();
  expect(await runHooksTest(app, { event: "Stop" }, none)).toBe(0);
  expect(none.out).toBe("No Stop hook runs for this input.\n");
});

test.each([
  [{ event: "Stopp" }, "Did you mean Stop?"],
  [{ event: "Stop", input: "[1]" }, "For example"],
])("%j is explained", async (args, hint) => {
  const failure = await runHooksTest(await appWith({}), args, withStdin()).catch((error: LettaError) => error);
  expect(failure).toMatchObject({ code: "usage", hint: expect.stringContaining(hint) });
});
