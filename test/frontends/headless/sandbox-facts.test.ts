import { expect, test } from "bun:test";
import type { App } from "@/app.ts";
import { sandboxFacts } from "@/frontends/headless/init.ts";
import { type SandboxStatus, withoutSandbox } from "@/sandbox/types.ts";

const STATUS: SandboxStatus = { profile: "workspace", backend: "bwrap", network: "off", source: "user settings" };

test.each([
  ["commands are confined", STATUS, true, { backend: "bwrap", profile: "workspace" }],
  ["a profile is wanted and nothing works", { ...STATUS, backend: "none" }, false, { backend: "none", profile: "off" }],
] as const)("where %s", (_, status, active, facts) => {
  const services = { sandbox: { ...withoutSandbox(), status, active } } as unknown as App["services"];
  expect(sandboxFacts({ services })).toEqual(facts);
});
