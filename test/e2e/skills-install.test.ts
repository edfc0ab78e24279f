// `letta install` and `letta skills …` of the compiled binary: from every kind of place, from places that mean harm or
// fail, and what git says of the memory afterwards. No git program is there unless a test looks with one.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LINK_MODE, makeTarball, makeZip } from "../support/archives.ts";
import { type RunOptions, runLetta, spawnLetta, type TempHome, tempHome } from "../support/binary.ts";
import { complaints, hasGit } from "../support/git-repos.ts";
import { openPty } from "../support/pty.ts";
import { type Route, startSkillHost } from "../support/skill-host.ts";

const text = (name: string, body = "Do it.") => `---\nname: ${name}\ndescription: Does ${name}.\n---\n\n${body}\n`;
const KIT = [
  { name: "kit/SKILL.md", data: text("kit", "See <SKILL_DIR>/references/more.md.") },
  { name: "kit/references/more.md", data: "more\n" },
];
const SCRIPT = { name: "kit/scripts/run.sh", data: "#!/bin/sh\necho ran\n", mode: 0o100755 };
const [FIRST, SECOND] = ["1".repeat(40), "2".repeat(40)];

async function withAgent() {
  const home = tempHome();
  await runLetta(["agents", "create", "--name", "Ada"], { home });
  const agents = join(home.path, ".letta", "agents");
  const dir = join(agents, readdirSync(agents)[0]!, "memory");
  const letta = (args: string[], options: RunOptions = {}) =>
    runLetta(args, { home, ...options, env: { USER: "ann", PATH: "/nonexistent", ...options.env } });
  return {
    home,
    dir,
    letta,
    data: async (args: string[], options: RunOptions = {}) => {
      const result = await letta([...args, "--json"], options);
      return { ...JSON.parse(result.stdout), exitCode: result.exitCode };
    },
    head: () => readFileSync(join(dir, ".git/refs/heads/main"), "utf8").trim(),
    subjects: async () => {
      const { stdout } = await letta(["memory", "log", "--format", "json"]);
      return (JSON.parse(stdout) as { message: string }[]).map(({ message }) => message);
    },
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

function write({ workdir }: TempHome, path: string, content: string | Uint8Array): string {
  const file = join(workdir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

describe("from this machine", () => {
  test("a folder: previewed, asked for when it brings scripts, one commit with where it came from", async () => {
    using world = await withAgent();
    const { home, dir, letta, data } = world;
    write(home, "kit/SKILL.md", text("kit"));
    chmodSync(write(home, "kit/scripts/run.sh", SCRIPT.data), 0o755);
    const before = world.head();
    const refused = await letta(["install", "./kit"]);
    expect(refused).toMatchObject({ exitCode: 6, stdout: "" });
    expect(refused.stderr).toContain("scripts/run.sh  19 bytes  can be run");
    expect(refused.stderr).toContain("kit brings 1 file that can be run, and nobody is here to answer");
    expect(world.head()).toBe(before);

    const { data: installed, ok } = await data(["install", "./kit", "--yes"]);
    expect(ok).toBe(true);
    expect(installed).toMatchObject({
      agentId: dir.split("/").at(-2),
      source: join(home.workdir, "kit"),
      name: "kit",
      path: join(dir, "skills/kit"),
      committed: true,
      commitSha: world.head(),
      scripts: ["scripts/run.sh"],
      warnings: [],
    });
    expect(await world.subjects()).toEqual(["chore(skills): install kit", "chore: initialize local memory"]);
    expect(JSON.parse(readFileSync(join(dir, "skills/kit/.letta-skill.json"), "utf8"))).toEqual({
      source: join(home.workdir, "kit"),
      resolved_ref: null,
      sha256: installed.sha256,
      installed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    const listed = await letta(["skills", "list"]);
    expect(JSON.parse(listed.stdout)).toEqual({
      agentId: installed.agentId,
      skills: [{ name: "kit", path: join(dir, "skills/kit"), description: "Does kit.", source: installed.source }],
    });
  });

  test("over an existing skill only with --force; deleted only for an agent that was named", async () => {
    using world = await withAgent();
    const { home, dir, letta } = world;
    write(home, "kit/SKILL.md", text("kit", "one"));
    expect(await letta(["skills", "install", "./kit"])).toMatchObject({ exitCode: 0, stderr: "" });
    write(home, "kit/SKILL.md", text("kit", "two"));
    const before = world.head();
    const refused = await letta(["install", "./kit"]);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain("there is a skill kit already");
    expect(world.head()).toBe(before);
    expect(await letta(["install", "./kit", "--force", "-n", "ada"])).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(dir, "skills/kit/SKILL.md"), "utf8")).toContain("two");
    expect(await letta(["skills", "delete", "kit"])).toMatchObject({ exitCode: 2 });
    expect(await letta(["skills", "delete", "../skills/kit", "-n", "Ada"])).toMatchObject({ exitCode: 4 });
    expect(await letta(["skills", "delete", "kit", "-n", "Ada"])).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(dir, "skills/kit"))).toBe(false);
    expect(await world.subjects()).toEqual([
      "chore(skills): delete kit",
      "chore(skills): install kit",
      "chore(skills): install kit",
      "chore: initialize local memory",
    ]);
  });

  test.each([
    ["kit.skill", makeZip(KIT)],
    ["kit.zip", makeZip(KIT.map(({ name, data }) => ({ name: name.slice(4), data })))],
    ["kit.tar.gz", makeTarball(KIT)],
  ])("an archive, %s", async (name, archive) => {
    using world = await withAgent();
    write(world.home, name, archive);
    expect(await world.letta(["install", `./${name}`])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(readFileSync(join(world.dir, "skills/kit/references/more.md"), "utf8")).toBe("more\n");
    expect(await world.letta(["skills", "verify"])).toMatchObject({ exitCode: 0 });
  });

  test("what is meant is said: several skills, a mod, a name, nothing", async () => {
    using world = await withAgent();
    const { home, letta } = world;
    write(home, "many/skills/a/SKILL.md", text("a"));
    write(home, "many/skills/b/SKILL.md", text("b"));
    write(home, "mod/package.json", '{"name":"m","letta":{"manifestVersion":1,"mods":["./mods/index.ts"]}}');
    const before = world.head();
    for (const [spec, exitCode, words] of [
      ["./many", 4, "holds 2 skills: skills/a, skills/b"],
      ["./mod", 2, "mods come later"],
      ["npm:kit", 2, "mods come later"],
      ["git:github.com/o/r", 2, "mods come later"],
      ["many", 2, "./many"],
      ["./nothing", 4, "no such file"],
    ] as const) {
      const result = await letta(["install", spec]);
      expect(result).toMatchObject({ exitCode, stdout: "" });
      expect(result.stderr).toContain(words);
    }
    expect(world.head()).toBe(before);
  });

  test("a person is shown what it is, and asked", async () => {
    using world = await withAgent();
    write(world.home, "kit/SKILL.md", text("kit"));
    const before = world.head();
    for (const [key, exitCode] of [
      ["n", 130],
      ["y", 0],
    ] as const) {
      await using pty = await openPty(["install", "./kit"], { home: world.home });
      const shown = await pty.waitFor(/Does kit\.[\s\S]*SKILL\.md/);
      await pty.waitFor(/Install kit into the memory of Ada\?/, shown);
      pty.type(key);
      expect(await pty.exited).toBe(exitCode);
      expect(world.head() === before).toBe(key === "n");
    }
  });
});

const NOISE = crypto.getRandomValues(new Uint8Array(65_536));
const HARMFUL: [string, Uint8Array, RegExp][] = [
  ["a name that climbs", makeZip([...KIT, { name: "kit/../../../x.sh", data: "x" }]), /leads out of/],
  ["an absolute name", makeZip([...KIT, { name: "/tmp/letta-x", data: "x" }]), /leads out of/],
  ["a drive letter", makeTarball([...KIT, { name: "C:\\x", data: "x" }]), /drive letter/],
  ["a link", makeTarball([...KIT, { name: "kit/passwd", data: "/etc/passwd", mode: LINK_MODE }]), /is a link/],
  ["a link in a ZIP", makeZip([...KIT, { name: "kit/passwd", data: "/etc/passwd", mode: LINK_MODE }]), /is a link/],
  ["a hard link", makeTarball([...KIT, { name: "kit/x", type: "1", linkName: "/etc/passwd" }]), /is a link/],
  [
    "10,000 files",
    makeZip([...KIT, ...Array.from({ length: 10_000 }, (_, i) => ({ name: `kit/${i}` }))]),
    /2,000 files/,
  ],
  [
    "a claimed gigabyte",
    makeTarball([...KIT, { name: "kit/big", data: "x", claimed: 1024 ** 3 }]),
    /larger than 20 MiB/,
  ],
  [
    "a claimed gigabyte in a ZIP",
    makeZip([...KIT, { name: "kit/big", data: NOISE, claimed: 2 ** 30 }]),
    /burst|20 MiB/,
  ],
  ["a real gigabyte", makeTarball([...KIT, { name: "kit/zeros", data: new Uint8Array(2 ** 26) }]), /20 MiB|burst/],
  ["two names that are one", makeZip([...KIT, { name: "kit/skill.md", data: "x" }]), /the same name/],
  ["a repository in it", makeZip([...KIT, { name: "kit/sub/.git/config", data: "x" }]), /git's own/],
  ["a name that reads otherwise", makeZip([...KIT, { name: "kit/\u202etxt.sh", data: "x" }]), /invisible/],
  [
    "a name that leads elsewhere",
    makeZip([{ name: "kit/SKILL.md", data: text("../../x") }]),
    /cannot be a skill's name/,
  ],
  ["half an archive", makeTarball(KIT).subarray(0, 150), /cut off/],
  ["a web page", Buffer.from("<!doctype html>"), /neither a ZIP file/],
];

test.each(HARMFUL)("%s is refused, whoever says yes, and nothing is left", async (_, archive, why) => {
  using world = await withAgent();
  write(world.home, "kit.zip", archive);
  const before = world.head();
  const result = await world.letta(["install", "./kit.zip", "--yes", "--force"]);
  expect(result.stdout).toBe("");
  expect(result.stderr).toMatch(why);
  expect(result.exitCode).not.toBe(0);
  expect(world.head()).toBe(before);
  expect(readdirSync(world.dir).sort()).toEqual([".git", "system"]);
  expect(readdirSync(join(world.home.path, "tmp"))).toEqual([]);
  if (hasGit) expect(await complaints(world.dir)).toEqual("");
});

test("a link or a pipe in a folder is refused, and the folder itself may be one", async () => {
  using world = await withAgent();
  write(world.home, "kit/SKILL.md", text("kit"));
  symlinkSync("kit", join(world.home.workdir, "linked"));
  expect(await world.letta(["install", "./linked"])).toMatchObject({ exitCode: 0 });
  symlinkSync("/etc/passwd", join(world.home.workdir, "kit/passwd"));
  const before = world.head();
  expect((await world.letta(["install", "./kit", "--force", "--yes"])).stderr).toContain("passwd is a link");
  expect(world.head()).toBe(before);
});

describe("from elsewhere", () => {
  const files = (body: string) => [
    { name: "README.md", data: "x" },
    { name: "CLAUDE.md", data: "README.md", mode: LINK_MODE },
    { name: "skills/kit/SKILL.md", data: text("kit", body) },
    { name: "skills/other/SKILL.md", data: text("other") },
  ];

  test("one folder of a repository, at a commit that is written down; updated when there is another", async () => {
    using world = await withAgent();
    await using host = await startSkillHost();
    const env = { LETTA_SKILL_MIRROR: host.url };
    const repository = (commit: string, body: string) =>
      host.addRepository("o/r", {
        "heads/main": { commit, files: files(body) },
        "heads/feature/x": { commit: "3".repeat(40), files: files("feature") },
      });
    repository(FIRST, "one");
    const { data: installed } = await world.data(["install", "o/r/skills/kit"], { env });
    expect(installed).toMatchObject({ source: "o/r/skills/kit", resolvedRef: FIRST, name: "kit" });
    // The same commit is not fetched again.
    host.requests.length = 0;
    expect(await world.letta(["skills", "update"], { env })).toMatchObject({
      exitCode: 0,
      stdout: "kit: nothing new\n",
    });
    expect(host.requests).toEqual(["/github.com/o/r.git/info/refs?service=git-upload-pack"]);

    repository(SECOND, "one");
    expect(await world.letta(["skills", "update"], { env })).toMatchObject({ stdout: "kit: nothing new\n" });
    repository(SECOND, "two");
    const before = world.head();
    const looked = await world.data(["skills", "update", "--dry-run"], { env });
    expect(looked.data).toEqual([
      {
        name: "kit",
        status: "available",
        resolvedRef: SECOND,
        commitSha: null,
        changes: [{ path: "SKILL.md", added: 1, removed: 1 }],
      },
    ]);
    expect(world.head()).toBe(before);

    // Changed here: kept, unless told otherwise.
    writeFileSync(join(world.dir, "skills/kit/SKILL.md"), text("kit", "mine"));
    await world.letta(["memory", "commit", "-m", "mine"]);
    const kept = await world.letta(["skills", "update", "kit"], { env });
    expect(kept).toMatchObject({ exitCode: 1, stdout: "" });
    expect(kept.stderr).toContain("kit was changed here since it was installed: SKILL.md");
    expect(await world.letta(["skills", "verify"])).toMatchObject({ exitCode: 1 });
    const updated = await world.letta(["skills", "update", "kit", "--force"], { env });
    expect(updated).toMatchObject({ exitCode: 0, stderr: "" });
    expect(updated.stdout).toContain("changed  SKILL.md  +1 -1");
    expect(readFileSync(join(world.dir, "skills/kit/SKILL.md"), "utf8")).toContain("two");
    expect((await world.subjects())[0]).toBe("chore(skills): update kit");
    expect(await world.letta(["skills", "verify"])).toMatchObject({ exitCode: 0 });
    if (hasGit) expect(await complaints(world.dir)).toEqual("");
  });

  test("branches with slashes, tags, blobs; what a repository holds; a mod in one", async () => {
    using world = await withAgent();
    await using host = await startSkillHost();
    const env = { LETTA_SKILL_MIRROR: host.url };
    host.addRepository("o/r", {
      "heads/main": { commit: FIRST, files: files("one") },
      "heads/feature": { commit: "4".repeat(40), files: [] },
      "heads/feature/x": { commit: SECOND, files: files("feature") },
    });
    host.addRepository("o/mod", {
      "heads/main": {
        commit: "5".repeat(40),
        files: [{ name: "package.json", data: '{"letta":{"mods":["./mods/index.ts"]}}' }],
      },
    });
    const sourced = async (spec: string) => {
      const { data, error } = await world.data(["install", spec, "--force"], { env });
      return data ? data.resolvedRef : error.message;
    };
    expect(await sourced("https://github.com/o/r/tree/feature/x/skills/kit")).toBe(SECOND);
    expect(await sourced("https://github.com/o/r/blob/feature/x/skills/kit/SKILL.md")).toBe(SECOND);
    expect(await sourced("o/r/skills/kit@feature/x")).toBe(SECOND);
    expect(await sourced(`o/r/skills/kit@${FIRST}`)).toBe(FIRST);
    expect(await sourced("o/r")).toContain("o/r is not one skill; it holds 2 skills: skills/kit, skills/other");
    expect(await sourced("https://github.com/o/mod")).toContain("mods come later");
    expect(await sourced("o/r/skills/none")).toContain("There is no SKILL.md in o/r/skills/none");
    expect(await sourced("o/r/skills/kit@gone")).toContain("no branch or tag gone");
    expect(await sourced("o/private/kit")).toContain("There is no public repository o/private");
  });

  test("ClawHub, an address of a SKILL.md, and of an archive", async () => {
    using world = await withAgent();
    await using host = await startSkillHost();
    const env = { LETTA_SKILL_MIRROR: host.url };
    const hub = "/clawhub.ai/api/v1";
    host.routes.set(`${hub}/skills/kit`, { body: '{"latestVersion":{"version":"1.2.0"},"more":1}' });
    host.routes.set(`${hub}/download?slug=kit&version=1.2.0`, { body: makeZip(KIT) });
    host.routes.set("/SKILL.md", { body: text("alone") });
    host.routes.set("/packed.tgz", { body: makeTarball([{ name: "SKILL.md", data: text("packed") }]) });
    expect((await world.data(["install", "clawhub:kit"], { env })).data).toMatchObject({
      source: "clawhub:kit",
      resolvedRef: "1.2.0",
    });
    for (const name of ["SKILL.md", "packed.tgz"]) {
      expect((await world.data(["install", `${host.url}/${name}`])).data).toMatchObject({
        source: `${host.url}/${name}`,
        resolvedRef: null,
      });
    }
    expect(readdirSync(join(world.dir, "skills")).sort()).toEqual(["alone", "kit", "packed"]);
    // One that cannot be fetched keeps no other from being updated.
    host.routes.set("/SKILL.md", { status: 500 });
    host.routes.set("/packed.tgz", { body: makeTarball([{ name: "SKILL.md", data: text("packed", "new") }]) });
    const result = await world.letta(["skills", "update"], { env });
    expect(result).toMatchObject({ exitCode: 1, stderr: "" });
    expect(result.stdout).toContain("HTTP status 500");
    expect(result.stdout).toContain("Updated packed");
    expect(result.stdout).toContain("kit: nothing new");
  });

  test.each<[string, Route, RegExp]>([
    ["nothing there", { status: 404 }, /There is nothing at/],
    [
      "a cut connection",
      { cutAfter: text("kit").slice(0, 20), claimed: 900 },
      /could not be downloaded|did not send all/,
    ],
    ["another host", { location: "https://example.invalid/SKILL.md" }, /redirects to another host: https:\/\/example/],
    ["a file", { location: "file:///etc/passwd" }, /a place that is not followed/],
    ["circles", { location: "/SKILL.md" }, /in circles/],
    ["without an end", { endless: text("kit") }, /is larger than 1 MiB/],
    ["a web page", { body: "<!doctype html>", type: "text/html" }, /is a web page/],
    ["no skill", { body: "hello" }, /no head/],
    ["a name that climbs", { body: text("../../x") }, /cannot be a skill's name/],
  ])("%s", async (_, route, why) => {
    using world = await withAgent();
    await using host = await startSkillHost();
    host.routes.set("/SKILL.md", route);
    const before = world.head();
    const result = await world.letta(["install", `${host.url}/SKILL.md`, "--yes"]);
    expect(result.stdout).toBe("");
    expect(result.stderr).toMatch(why);
    expect(result.exitCode).not.toBe(0);
    expect(world.head()).toBe(before);
    expect(existsSync(join(world.dir, "skills"))).toBe(false);
  });

  test("a mirror is on this machine, or is none", async () => {
    using world = await withAgent();
    const result = await world.letta(["install", "o/r/kit"], {
      env: { LETTA_SKILL_MIRROR: "https://example.invalid" },
    });
    expect(result).toMatchObject({ exitCode: 2, stdout: "" });
    expect(result.stderr).toContain("must be on this machine");
  });

  test.each(["SIGINT", "SIGKILL"] as const)("%s in the middle of a download leaves nothing", async (signal) => {
    using world = await withAgent();
    await using host = await startSkillHost();
    host.routes.set("/kit.zip", { stallAfter: "PK" });
    const before = world.head();
    await using letta = await spawnLetta(["install", `${host.url}/kit.zip`], { home: world.home });
    await host.asked("/kit.zip");
    letta.kill(signal);
    expect((await letta.exited).exitCode).toBeGreaterThan(128);
    expect(world.head()).toBe(before);
    expect(readdirSync(world.dir).sort()).toEqual([".git", "system"]);
    expect(readdirSync(join(world.home.path, "tmp"))).toEqual([]);
  });
});

describe("written here", () => {
  test("a new skill is valid, in memory and in a folder", async () => {
    using world = await withAgent();
    const { letta, home, dir } = world;
    expect(await letta(["skills", "new", "shipping-it", "-d", "Ships it: when a release is due."])).toMatchObject({
      exitCode: 0,
      stderr: "",
    });
    expect((await world.subjects())[0]).toBe("chore(skills): create shipping-it");
    expect(readFileSync(join(dir, "skills/shipping-it/SKILL.md"), "utf8")).toStartWith("---\nname: shipping-it\n");
    expect(await letta(["skills", "validate", "shipping-it"])).toMatchObject({
      exitCode: 0,
      stdout: "1 skill: valid\n",
    });
    expect(await letta(["skills", "new", "shipping-it"])).toMatchObject({ exitCode: 1 });
    expect(await letta(["skills", "new", "../x", "--path", "."])).toMatchObject({ exitCode: 2 });
    expect(await letta(["skills", "new", "kit", "--path", ".agents/skills"])).toMatchObject({ exitCode: 0 });
    expect(await letta(["skills", "validate", "./.agents/skills/kit"])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await letta(["skills", "validate", "--all"])).toMatchObject({ exitCode: 0, stdout: "1 skill: valid\n" });
    expect(await letta(["skills", "validate", "--bundled"])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await letta(["skills", "validate"])).toMatchObject({ exitCode: 2 });
    write(home, "bad/SKILL.md", "---\nname: Other Name\n---\n\nSee [more](references/more.md).\n");
    const bad = await letta(["skills", "validate", "./bad/SKILL.md"]);
    expect(bad).toMatchObject({ exitCode: 1, stderr: "" });
    expect(bad.stdout).toBe(
      [
        "bad/SKILL.md:2: name should be lower-case letters, digits and single hyphens",
        "bad/SKILL.md: there is no description",
        "bad/SKILL.md:5: warning: there is no references/more.md",
        "1 skill: 1 of them wrong\n",
      ].join("\n"),
    );
  });
});
