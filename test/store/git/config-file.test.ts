import { expect, test } from "bun:test";
import { GitConfig } from "@/store/git/config-file.ts";
import { tempDir } from "../../support/binary.ts";
import { git, hasGit } from "../../support/git-repos.ts";

const TEXT = `# comment
[core]
	bare = false ; why
	FileMode
[user] name = "Ann # not a comment" tail  # one
[remote "Or.ig \\"in"]
	url = a\\tb \\
  c
[url.old]
	x = 1
	x = 2
`;

test("values are read as git reads them", async () => {
  const config = new GitConfig(TEXT);
  const expected = {
    "core.bare": "false",
    "CORE.filemode": "true",
    "user.name": "Ann # not a comment tail",
    'remote.Or.ig "in.url': "a\tb   c",
    "url.old.x": "2",
  };
  for (const [name, value] of Object.entries(expected)) expect([name, config.get(name)]).toEqual([name, value]);
  expect(config.getAll("url.old.x")).toEqual(["1", "2"]);
  expect(config.get("remote.origin.url")).toBeNull();
  expect([config.getBoolean("core.bare"), config.getBoolean("core.filemode"), config.getBoolean("no.such")]).toEqual([
    false,
    true,
    null,
  ]);
  if (!hasGit) return;
  using folder = tempDir();
  await Bun.write(`${folder.path}/config`, TEXT);
  for (const [name, value] of Object.entries(expected))
    expect(git(folder.path, ["config", "-f", "config", "--get", "--", name])).toBe(
      name === "CORE.filemode" ? "\n" : `${value}\n`,
    );
});

test("a change leaves the rest of the file alone, and git reads it back", async () => {
  const config = new GitConfig(TEXT);
  const values = {
    "core.bare": "true",
    'remote.Or.ig "in.url': 'quote " backslash \\ tab \t line\nend; # ',
    "remote.new one.url": " spaces ",
    "url.old.x": "3",
    "letta.agentId": "agent-1",
  };
  for (const [name, value] of Object.entries(values)) config.set(name, value);
  config.set("user.name", null);
  const text = config.toString();
  expect(text.startsWith("# comment\n[core]\n\tbare = true\n\tFileMode\n")).toBe(true);
  const again = new GitConfig(text);
  for (const [name, value] of Object.entries(values)) expect([name, again.getAll(name)]).toEqual([name, [value]]);
  expect(again.get("user.name")).toBeNull();
  if (!hasGit) return;
  using folder = tempDir();
  await Bun.write(`${folder.path}/config`, text);
  for (const [name, value] of Object.entries(values))
    expect(git(folder.path, ["config", "-f", "config", "--get-all", "--", name])).toBe(`${value}\n`);
});

test.each(["nodot", "a.", ".b", "a.b c", "a b.c", "a.x\ny.c"])("%j is not the name of a setting", (name) => {
  expect(() => new GitConfig("").set(name, "x")).toThrow("not the name of a git setting");
});
