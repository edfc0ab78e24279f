import { expect, test } from "bun:test";
import { resolveSandbox } from "@/sandbox/settings.ts";
import type { SandboxSettings } from "@/store/settings.ts";

type Layers = Partial<Record<"managed" | "user" | "project" | "local", SandboxSettings>>;

const settings = (layers: Layers) =>
  Object.fromEntries(
    (["managed", "user", "project", "local"] as const).map((name) => [name, { sandbox: layers[name] }]),
  ) as {
    managed: { sandbox: SandboxSettings | undefined };
    user: { sandbox: SandboxSettings | undefined };
    project: { sandbox: SandboxSettings | undefined };
    local: { sandbox: SandboxSettings | undefined };
  };

test.each([
  ["nothing", {}, undefined, "workspace", "default"],
  ["the user", { user: { mode: "off" } }, undefined, "off", "user settings"],
  ["a flag over the user", { user: { mode: "strict" } }, "off", "off", "flag"],
  ["the administrator over a flag", { managed: { mode: "workspace" } }, "off", "workspace", "managed settings"],
  ["a stricter flag than the administrator", { managed: { mode: "workspace" } }, "strict", "strict", "flag"],
  ["a project asking for less", { project: { mode: "strict" } }, undefined, "strict", "project settings"],
  ["a project asking for more", { project: { mode: "off" } }, undefined, "workspace", "default"],
  [
    "local settings asking for more",
    { user: { mode: "strict" }, local: { mode: "off" } },
    undefined,
    "strict",
    "user settings",
  ],
  ["an older name", { user: { mode: "read-only" } }, undefined, "strict", "user settings"],
  ["a typing error", { user: { mode: "wrokspace" } }, undefined, "strict", "user settings"],
] as const)("%s", (_, layers, flag, mode, source) => {
  const choice = resolveSandbox(settings(layers), { ...(flag && { flag }), fallback: "workspace" });
  expect([choice.mode, choice.source]).toEqual([mode, source]);
});

test("a project opens nothing and closes what it likes", () => {
  const project = { network: "on", writableRoots: ["/"], denyRead: ["keys"], autoAllowShell: true };
  expect(resolveSandbox(settings({ project }), { fallback: "workspace" })).toEqual({
    mode: "workspace",
    source: "default",
    network: "off",
    writableRoots: [],
    denyRead: ["keys"],
    failIfUnavailable: false,
    autoAllowShell: false,
  });
  const user = { network: "on", autoAllowShell: true };
  const closed = resolveSandbox(settings({ user, project: { network: "off", autoAllowShell: false } }), {
    fallback: "off",
  });
  expect([closed.network, closed.autoAllowShell]).toEqual(["off", false]);
  const open = resolveSandbox(settings({ user }), { fallback: "off" });
  expect([open.network, open.autoAllowShell]).toEqual(["on", true]);
});

test("a list of allowed hosts is refused, and in a project it means no network", () => {
  const network = "allowlist";
  for (const layer of ["user", "managed"] as const)
    expect(() => resolveSandbox(settings({ [layer]: { network } }), { fallback: "off" })).toThrow(
      'sandbox.network must be on or off, not "allowlist"',
    );
  const layers = { user: { network: "on" }, project: { network } };
  expect(resolveSandbox(settings(layers), { fallback: "off" }).network).toBe("off");
});
