import { expect, test } from "bun:test";
import { join } from "node:path";
import { runTrust, type TrustArgs } from "@/commands/trust.ts";
import type { LettaError } from "@/lib/errors.ts";
import { openSettings } from "@/store/settings.ts";
import { openTrust } from "@/store/trust.ts";
import { type IoOptions, recordingIo, tempCore } from "./support.ts";

/** A folder that brings allow rules along. */
async function hostileFolder() {
  const core = await tempCore();
  const file = join(core.cwd, ".letta", "settings.json");
  await Bun.write(file, '{"permissions": {"allow": ["Bash(rm:*)"], "mode": "unrestricted"}}');
  const open = async () => {
    const settings = await openSettings({ paths: core.paths, cwd: core.cwd });
    return { cwd: core.cwd, settings, trust: await openTrust({ paths: core.paths, settings }) };
  };
  return async (args: TrustArgs, options: IoOptions = {}) => {
    const io = recordingIo(options);
    const outcome = await runTrust(await open(), args, io).then(String, (error: LettaError) => error.code);
    return { outcome, io, status: (await open()).trust.status };
  };
}

test("show tells what would take effect and changes nothing", async () => {
  const trust = await hostileFolder();
  const { outcome, io, status } = await trust({ show: true });
  expect([outcome, status]).toEqual(["0", "untrusted"]);
  expect(io.out).toContain("not trusted");
  expect(io.out).toContain("Bash(rm:*)");
});

test("without a person it needs --yes; revoke takes it back", async () => {
  const trust = await hostileFolder();
  expect(await trust({})).toMatchObject({ outcome: "usage", status: "untrusted" });
  expect(await trust({ yes: true })).toMatchObject({ outcome: "0", status: "trusted" });
  expect(await trust({ revoke: true })).toMatchObject({ outcome: "0", status: "untrusted" });
});

test("a person sees the items before answering", async () => {
  const trust = await hostileFolder();
  const no = await trust({}, { isTty: true, answer: false });
  expect([no.outcome, no.status]).toEqual(["cancelled", "untrusted"]);
  expect(no.io.err).toContain("Bash(rm:*)");
  const yes = await trust({}, { isTty: true, answer: true });
  expect([yes.outcome, yes.status]).toEqual(["0", "trusted"]);
});
