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

test("names that must not appear are those that do not exist", () => {
  expect(policyOf().absent).toEqual([`${APP}/.envrc`, `${APP}/.letta`, `${APP}/.mcp.json`]);
  const bare: DiskTable = { [`${APP}/src`]: "directory", "/var/private": "directory" };
  expect(policyOf({}, bare).absent).toEqual([`${APP}/.envrc`, `${APP}/.git`, `${APP}/.letta`, `${APP}/.mcp.json`]);
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
      ...[".envrc", ".git", ".letta", ".mcp.json"].map((name) => `${APP}/src/${name}`),
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
