import { expect, test } from "bun:test";
import { type HookSettings, hasAnyHook, listHooks } from "@/hooks/config.ts";
import { hookScripts } from "@/hooks/scripts.ts";
import type { TrustEntry } from "@/store/trust.ts";

const hook = (command: string) => ({ hooks: [{ type: "command" as const, command }] });
const settings = (patch: Partial<HookSettings>): HookSettings => ({ user: {}, project: {}, local: {}, ...patch });
const trusted = { accepts: () => true };
const untrusted = { accepts: () => false };
const commands = (found: ReturnType<typeof listHooks>) =>
  found.map(({ definition, inert }) => [definition.type === "command" && definition.command, inert ?? "runs"]);

test("personal, then checked in, then the user's", () => {
  const all = settings({
    user: { hooks: { Stop: [hook("user")] } },
    project: { hooks: { Stop: [hook("project")] } },
    local: { hooks: { Stop: [hook("local")] } },
  });
  expect(commands(listHooks(all, trusted))).toEqual([
    ["local", "runs"],
    ["project", "runs"],
    ["user", "runs"],
  ]);
  expect(commands(listHooks(all, untrusted))).toEqual([
    ["local", "the folder is not trusted"],
    ["project", "the folder is not trusted"],
    ["user", "runs"],
  ]);
});

test("trust is asked for exactly what the file says about an event", () => {
  const asked: TrustEntry[] = [];
  const trust = { accepts: (entry: TrustEntry) => asked.push(entry) > 0 };
  const Stop = [{ matcher: "x", ...hook("project") }];
  listHooks(settings({ project: { hooks: { Stop } } }), trust);
  expect(asked).toEqual([{ source: "project", key: "hooks", value: ["Stop", Stop] }]);
});

test.each([
  ["the user's true", { user: { hooks: { disabled: true, Stop: [hook("u")] } } }, trusted, true],
  [
    "a trusted project's true",
    { user: { hooks: { Stop: [hook("u")] } }, project: { hooks: { disabled: true } } },
    trusted,
    true,
  ],
  [
    "an untrusted project's true",
    { user: { hooks: { Stop: [hook("u")] } }, project: { hooks: { disabled: true } } },
    untrusted,
    false,
  ],
  [
    "the user's false against all",
    { user: { hooks: { disabled: false, Stop: [hook("u")] } }, project: { hooks: { disabled: true } } },
    trusted,
    false,
  ],
] satisfies [string, Partial<HookSettings>, typeof trusted, boolean][])("%s", (_, patch, trust, off) => {
  const [first] = listHooks(settings(patch), trust);
  expect(first?.inert).toBe(off ? "hooks are switched off" : undefined);
});

test("without the key there is nothing to look at", () => {
  expect(hasAnyHook(settings({}))).toBe(false);
});

test.each([
  ["./check.sh", "/p/check.sh"],
  ["./check.sh", "/p/sub/check.sh"],
  ["bash -e check.sh --flag | tee /tmp/log.txt", "/p/check.sh"],
  ["bash -e check.sh --flag | tee /tmp/log.txt", "/tmp/log.txt"],
  ["bash check", "/p/check"],
  ["sh ./x.sh<in.json", "/p/sub/in.json"],
  ["node -r ./a.js hooks/x.js", "/p/a.js"],
  ["node --require=./a.js hooks/x.js", "/p/hooks/x.js"],
  ["npx tsx hooks/x.ts", "/p/hooks/x.ts"],
  ["env X=1 ./x", "/p/x"],
  ["X=1 . ./x", "/p/x"],
  ["cd a && ./x", "/p/a/x"],
  ["pushd a; b/x", "/p/sub/a/b/x"],
  ["bash -c 'cd a && ./x.sh'", "/p/a/x.sh"],
  ['cd "$(git rev-parse --show-toplevel)" && tools/x', "/p/tools/x"],
  ["make -C build lint.sh", "/p/build/lint.sh"],
  ["npm --prefix=web run ./x", "/p/web/x"],
  ['"$LETTA_PROJECT_DIR"/hooks/a', "/p/hooks/a"],
  [`"\${LETTA_PROJECT_DIR}/hooks/a b.sh" x`, "/p/hooks/a b.sh"],
  ["$CLAUDE_PROJECT_DIR/.claude/hooks/a.py", "/p/.claude/hooks/a.py"],
  [`\${SOME_ROOT:-.}/a.py`, "/p/a.py"],
  ["`git rev-parse --show-toplevel`/a.py", "/p/a.py"],
  ["~/bin/guard; $HOME/b", "/home/u/bin/guard"],
  ["~/bin/guard; $HOME/b", "/home/u/b"],
])("%s may run %s", (command, file) => {
  const found = listHooks(settings({ user: { hooks: { Stop: [hook(command)] } } }), trusted);
  expect(hookScripts(found, { cwd: "/p/sub", projectRoot: "/p", home: "/home/u" })).toContain(file);
});

test("programs of PATH and options are no files", () => {
  const found = listHooks(settings({ user: { hooks: { Stop: [hook("jq -e -r && exit")] } } }), trusted);
  expect(hookScripts(found, { cwd: "/p/sub", projectRoot: "/p", home: "/home/u" })).toEqual([]);
});
