import { describe, expect, test } from "bun:test";
import { formatProblems, type Problem, validateChanges } from "@/memory/validate.ts";

const OK = "---\ndescription: fine\n---\nbody\n";
const LOCKED = "---\ndescription: fine\nread_only: true\n---\nbody\n";

async function validate(
  before: Record<string, string>,
  changes: Record<string, string | Uint8Array | null>,
  options: { ownerMayOverride?: boolean } = {},
): Promise<Problem[]> {
  return validateChanges({
    changes: Object.entries(changes).map(([path, content]) => ({
      path,
      content: typeof content === "string" ? Buffer.from(content) : content,
    })),
    paths: Object.keys(before),
    read: (path) => (before[path] === undefined ? null : Buffer.from(before[path])),
    ...options,
  });
}

/** `error kind path:line` of each. */
function brief(problems: Problem[]): string[] {
  return problems.map(
    ({ severity, kind, path, line }) => `${severity} ${kind} ${path}${line === null ? "" : `:${line}`}`,
  );
}

test("all of system/ together is weighed when something is added to it", async () => {
  const third = `---\ndescription: d\n---\n${"words\n".repeat(5_500)}`;
  const before = { "system/a.md": third, "system/b.md": third, "notes.md": OK };
  const total = (problems: Problem[]) => problems.filter(({ problem }) => problem.includes("of every request by now"));
  const [found, ...others] = total(await validate(before, { "system/c.md": third }));
  expect(found).toMatchObject({ path: "system/c.md", severity: "warning", kind: "size" });
  expect(found!.problem).toStartWith("system/ takes about 24,");
  expect(others).toEqual([]);
  // What takes the place of another file, or lies elsewhere, does not count twice.
  expect(total(await validate(before, { "system/c.md": third, "system/a.md": OK }))).toEqual([]);
  expect(total(await validate(before, { "system/c.md": third, "system/a.md": null }))).toEqual([]);
  expect(total(await validate({ ...before, "system/c.md": third }, { "notes.md": third }))).toEqual([]);
});

describe("heads", () => {
  test.each([
    ["system/a.md", OK, []],
    ["notes.md", "no head", ["error frontmatter notes.md"]],
    ["notes.md", "---\ndescription: x\n", ["error frontmatter notes.md:1"]],
    ["notes.md", "---\nname: x\n---\n", ["error description notes.md:1"]],
    ["notes.md", "---\nname: x\ndescription: ''\n---\n", ["error description notes.md:3"]],
    ["notes.md", "---\ndescription: x\nmood: good\n---\n", ["warning unknown_key notes.md:3"]],
    ["notes.md", "---\ndescription: x\nname: n\ntags: [a]\nupdated: y\nlimit: 1\nsource: z\n---\n", []],
    ["notes.md", "---\ndescription: a: b\n---\n", ["warning frontmatter notes.md:2"]],
    ["skills/x/SKILL.md", "anything", []],
    ["skills/x/notes.md", "anything", []],
    ["skills/x.md", OK, ["error skill_layout skills/x.md"]],
    ["memory/skills/x.md", OK, ["error skill_layout memory/skills/x.md"]],
    ["data.json", "{}", []],
  ])("%s %j", async (path, content, expected) => {
    expect(brief(await validate({}, { [path]: content }))).toEqual(expected);
  });

  test("what was missing before does not stop an edit, what an edit breaks does", async () => {
    expect(brief(await validate({ "a.md": "old" }, { "a.md": "new" }))).toEqual(["warning frontmatter a.md"]);
    expect(brief(await validate({ "a.md": OK }, { "a.md": "new" }))).toEqual(["error frontmatter a.md"]);
  });
});

describe("read-only", () => {
  test.each([
    ["edit", { "a.md": LOCKED }, { "a.md": LOCKED.replace("body", "x") }, ["error read_only a.md"]],
    ["delete", { "a.md": LOCKED }, { "a.md": null }, ["error read_only a.md"]],
    [
      "rename",
      { "a.md": LOCKED },
      { "a.md": null, "b.md": LOCKED },
      ["error read_only a.md", "error read_only b.md:3"],
    ],
    [
      "in a deleted folder",
      { "d/a.md": LOCKED, "d/b.md": OK },
      { "d/a.md": null, "d/b.md": null },
      ["error read_only d/a.md"],
    ],
    ["add", {}, { "a.md": LOCKED }, ["error read_only a.md:3"]],
    ["set", { "a.md": OK }, { "a.md": LOCKED }, ["error read_only a.md:3"]],
    ["unquote to fool", { "a.md": LOCKED }, { "a.md": OK }, ["error read_only a.md"]],
    ["remove a false one", { "a.md": LOCKED.replace("true", "false") }, { "a.md": OK }, ["error read_only a.md"]],
    [
      "keep a false one",
      { "a.md": LOCKED.replace("true", "false") },
      { "a.md": LOCKED.replace("true", "false").replace("body", "x") },
      [],
    ],
  ] as [string, Record<string, string>, Record<string, string | null>, string[]][])(
    "%s",
    async (_, before, changes, expected) => {
      expect(brief(await validate(before, changes))).toEqual(expected);
    },
  );

  test("the owner may", async () => {
    expect(await validate({ "a.md": LOCKED }, { "a.md": null }, { ownerMayOverride: true })).toEqual([]);
  });
});

describe("names", () => {
  test.each([
    [{ "system/human.md": OK }, "system/human/pets.md", "error collision system/human/pets.md"],
    [{ "system/human/pets.md": OK }, "system/human.md", "error collision system/human.md"],
    [{ "system/human/pets.md": OK }, "system/Human.md", "error collision system/Human.md"],
    [{ "notes.md": OK }, "Notes.md", "error collision Notes.md"],
    [{ "caf\u00e9.md": OK }, "cafe\u0301.md", "error collision cafe\u0301.md"],
    [{}, "a/../b.md", "error path a/../b.md"],
    [{}, "/a.md", "error path /a.md"],
    [{}, "a\\b.md", "error path a\\b.md"],
    [{}, ".GIT/x.md", "error path .GIT/x.md"],
    [{}, "a\u0007.md", "error path a\u0007.md"],
  ] as [Record<string, string>, string, string][])("%j and %j", async (before, path, expected) => {
    expect(brief(await validate(before, { [path]: OK }))).toEqual([expected]);
  });

  test("in a skill a note may stand beside a folder of its name", async () => {
    const before = { "skills/kit/SKILL.md": OK, "skills/kit/api/a.md": OK };
    expect(brief(await validate(before, { "skills/kit/api.md": OK }))).toEqual([]);
    expect(brief(await validate({ "skills/kit/api.md": OK }, { "skills/kit/api/a.md": OK }))).toEqual([]);
    expect(brief(await validate(before, { "skills/kit/API/b.md": OK, "skills/kit/API/a.md": OK }))).toEqual([
      "error collision skills/kit/API/a.md",
    ]);
  });

  test("a collision that was there does not stop an edit", async () => {
    const before = { "a.md": OK, "a/b.md": OK };
    expect(await validate(before, { "a.md": `${OK}more` })).toEqual([]);
  });

  test("a folder may take the name of a file that goes away in the same change", async () => {
    expect(await validate({ "a.md": OK }, { "a.md": null, "a/b.md": OK })).toEqual([]);
  });

  test("the persona stays", async () => {
    expect(brief(await validate({ "system/persona.md": OK }, { "system/persona.md": null }))).toEqual([
      "error persona system/persona.md",
    ]);
  });
});

describe("encoding and size", () => {
  test.each([
    [new Uint8Array([0xff, 0xfe, 0x41, 0]), "error encoding a.md"],
    [Buffer.concat([Buffer.from(OK), new Uint8Array([0])]), "error encoding a.md"],
    [Buffer.concat([Buffer.from(OK), new Uint8Array([0xc3, 0x28])]), "error encoding a.md"],
    [Buffer.from(`\ufeff${OK}`), "warning encoding a.md"],
    [Buffer.from(OK + "x".repeat(1024 * 1024)), "warning size a.md"],
    [Buffer.from(OK + "x".repeat(10 * 1024 * 1024)), "error size a.md"],
  ] as [Uint8Array, string][])("%#: %3$s", async (content, expected) => {
    expect(brief(await validate({}, { "a.md": content }))).toEqual([expected]);
  });

  test("a large file under system/ is pointed out", async () => {
    const problems = await validate({}, { "system/a.md": OK + "x".repeat(9000), "b.md": OK + "x".repeat(9000) });
    expect(brief(problems)).toEqual(["warning size system/a.md"]);
  });
});

describe("secrets", () => {
  const key = `sk-ant-api03-${"a1B2c3D4".repeat(6)}`;
  test.each(["a.md", "skills/x/run.sh", "notes.txt"])(
    "a key is refused in %s, with its line and a way out",
    async (path) => {
      const [problem] = await validate({}, { [path]: `${OK}the key is ${key}\n` });
      expect(problem).toEqual({
        path,
        line: 5,
        kind: "secret",
        severity: "error",
        problem: "this looks like a secret",
        fix: "Store it with `letta secret set NAME` and write $NAME here.",
      });
    },
  );

  test("one that was there does not stop other edits", async () => {
    const before = { "a.md": `${OK}${key}\n` };
    expect(await validate(before, { "a.md": `${OK}${key}\nmore\n` })).toEqual([]);
  });

  test("a private key over many lines", async () => {
    const pem = `-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\n`;
    expect(brief(await validate({}, { "a.md": OK + pem }))).toEqual(["error secret a.md:5"]);
  });
});

test("problems as text", async () => {
  expect(
    formatProblems(await validate({ "a.md": LOCKED }, { "a.md": null, "b.md": "---\ndescription: x\nq: 1\n---\n" })),
  ).toBe(
    [
      "a.md: this file is read-only and cannot be deleted or renamed. Leave it, or ask the person to change it.",
      "b.md:3: warning: `q` means nothing here. It is kept as it is.",
    ].join("\n"),
  );
});

test.each(["system/p\u200bersona.md", "a\u202egpj.md", "a\u0085b.md", "a\nb.md", "\ufeffa.md"])(
  "%j is no name: another would look the same",
  async (path) => {
    expect(brief(await validate({}, { [path]: OK }))).toEqual([`error path ${path}`]);
  },
);

test("names in all scripts, and emoji made of several, are names", async () => {
  for (const path of ["system/人.md", "می\u200cخواهم.md", "👩\u200d💻.md", "a b (c).md"])
    expect(await validate({}, { [path]: OK })).toEqual([]);
});

test("a secret behind the first megabyte is found, too", async () => {
  const text = `${OK}${"words\n".repeat(200_000)}sk-ant-api03-${"Ab1".repeat(31)}AA\n`;
  expect(brief(await validate({}, { "big.md": text }))).toContain("error secret big.md:200005");
});
