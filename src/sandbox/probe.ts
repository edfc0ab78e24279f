// Whether a backend really confines, tried with the shape of the real profile: what must work is done, what must fail is
// tried. A kernel or container may allow the parts and refuse the whole, or claim a mount and not make it.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "@/lib/errors.ts";
import { withInputs } from "@/lib/input-descriptors.ts";
import { createTags } from "@/lib/process-tree.ts";
import { openAttendant } from "./attendant.ts";
import { readMountInfo, realDisk } from "./disk.ts";
import { type Backend, renderLaunch } from "./launch.ts";
import { buildPolicy } from "./profiles.ts";

export type ProbeResult = { works: true } | { works: false; reason: string };

const TIMEOUT_MS = 5_000;

/** Prints one word per promise that is broken, then `done`. */
const SCRIPT = `
cd "$1" || exit 9
(echo x > work/src/ok) 2>/dev/null || echo cannot-write-inside
(echo x > "$TMPDIR/ok") 2>/dev/null || echo cannot-write-temporary-files
(echo x > other/no) 2>/dev/null && echo writes-outside
(mkdir work/.letta/mods) 2>/dev/null && echo creates-protected-names
(echo x > work/.git/config) 2>/dev/null && echo writes-protected-files
(read -r line < hidden/file) 2>/dev/null && echo reads-hidden-files
[ "$(cd work && pwd)" = "$1/work" ] || echo loses-the-working-directory
chmod 700 work/src/ok 2>/dev/null || echo cannot-change-modes-inside
chmod 777 other/file 2>/dev/null && echo changes-modes-outside
(: > /dev/null) 2>/dev/null || echo no-devices
echo done
`;

/** Never throws. Takes tens of milliseconds. */
export async function probeBackend(
  backend: Backend,
  { tmpdir, path }: { tmpdir: string; path: string },
): Promise<ProbeResult> {
  let root: string | undefined;
  try {
    root = realpathSync(mkdtempSync(join(tmpdir, "letta-probe-")));
    const output = await runProbe(backend, makeWorld(root), path);
    const lines = output.trim().split("\n");
    if (lines.length === 1 && lines[0] === "done") return { works: true };
    const reason = lines.filter((line) => line !== "done" && line !== "").join(", ");
    return { works: false, reason: reason.slice(0, 500) || "it printed nothing" };
  } catch (error) {
    return { works: false, reason: errorMessage(error) };
  } finally {
    if (root !== undefined) rmSync(root, { recursive: true, force: true });
  }
}

function makeWorld(root: string): string {
  for (const name of ["work/src", "work/.git/hooks", "work/.letta", "other", "hidden", "home", "tmp"])
    mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, "work/.git/config"), "");
  writeFileSync(join(root, "work/.letta/settings.json"), "{}");
  writeFileSync(join(root, "hidden/file"), "secret\n");
  writeFileSync(join(root, "other/file"), "");
  return root;
}

async function runProbe(backend: Backend, root: string, path: string): Promise<string> {
  const place = { workspace: [join(root, "work")], home: join(root, "home"), readable: [] };
  const hidden = join(root, "hidden");
  const policy = buildPolicy(
    {
      ...place,
      ...{ profile: "workspace", network: "off", lettaRoot: hidden, localStore: hidden, tmp: join(root, "tmp") },
      ...{ denyRead: [], deniesRead: null, guarded: [] },
    },
    realDisk,
  );
  // What is missing here is held by others in real runs; the probe has one protected name that exists.
  const command = { argv: ["/bin/sh", "-c", SCRIPT, "sh", root], cwd: root };
  const launch = renderLaunch(
    command,
    { ...policy, absent: [] },
    {
      backend,
      list: realDisk.list,
      mountInfo: readMountInfo(),
      tag: createTags()(),
      attendant: openAttendant,
    },
  );
  const child = withInputs(launch.inputs, (files) =>
    Bun.spawn(launch.argv, {
      cwd: root,
      env: { PATH: path, ...launch.env },
      stdio: ["ignore", "pipe", "pipe", ...files],
      detached: true,
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    }),
  );
  const [out, errors] = await Promise.all([
    new Response(child.stdout as ReadableStream).text(),
    new Response(child.stderr as ReadableStream).text(),
    child.exited,
  ]);
  return out.trim() === "" ? errors : out;
}
