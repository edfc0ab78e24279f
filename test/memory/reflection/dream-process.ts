// `dream-process.ts <dir> <kind> <step>`: one dream in a world that exists, killed at that step.

import { runDream } from "@/memory/reflection/dream.ts";
import { dreamWorld } from "./dream-world.ts";

const [dir, kind, step] = process.argv.slice(2);
await using world = await dreamWorld(dir);
const deps = world.deps(kind!, (reached) => {
  if (reached === step) process.kill(process.pid, "SIGKILL");
});
console.log((await runDream(world.request(), deps)).status);
