import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { rank, scanSkills } from "@/skills/discovery.ts";
import { listRoots, resolveSources } from "@/skills/roots.ts";
import { type Discovery, SKILL_SOURCES, type SkillRoot } from "@/skills/types.ts";
import { type TempDir, tempDir } from "../support/binary.ts";

const FIXTURES = join(import.meta.dir, "../fixtures/skills");

describe("of two skills with the same id", () => {
  const folder = join(FIXTURES, "precedence");
  const BUNDLE = {
    index: { digest: "d", skills: [{ id: "deploy", head: "---\nname: deploy\ndescription: Loses.\n---\n" }] },
    cache: "/cache",
  };
  test.each(readdirSync(folder))("%s", (name) => {
    const at = (path: string) => join(folder, name, path);
    const roots = listRoots({
      paths: { home: at("home"), root: at("home/.letta"), skills: at("home/.letta/skills") },
      cwd: at("project/deep"),
      projectRoot: existsSync(at("project")) ? at("project") : null,
      memory: [at("memory"), at("memory2")],
      extra: at("extra"),
      sources: SKILL_SOURCES,
      others: true,
    });
    const found = rank(scanSkills(roots, name === "global-over-bundled" ? BUNDLE : null), () => true);
    expect(found.skills.get("deploy")?.description).toBe("Wins.");
    expect(found.left).toMatchObject([
      { skill: { description: "Loses." }, why: "shadowed", by: { description: "Wins." } },
    ]);
  });
});

test("the sources of roots, and what turns them off", () => {
  const places = {
    paths: { home: "/h", root: "/h/.letta", skills: "/h/.letta/skills" },
    cwd: "/h/p/src",
    projectRoot: "/h/p",
    memory: ["/m"],
    extra: "/x",
    sources: SKILL_SOURCES,
    others: true,
  };
  const labels = (roots: SkillRoot[]) =>
    roots.map(({ source, label, repository }) => `${source} ${label}${repository ? " (repository)" : ""}`);
  expect(labels(listRoots(places))).toEqual([
    "project src/.agents/skills (repository)",
    "project src/.skills (repository)",
    "project --skills",
    "project src/.claude/skills (repository)",
    "project src/.codex/skills (repository)",
    "project .agents/skills (repository)",
    "project .claude/skills (repository)",
    "project .codex/skills (repository)",
    "agent the agent's memory",
    "global ~/.letta/skills",
    "global ~/.agents/skills",
    "global ~/.claude/skills",
    "global ~/.codex/skills",
  ]);
  expect(labels(listRoots({ ...places, sources: ["agent", "global"], others: false }))).toEqual([
    "agent the agent's memory",
    "global ~/.letta/skills",
  ]);
  // In the home directory the person's own folders are no project's.
  const atHome = listRoots({ ...places, cwd: "/h", projectRoot: null, extra: null, sources: ["project", "global"] });
  expect(labels(atHome)).toEqual([
    "project .skills (repository)",
    "global ~/.letta/skills",
    "global ~/.agents/skills",
    "global ~/.claude/skills",
    "global ~/.codex/skills",
  ]);
});

test.each([
  [{}, ["bundled", "global", "agent", "project"]],
  [{ list: ["all"], noBundled: true }, ["global", "agent", "project"]],
  [{ list: ["project", "bundled"] }, ["bundled", "project"]],
  [{ none: true }, []],
] as const)("sources of %j: %j", (flags, expected) => expect(resolveSources(flags)).toEqual([...expected]));

test.each([
  [["projects"], /there is no source "projects"; did you mean project\?/],
  [["all", ""], /there is no source ""/],
  [[], /needs at least one source/],
] as const)("--skill-sources %j is refused", (list, message) =>
  expect(() => resolveSources({ list })).toThrow(message),
);

/** A root's skills by id with their descriptions, and its problems relative to it. */
function discoverIn(folder: string, repository?: string) {
  const root: SkillRoot = { source: "global", path: folder, label: "test", ...(repository && { repository }) };
  return summary(
    folder,
    rank(scanSkills([root], null), () => true),
  );
}

function summary(folder: string, { skills, problems }: Discovery) {
  return {
    skills: Object.fromEntries([...skills.values()].map(({ id, description }) => [id, description])),
    problems: problems.map(({ file, line, problem, level }) => {
      const where = `${relative(folder, file) || "."}${line === null ? "" : `:${line}`}`;
      return `${level} ${where}: ${problem}`;
    }),
  };
}

const DEFECTS: Record<string, ReturnType<typeof summary>> = {
  "head-not-closed": { skills: {}, problems: ["error broken/SKILL.md:1: the head has no closing --- (within 64 KB)"] },
  "no-head": {
    skills: { deploy: "Deploys the service to production." },
    problems: [
      "warning deploy/SKILL.md:1: there is no head (---, keys, ---)",
      "warning deploy/SKILL.md: there is no description",
    ],
  },
  "no-description": { skills: { deploy: "Ships it." }, problems: ["warning deploy/SKILL.md: there is no description"] },
  "nothing-at-all": {
    skills: { deploy: "(no description)" },
    problems: ["warning deploy/SKILL.md: there is no description"],
  },
  "description-no-text": {
    skills: { deploy: "From the body." },
    problems: [
      "warning deploy/SKILL.md:3: description should be a text",
      "warning deploy/SKILL.md:3: there is no description",
    ],
  },
  "name-with-spaces": {
    skills: { deploy: "Ships." },
    problems: ["warning deploy/SKILL.md:2: name should be lower-case letters, digits and single hyphens"],
  },
  "name-not-folder": {
    skills: { deploy: "Ships." },
    problems: ["warning deploy/SKILL.md:2: name should be the folder's: deploy"],
  },
  "name-too-long": {
    skills: { ["a".repeat(70)]: "Ships." },
    problems: [`warning ${"a".repeat(70)}/SKILL.md:2: name is longer than 64 characters`],
  },
  "description-too-long": {
    skills: { deploy: "word ".repeat(300).trim() },
    problems: ["warning deploy/SKILL.md:3: description is longer than 1024 characters"],
  },
  "key-twice": {
    skills: { deploy: "Ships." },
    problems: ["warning deploy/SKILL.md:4: name is given twice; the last one counts"],
  },
  "stray-line": {
    skills: { deploy: "Ships." },
    problems: ["warning deploy/SKILL.md:4: this line is neither a key nor part of one"],
  },
  "boolean-wrong": {
    skills: { deploy: "Ships." },
    problems: [
      "warning deploy/SKILL.md:4: disable-model-invocation should be true or false",
      "warning deploy/SKILL.md:5: user-invocable should be true or false",
    ],
  },
  "metadata-no-map": {
    skills: { deploy: "Ships." },
    problems: ["warning deploy/SKILL.md:4: metadata should be keys with texts"],
  },
  "id-leads-out": {
    skills: { deploy: "Ships." },
    problems: ['warning deploy/SKILL.md:4: id "../../etc" cannot be used; the folder\'s name is'],
  },
  "value-no-yaml": {
    skills: { deploy: "Ships." },
    problems: ["warning deploy/SKILL.md:4: license is no YAML and was taken as text"],
  },
  "two-files": {
    skills: { deploy: "First." },
    problems: ["warning deploy/SKILL.md: 2 files are called so; this one is used"],
  },
  "id-twice": {
    skills: { same: "First." },
    problems: [`error two/SKILL.md: its id same is that of ${join(FIXTURES, "defects/id-twice/one/SKILL.md")} already`],
  },
  "no-text": { skills: {}, problems: ["error binary/SKILL.md: it is no text: it holds NUL bytes"] },
  "too-deep": { skills: {}, problems: ["warning a/b/c/d/e/f/deep: folders deeper than 6 are not looked at"] },
};

test.each(readdirSync(join(FIXTURES, "defects")))("defect: %s", (name) =>
  expect(discoverIn(join(FIXTURES, "defects", name))).toEqual(DEFECTS[name]!),
);

test("what works in other programs loads unchanged, with all its fields", () => {
  const root: SkillRoot = { source: "global", path: join(FIXTURES, "loads"), label: "test" };
  const { skills, problems } = rank(scanSkills([root], null), () => true);
  const fields = Object.fromEntries(
    [...skills.values()].map(({ root: _, source: __, file: ___, folder: ____, ...rest }) => [rest.id, rest]),
  );
  const nothing = {
    whenToUse: null,
    argumentHint: null,
    modelInvocable: true,
    userInvocable: true,
    category: null,
    tags: [],
    license: null,
    compatibility: null,
    metadata: {},
    allowedTools: [],
  };
  expect(fields).toEqual({
    "crlf-bom": {
      ...nothing,
      id: "crlf-bom",
      name: "crlf-bom",
      description: "Folded over two lines.",
      license: "Apache-2.0",
      compatibility: "Needs git",
      metadata: { author: "somebody", version: "1.0" },
      allowedTools: ["Bash(git log:*)", "Read"],
    },
    hidden: { ...nothing, id: "hidden", name: "hidden", description: "Only for people.", modelInvocable: false },
    lenient_name: {
      ...nothing,
      id: "lenient_name",
      name: "Lenient Name",
      description: "Ships: fast.",
      allowedTools: ["Bash(npm publish:*)", "Read"],
    },
    literal: {
      ...nothing,
      id: "literal",
      name: "literal",
      description: "First line. Second: line.",
      whenToUse: "When asked: always",
      argumentHint: "[topic]",
      category: "tools",
      tags: ["one", "two words"],
    },
    quiet: {
      ...nothing,
      id: "quiet",
      name: "quiet",
      description: "Only: for the model.",
      userInvocable: false,
      tags: ["a", "b", "c"],
    },
    scrape: { ...nothing, id: "scrape", name: "Web Scraper", description: "Scrapes." },
  });
  expect(problems).toEqual([]);
});

describe("on disk", () => {
  let dir: TempDir;
  beforeEach(() => {
    dir = tempDir();
  });
  afterEach(() => dir[Symbol.dispose]());

  const write = (path: string, text = "---\nname: x\ndescription: Found.\nid: skill\n---\n"): string => {
    const file = join(dir.path, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };

  test("links are followed, and loops are left", () => {
    write("elsewhere/linked/SKILL.md", "---\nname: linked\ndescription: Linked.\n---\n");
    const file = write("elsewhere/text.md", "---\nname: file\ndescription: A linked file.\n---\n");
    write("root/plain/SKILL.md", "---\nname: plain\ndescription: Plain.\n---\n");
    mkdirSync(join(dir.path, "root/file"));
    symlinkSync(file, join(dir.path, "root/file/SKILL.md"));
    symlinkSync(join(dir.path, "elsewhere/linked"), join(dir.path, "root/a-link"));
    symlinkSync(join(dir.path, "root"), join(dir.path, "root/loop"));
    symlinkSync("self", join(dir.path, "root/self"));
    symlinkSync("nowhere", join(dir.path, "root/dangling"));
    // A second name of a folder adds nothing, and takes no name away.
    symlinkSync("plain", join(dir.path, "root/a-second-name"));
    expect(discoverIn(join(dir.path, "root"))).toEqual({
      skills: { "a-link": "Linked.", file: "A linked file.", plain: "Plain." },
      problems: [
        "warning dangling: it links to nothing",
        "warning self: it links to itself",
        "warning a-link/SKILL.md:2: name should be the folder's: a-link",
      ],
    });
  });

  test("a repository's links lead nowhere else", () => {
    const secret = write("home/.ssh/id_rsa", "secret");
    write("home/other/SKILL.md");
    mkdirSync(join(dir.path, "repo/skills/a"), { recursive: true });
    symlinkSync(secret, join(dir.path, "repo/skills/a/SKILL.md"));
    symlinkSync(join(dir.path, "home/other"), join(dir.path, "repo/skills/b"));
    expect(discoverIn(join(dir.path, "repo/skills"), join(dir.path, "repo"))).toEqual({
      skills: {},
      problems: [
        "error a/SKILL.md: it links to a place outside the repository",
        "error b: it links to a place outside the repository",
      ],
    });
  });

  test("pipes, huge files and folders nobody may read are problems, not the end", () => {
    write("fine/SKILL.md");
    mkdirSync(join(dir.path, "pipe"));
    execFileSync("mkfifo", [join(dir.path, "pipe/SKILL.md")]);
    write("huge/SKILL.md", `---\nname: huge\n---\n${"x".repeat(1024 * 1024)}`);
    write("dir/SKILL.md/inner.txt", "");
    const { skills, problems } = discoverIn(dir.path);
    expect(skills).toEqual({ skill: "Found." });
    expect(problems).toContain("error pipe/SKILL.md: it is no file");
    expect(problems).toContain("error huge/SKILL.md: it is larger than 1 MB");
  });

  test.skipIf(process.getuid?.() === 0)("a folder nobody may read", () => {
    write("closed/SKILL.md");
    chmodSync(join(dir.path, "closed"), 0o000);
    expect(discoverIn(dir.path).problems).toEqual(["error closed: it cannot be read: permission denied"]);
    chmodSync(join(dir.path, "closed"), 0o700);
  });

  test("folders that hold no skills of anybody, and names that cannot be called", () => {
    write("node_modules/x/SKILL.md");
    write("bad<name>/SKILL.md", "---\nname: bad\ndescription: Bad.\n---\n");
    expect(discoverIn(dir.path)).toEqual({
      skills: {},
      problems: [
        "warning bad<name>/SKILL.md:2: name should be the folder's: bad<name>",
        'error bad<name>/SKILL.md: "bad<name>" cannot be a skill\'s name',
      ],
    });
  });

  test("a skill's folder is not searched further, the root is; the root's own skill is called root", () => {
    write("SKILL.md", "---\ndescription: The root's.\n---\n");
    write("a/SKILL.md", "---\nname: a\ndescription: A.\n---\n");
    write("a/b/SKILL.md", "---\nname: b\ndescription: B.\n---\n");
    expect(discoverIn(dir.path)).toEqual({ skills: { root: "The root's.", a: "A." }, problems: [] });
  });

  test("a root that is a file, and one that is not there", () => {
    const file = write("file", "");
    expect(discoverIn(file)).toEqual({ skills: {}, problems: ["error .: it should be a folder of skills"] });
    expect(discoverIn(join(dir.path, "nothing"))).toEqual({ skills: {}, problems: [] });
    const named: SkillRoot = { source: "project", path: join(dir.path, "nothing"), label: "--skills", named: true };
    expect(scanSkills([named], null).problems).toMatchObject([{ problem: "there is no such folder", level: "error" }]);
  });

  test("of too many folders the first are looked at", () => {
    for (let index = 0; index < 2_010; index++) mkdirSync(join(dir.path, `d${String(index).padStart(4, "0")}`));
    write("d0001/SKILL.md");
    write("d2009/SKILL.md", "---\nname: late\ndescription: Late.\n---\n");
    expect(discoverIn(dir.path).skills).toEqual({ skill: "Found." });
    expect(discoverIn(dir.path).problems).toContain("warning .: only the first 2000 folders are looked at");
  });

  test("a long head is read to its end, a longer one is refused", () => {
    const padding = (bytes: number) => `notes: |\n${`  ${"n".repeat(98)}\n`.repeat(bytes / 101)}`;
    write("long/SKILL.md", `---\nname: long\n${padding(50_000)}description: Behind it.\n---\n`);
    write("longer/SKILL.md", `---\nname: longer\n${padding(80_000)}description: Behind it.\n---\n`);
    const { skills, problems } = discoverIn(dir.path);
    expect(skills).toEqual({ long: "Behind it." });
    expect(problems).toContain("error longer/SKILL.md:1: the head has no closing --- (within 64 KB)");
  });
});
