import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { preLoadSkills } from "@/skills/pre-load.ts";
import { createSkills, projectSkills, type Skills } from "@/skills/service.ts";
import { SKILL_SOURCES } from "@/skills/types.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";
import { openTrust } from "@/store/trust.ts";
import { type TempDir, tempDir } from "../support/binary.ts";

let dir: TempDir;
beforeEach(() => {
  dir = tempDir();
});
afterEach(() => dir[Symbol.dispose]());

const write = (path: string, head: string, body = "Body.\n"): void => {
  const file = join(dir.path, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `---\n${head}\n---\n${body}`);
};

async function open(): Promise<{ skills: Skills; trust: Awaited<ReturnType<typeof openTrust>> }> {
  const paths = resolvePaths(readEnv({ HOME: dir.path }));
  const cwd = join(dir.path, "project");
  mkdirSync(cwd, { recursive: true });
  const settings = await openSettings({ paths, cwd });
  const options = { paths, projectRoot: settings.projectRoot, sources: SKILL_SOURCES, extra: null, others: true };
  const trust = await openTrust({ paths, settings, others: projectSkills({ ...options, cwd: () => cwd }) });
  return { trust, skills: createSkills({ ...options, trust, watch: false }) };
}

const place = () => ({ cwd: join(dir.path, "project"), memory: [join(dir.path, "memory")] });
const call = (id: string, args = "") => ({ id, args, by: "model" as const });

describe("skills of a project", () => {
  test("are inert until the folder is trusted, and again when they change", async () => {
    write("project/.agents/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.");
    write("project/.claude/skills/lint/SKILL.md", "name: lint\ndescription: Lints.\nallowed-tools: Bash(npm run lint)");
    const { skills, trust } = await open();
    expect(trust.status).toBe("untrusted");
    expect(trust.items).toEqual([
      { file: ".agents/skills/deploy/SKILL.md", description: "skill deploy: Ships it." },
      {
        file: ".claude/skills/lint/SKILL.md",
        description: "skill lint: Lints.; without asking while it is in use: Bash(npm run lint)",
      },
    ]);
    expect([...skills.discover(place()).skills.keys()]).not.toContain("deploy");
    expect(skills.untrustedNote(place())).toBe(
      "2 skills of this project left out, because the folder is not trusted: `letta trust` shows and trusts them",
    );
    expect(skills.load(place(), call("deploy"))).rejects.toMatchObject({ code: "untrusted" });

    await trust.grant();
    expect(trust.status).toBe("trusted");
    expect([...skills.discover(place()).skills.keys()]).toEqual(expect.arrayContaining(["deploy", "lint"]));
    expect((await skills.load(place(), call("deploy"))).text).toBe(
      "<deploy>\n---\nname: deploy\ndescription: Ships it.\n---\nBody.\n</deploy>",
    );
    expect((await skills.load(place(), call("lint"))).allow).toEqual(["Bash(npm run lint)"]);
    expect(skills.untrustedNote(place())).toBeNull();

    write("project/.agents/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.", "Send it to me.\n");
    // Nothing was heard of the change yet: the text that would be sent is what is checked.
    expect(skills.load(place(), call("deploy"))).rejects.toMatchObject({ code: "untrusted" });
    expect(trust.status).toBe("changed");
  });

  test("that bring rules along are trusted with all their files", async () => {
    write("project/.agents/skills/run/SKILL.md", "name: run\ndescription: Runs.\nallowed-tools: Bash(./x.sh)");
    writeFileSync(join(dir.path, "project/.agents/skills/run/x.sh"), "echo harmless");
    const { skills, trust } = await open();
    await trust.grant();
    expect((await skills.load(place(), call("run"))).allow).toEqual(["Bash(./x.sh)"]);
    writeFileSync(join(dir.path, "project/.agents/skills/run/x.sh"), "echo evil");
    expect(skills.load(place(), call("run"))).rejects.toMatchObject({ code: "untrusted" });
  });

  test("never shadow anybody's own before they are trusted", async () => {
    write("project/.agents/skills/deploy/SKILL.md", "name: deploy\ndescription: Theirs.");
    write(".letta/skills/deploy/SKILL.md", "name: deploy\ndescription: Mine.");
    const { skills, trust } = await open();
    expect(skills.find(place(), "deploy")?.description).toBe("Mine.");
    await trust.grant();
    expect(skills.find(place(), "deploy")?.description).toBe("Theirs.");
  });

  test("of another folder than the one that is trusted stay inert", async () => {
    write("project/.agents/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.");
    write("other/.agents/skills/evil/SKILL.md", "name: evil\ndescription: Other.");
    mkdirSync(join(dir.path, "other/.git"));
    const { skills, trust } = await open();
    await trust.grant();
    const elsewhere = { ...place(), cwd: join(dir.path, "other") };
    expect(skills.find(elsewhere, "evil")).toBeUndefined();
    expect(skills.untrustedNote(elsewhere)).toContain("start letta in their folder to trust them");
  });
});

test("what is called has to be there, and to be for the caller", async () => {
  write(".letta/skills/deploy/SKILL.md", "name: deploy\ndescription: Ships it.\ndisable-model-invocation: true");
  write(".letta/skills/think/SKILL.md", "name: think\ndescription: Thinks.\nuser-invocable: false");
  write("secret/SKILL.md", "name: secret\ndescription: Not below a root.");
  const { skills } = await open();
  expect(skills.load(place(), call("deploi"))).rejects.toMatchObject({
    code: "not_found",
    hint: "Did you mean deploy?",
  });
  expect(skills.load(place(), call("../../secret"))).rejects.toMatchObject({ code: "not_found" });
  expect(skills.load(place(), call("deploy"))).rejects.toMatchObject({ code: "denied" });
  expect(await skills.load(place(), { ...call("deploy"), by: "person" })).toMatchObject({ skill: { id: "deploy" } });
  expect(skills.load(place(), { ...call("think"), by: "person" })).rejects.toMatchObject({ code: "denied" });
  expect(await skills.load(place(), call("think"))).toMatchObject({ skill: { id: "think" } });
});

test("a skill written a moment ago can be called", async () => {
  const { skills } = await open();
  skills.discover(place());
  write("memory/skills/fresh/SKILL.md", "name: fresh\ndescription: Fresh.");
  expect((await skills.load(place(), call("fresh"))).skill.source).toBe("agent");
});

test("rules of a skill count only where somebody else than the agent vouches for it", async () => {
  const rules = "description: D.\nallowed-tools: Bash(git push:*), Read, 9x";
  write(".letta/skills/mine/SKILL.md", `name: mine\n${rules}`);
  write(".claude/skills/other-program/SKILL.md", `name: other-program\n${rules}`);
  write("memory/skills/self-made/SKILL.md", `name: self-made\n${rules}`);
  const { skills } = await open();
  const rulesOf = async (id: string, where = place()) => (await skills.load(where, call(id))).allow;
  expect(await rulesOf("mine")).toEqual(["Bash(git push:*)", "Read(**)"]);
  expect(await rulesOf("other-program")).toEqual([]);
  expect(await rulesOf("self-made")).toEqual([]);
  // Here the agent may write to the folder like to any other of its workspace.
  expect(await rulesOf("mine", { ...place(), cwd: dir.path })).toEqual([]);
});

test("a bundled skill is put on disk when it is called", async () => {
  const { skills } = await open();
  const listed = skills.catalogue(place(), null).skills.find(({ name }) => name === "creating-skills");
  expect(existsSync(listed!.location)).toBe(false);
  const { text, skill } = await skills.load(place(), call("creating-skills"));
  expect(existsSync(listed!.location)).toBe(true);
  expect(skill.file).toBe(listed!.location);
  expect(text).toStartWith("<creating-skills>\n");
});

test("pre-loaded skills come in one block; one that is not there is an error", async () => {
  write(".letta/skills/a/SKILL.md", "name: a\ndescription: A.\ndisable-model-invocation: true", "In <SKILL_DIR>.\n");
  write(".letta/skills/b/SKILL.md", "name: b\ndescription: B.\nallowed-tools: Read");
  const { skills } = await open();
  const { part, allow } = await preLoadSkills(skills, place(), ["a", "b", "a"]);
  expect(part).toEqual({
    type: "text",
    keep: true,
    text: `<loaded_skills>
<a>
---
name: a
description: A.
disable-model-invocation: true
---
In ${join(dir.path, ".letta/skills/a")}.
</a>
<b>
---
name: b
description: B.
allowed-tools: Read
---
Body.
</b>
</loaded_skills>

`,
  });
  expect(allow).toEqual(["Read(**)"]);
  expect(preLoadSkills(skills, place(), ["a", "nothing"])).rejects.toMatchObject({
    code: "invalid_data",
    message: '--pre-load-skills: There is no skill "nothing"',
  });
});
