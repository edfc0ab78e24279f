import { describe, expect, test } from "bun:test";
import { accessOf } from "@/sandbox/policy.ts";
import { type DiskTable, HOME_DISK, policyOf } from "./policy-world.ts";

const APP = "/home/ann/app";

test.each([
  [`${APP}/src/a.ts`, "write"],
  [`${APP}/.git/objects/aa`, "write"],
  [`${APP}/.git/hooks/pre-commit`, "read"],
  [`${APP}/.git/config`, "read"],
  ["/home/ann/notes/a", "read"],
  ["/home/ann/.bashrc", "read"],
  ["/home/ann/.ssh/config", "hidden"],
  ["/home/ann/.netrc", "hidden"],
  ["/home/ann/.letta/agents/x/memory", "hidden"],
  ["/home/ann/.letta/settings.json", "hidden"],
  ["/home/ann/.letta/bin/rg", "read"],
  ["/etc/shadow", "hidden"],
  ["/etc/hosts", "read"],
  ["/var/private/x", "write"],
] as const)("workspace: %s is %s", (path, access) => expect(accessOf(path, policyOf().rules)).toBe(access));

test("strict writes nothing but temporary files", () => {
  const { rules } = policyOf({ profile: "strict" });
  expect(rules.filter(({ access }) => access === "write").map(({ path }) => path)).toEqual(["/var/private"]);
});

/** At every place somebody works from. */
const ABSENT = [".circleci", ".envrc", ".git", ".github", ".gitlab-ci.yml", ".husky", ".idea", ".letta", ".mcp.json"];
ABSENT.push(".vscode");
const below = (place: string, names: readonly string[]) => names.map((name) => `${place}/${name}`);

test("names that must not appear are those that do not exist", () => {
  const inGit = [".git/config.worktree", ".git/modules"];
  const known = [...ABSENT.filter((name) => name !== ".git"), ...inGit].sort();
  expect(policyOf().absent).toEqual(below(APP, known));
  expect(policyOf().absentFiles).toEqual([`${APP}/.git/config.worktree`]);
  const bare: DiskTable = { [`${APP}/src`]: "directory", "/var/private": "directory" };
  expect(policyOf({}, bare).absent).toEqual(below(APP, ABSENT));
  const github: DiskTable = { ...bare, [`${APP}/.github`]: "directory" };
  expect(policyOf({}, github).absent).toContain(`${APP}/.github/workflows`);
});

test("a held name of a killed run counts as absent", () => {
  expect(policyOf({}, { ...HOME_DISK, [`${APP}/.letta`]: "placeholder" }).absent).toContain(`${APP}/.letta`);
});

describe("roots", () => {
  test.each([
    ["the home directory", ["/home/ann"]],
    ["above it", ["/home"]],
    ["the whole disk", ["/"]],
    ["the system's configuration", ["/etc"]],
  ])("%s is no workspace", (_, workspace) => {
    expect(policyOf({ workspace }).rules.filter(({ access }) => access === "write")).toHaveLength(1);
  });

  test("one inside another is protected like it", () => {
    expect(policyOf({ workspace: [`${APP}/src`, APP] }).absent).toEqual([
      ...policyOf().absent,
      ...below(`${APP}/src`, ABSENT),
    ]);
  });
});

describe("links", () => {
  test("a protected name that is a link opens nothing", () => {
    const { rules } = policyOf({}, { ...HOME_DISK, [`${APP}/.vscode`]: "link:/home/ann/.letta/agents" });
    expect(accessOf("/home/ann/.letta/agents/x", rules)).toBe("hidden");
  });

  test("hooks that are a link hold the directory they are in", () => {
    const { rules } = policyOf({}, { ...HOME_DISK, [`${APP}/.git/hooks`]: `link:${APP}/src` });
    expect([accessOf(`${APP}/.git/x`, rules), accessOf(`${APP}/src/x`, rules)]).toEqual(["read", "write"]);
  });
});

test("denyRead hides also inside the workspace", () => {
  expect(accessOf(`${APP}/src/key`, policyOf({ denyRead: [`${APP}/src`] }).rules)).toBe("hidden");
});
