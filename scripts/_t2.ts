import { readFileSync, symlinkSync } from "node:fs";
import { worldPool } from "../test/support/permission-world.ts";
import { hardenEnv } from "@/shell/hardened-env.ts";
const worlds = worldPool();
const world = await worlds.make({ files: { "project/src/main.ts": "import foo from 'x';\nexport function needle() {}\n// TODO error\n", "project/src/app.ts": "y\n", "project/package.json": '{"name":"a","version":"1","scripts":{"t":"x"}}', "project/README.md": "r\n", "project/test/a": "foo\n", "project/.env": "SECRET=foo" } });
const sh = (c: string, env = process.env as Record<string,string>) => Bun.spawnSync(["bash", "--noprofile", "--norc", "-c", c], { cwd: world.project, env, stdin: "ignore" });
sh("rm -rf .git; git init -q -b main; git config user.name A; git config user.email a@b; git remote add origin https://x.test/y; git add src package.json; git commit -qm one; echo z >> src/app.ts; git commit -qam two; git tag v1; echo w >> src/app.ts");
for (const line of readFileSync("test/fixtures/shell/everyday.txt", "utf8").split("\n")) {
  if (!line || line.startsWith("#") || /^(ps|date|uptime|df|docker|kubectl|gh|which)/.test(line)) continue;
  const cmd = line.replaceAll("/PROJECT", world.project);
  const v = await world.shell(cmd);
  if (v.behavior !== "allow") { console.log("ASK", line, v.reason.detail); continue; }
  const a = sh(cmd, { ...process.env as Record<string,string>, HOME: world.home }), b = sh(v.run!.command, hardenEnv({ ...process.env as Record<string,string>, HOME: world.home }, v.run!.closedRoots));
  if (a.stdout.toString() !== b.stdout.toString() || a.exitCode !== b.exitCode) console.log("DIFF", line, "\n  ", v.run!.command, a.exitCode, b.exitCode, JSON.stringify(a.stdout.toString().slice(0,200)), JSON.stringify(b.stdout.toString().slice(0,200)), b.stderr.toString().slice(0, 200));
}
worlds.dispose();
