import { expect, test } from "bun:test";
import { formatSpec, type InstallSpec, parseInstallSpec } from "@/skills/install/spec.ts";

const context = { cwd: "/work/project", home: "/home/ann" };
const parse = (text: string) => parseInstallSpec(text, context);
const github = (owner: string, repo: string, path = "", ref: string | null = null): InstallSpec => ({
  kind: "github",
  owner,
  repo,
  ref,
  path,
});
const tree = (...branchAndPath: string[]): InstallSpec => ({
  kind: "github_tree",
  owner: "o",
  repo: "r",
  branchAndPath,
});

test.each<[string, InstallSpec]>([
  ["./kit", { kind: "local", path: "/work/project/kit" }],
  ["./a/b", { kind: "local", path: "/work/project/a/b" }],
  ["../kit.zip", { kind: "local", path: "/work/kit.zip" }],
  ["/a/b/c", { kind: "local", path: "/a/b/c" }],
  ["~/kit", { kind: "local", path: "/home/ann/kit" }],
  [".", { kind: "local", path: "/work/project" }],
  ["file:///a%20b/kit", { kind: "local", path: "/a b/kit" }],
  ["o/r", github("o", "r")],
  ["o/r.git", github("o", "r")],
  ["o/r/skills/kit", github("o", "r", "skills/kit")],
  ["o/r/skills/kit/", github("o", "r", "skills/kit")],
  ["o/r/skills/kit/SKILL.md", github("o", "r", "skills/kit")],
  ["o/r/skills/kit@v1.2", github("o", "r", "skills/kit", "v1.2")],
  ["https://github.com/o/r", github("o", "r")],
  ["https://github.com/o/r/tree/main/skills/kit", tree("main", "skills", "kit")],
  ["https://github.com/o/r/tree/main/a%20b", tree("main", "a b")],
  ["https://github.com/o/r/blob/main/skills/kit/SKILL.md", tree("main", "skills", "kit")],
  ["https://github.com/o/r/blob/main/SKILL.md?plain=1#L3", tree("main")],
  ["official/mail/kit", github("NousResearch", "hermes-agent", "optional-skills/mail/kit")],
  ["clawhub:kit", { kind: "clawhub", slug: "kit", version: null }],
  ["clawhub:kit@1.0.2", { kind: "clawhub", slug: "kit", version: "1.0.2" }],
  ["clawhub/kit", { kind: "clawhub", slug: "kit", version: null }],
  ["https://clawhub.ai/skills/kit", { kind: "clawhub", slug: "kit", version: null }],
  ["https://clawhub.ai/kit?version=2.0", { kind: "clawhub", slug: "kit", version: "2.0" }],
  ["https://example.com/a/SKILL.md#top", { kind: "text", url: "https://example.com/a/SKILL.md" }],
  ["http://localhost:1/SKILL.md", { kind: "text", url: "http://localhost:1/SKILL.md" }],
  ["https://example.com/kit.skill", { kind: "archive", url: "https://example.com/kit.skill" }],
  ["https://example.com/kit.tar.gz?x=1", { kind: "archive", url: "https://example.com/kit.tar.gz?x=1" }],
])("%s", (text, spec) => {
  expect(parse(text)).toEqual(spec);
  // What is written down means the same from anywhere.
  expect(parseInstallSpec(formatSpec(spec), { cwd: "/elsewhere", home: "/nobody" })).toEqual(spec);
});

test.each([
  ["npm:kit", "is a mod"],
  ["npm:@scope/kit", "is a mod"],
  ["git:github.com/o/r", "is a mod"],
  ["git@github.com:o/r", "is a mod"],
  ["ssh://git@github.com/o/r", "is a mod"],
  ["", "does not say where"],
  ["kit", "does not say where"],
  ["kit.zip", "does not say where"],
  ["a/kit.zip", "does not say where"],
  ["o/r/../x", "does not say where"],
  ["o/r/./x", "does not say where"],
  ["o/..", "does not say where"],
  ["-o/r", "does not say where"],
  ["o/r@../x", "does not say where"],
  ["o/r@--upload-pack=x", "does not say where"],
  ["official/../x", "does not say where"],
  ["clawhub:../x", "does not say where"],
  ["clawhub:kit@1@2", "does not say where"],
  ["https://clawhub.ai/a/b/c", "does not say where"],
  ["https://github.com/o", "does not say where"],
  ["https://github.com/o/r/tree", "does not say where"],
  ["https://github.com/o/r/tree/main/a%2f..%2fx", "does not say where"],
  ["https://github.com/o/r/blob/main/README.md", "does not say where"],
  ["https://github.com/o/r/issues/1", "does not say where"],
  ["https://github.com/%zz/r", "does not say where"],
  ["https://example.com/kit", "does not say where"],
  ["http://example.com/SKILL.md", "not encrypted"],
  ["ftp://example.com/SKILL.md", "not encrypted"],
  ["https://user:word@example.com/SKILL.md", "user name or password"],
  ["file://host/share", "names no file"],
])("not %j", (text, why) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: "usage", message: expect.stringContaining(why) }));
});

test("the way to write a name that may have been meant as a folder", () => {
  expect(() => parse("my-skill")).toThrow(expect.objectContaining({ hint: expect.stringContaining("./my-skill") }));
});
