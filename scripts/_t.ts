import { readFileSync } from "node:fs";
import { worldPool, brief } from "../test/support/permission-world.ts";
const worlds = worldPool();
const world = await worlds.make({ files: { "project/src/main.ts": "x", "project/src/app.ts": "y", "project/package.json": "{}", "project/README.md": "r", "project/test/a": "" } });
let ok = 0, all = 0;
for (const line of readFileSync("test/fixtures/shell/everyday.txt", "utf8").split("\n")) {
  if (!line || line.startsWith("#")) continue;
  const v = await world.shell(line.replaceAll("/PROJECT", world.project));
  all++; if (v.behavior === "allow") ok++; else console.log(line, "→", brief(v), v.reason.detail);
}
console.log(ok, all, ok / all);
worlds.dispose();
