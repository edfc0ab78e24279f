import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hardenEnv } from "@/shell/hardened-env.ts";

const root = mkdtempSync(join(tmpdir(), "letta-env-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("programs are not taken from where the agent, or everybody, may write", () => {
  for (const name of ["good", "open", "work/bin", "tool/shims"]) mkdirSync(join(root, name), { recursive: true });
  symlinkSync("work/bin", join(root, "link"));
  chmodSync(join(root, "open"), 0o777);
  const path = ["good", "open", "work/bin", "work", "missing", "tool/shims", "link"].map((name) => join(root, name));
  const { PATH } = hardenEnv({ PATH: [".", "bin", "", ...path].join(":") }, [join(root, "work")]);
  expect(PATH).toBe(join(root, "good"));
});

test("only variables that say where and in which language", () => {
  const env = { HOME: "/h", LANG: "C", LC_ALL: "C", LD_PRELOAD: "x", GIT_DIR: "x", "BASH_FUNC_ls%%": "() { x; }" };
  const hardened = hardenEnv(env, []);
  expect(hardened).toMatchObject({ HOME: "/h", LANG: "C", LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0" });
  for (const name of ["LD_PRELOAD", "GIT_DIR", "BASH_FUNC_ls%%"]) expect(Object.keys(hardened)).not.toContain(name);
});

test.each([
  [{ KUBECONFIG: "/h/.kube/config" }, { KUBECONFIG: "/h/.kube/config" }],
  [{ KUBECONFIG: "/h/.kube/config:/work/kube" }, { KUBECONFIG: "/dev/null" }],
  [{ KUBECONFIG: "kube" }, { KUBECONFIG: "/dev/null" }],
  [
    { XDG_CONFIG_HOME: "/h/.config", XDG_SESSION_TYPE: "tty" },
    { XDG_CONFIG_HOME: "/h/.config", XDG_SESSION_TYPE: "tty" },
  ],
  [{ XDG_CONFIG_HOME: "/work/config" }, {}],
])("configuration of %p is %p", (env, expected) => {
  const hardened = hardenEnv(env, ["/work"]);
  const kept = Object.entries(hardened).filter(([name]) => /^(?:KUBECONFIG|XDG_)/.test(name));
  expect(Object.fromEntries(kept)).toEqual(expected);
});

test("settings of a project make npm write and load nothing", () => {
  const project = mkdtempSync(join(root, "npm-"));
  const npmrc = `timing=true\nlogs-dir=./logs\ncache=${project}/cache\nonload-script=${project}/load.js\n`;
  writeFileSync(join(project, ".npmrc"), npmrc);
  writeFileSync(join(project, "package.json"), '{"name":"x","version":"1.0.0"}\n');
  const before = readdirSync(project).sort();
  const run = (env: Record<string, string | undefined>) =>
    Bun.spawnSync(["npm", "ls"], { cwd: project, env, stdin: "ignore" }).stderr.toString();
  expect(run(hardenEnv({ PATH: process.env.PATH ?? "", HOME: project }, []))).toBe("");
  expect(readdirSync(project).sort()).toEqual(before);
  // Otherwise it writes both.
  run({ PATH: process.env.PATH, HOME: project, npm_config_offline: "true" });
  expect(readdirSync(project)).toContain("logs");
});
