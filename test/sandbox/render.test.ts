// What kernels are told for one policy, as reviewed files: any change of it shows in a diff.

import { expect, test } from "bun:test";
import { renderBwrap } from "@/sandbox/bwrap.ts";
import { planLandlock } from "@/sandbox/landlock.ts";
import { renderSeatbelt } from "@/sandbox/seatbelt.ts";
import { expectGolden } from "../support/golden.ts";
import { HOME_DISK, policyOf, tableDisk } from "./policy-world.ts";

const MOUNTS = `21 1 259:0 / / rw - ext4 /dev/root rw
22 21 0:6 / /dev rw - devtmpfs none rw
30 21 0:40 /@home /home rw - btrfs /dev/sdb rw
`;
const facts = { bwrap: "/usr/bin/bwrap", cwd: "/home/ann/app", seccompFd: 3, mountInfo: MOUNTS };
const { list } = tableDisk(HOME_DISK);

test.each([
  ["workspace", policyOf()],
  ["strict", policyOf({ profile: "strict", network: "on" })],
  ["memory-subagent", policyOf({ profile: "memory-subagent", memory: ["/home/ann/.letta/agents"] })],
])("%s", (name, policy) => {
  const lines = (argv: string[]) => argv.join("\n").replace(/^(--\S+)\n(?!--)/gm, "$1 ");
  const plan = planLandlock(policy, 7, list);
  const grants = plan.grants.map(({ path, access }) => `${access.toString(2).padStart(16, "0")} ${path}`).sort();
  expectGolden(`sandbox/${name}.bwrap`, `${lines(renderBwrap(policy, facts))}\n`);
  expectGolden(`sandbox/${name}.seatbelt`, `${renderSeatbelt(policy).join("\n")}\n`);
  expectGolden(
    `sandbox/${name}.landlock`,
    `handled ${plan.handled.toString(2)}\nscoped ${plan.scoped}\n${grants.join("\n")}\n`,
  );
});

test("an older Landlock gets no bit it does not know", () => {
  const plan = planLandlock(policyOf(), 3, list);
  expect(plan).toMatchObject({ handled: 0b111_1111_1111_1111, scoped: 0 });
  expect(plan.grants.every(({ access }) => (access & ~plan.handled) === 0)).toBe(true);
});

test("nothing is granted on or above what is hidden or held", () => {
  const { grants } = planLandlock(policyOf(), 7, list);
  const write = 1 << 1;
  const granted = (path: string, bit: number) =>
    grants.some((grant) => (grant.access & bit) !== 0 && (path === grant.path || path.startsWith(`${grant.path}/`)));
  const read = 1 << 2;
  expect(
    ["/home/ann/.ssh/id", "/home/ann/.letta/agents/a", "/etc/shadow", "/dev/sda"].filter((path) => granted(path, read)),
  ).toEqual([]);
  expect(
    [
      "/home/ann/app/.git/hooks/x",
      "/home/ann/app/.git/config",
      "/home/ann/app/.letta/x",
      "/home/ann/.bashrc",
      "/etc/x",
    ].filter((path) => granted(path, write)),
  ).toEqual([]);
  expect([
    granted("/home/ann/app/src/x", write),
    granted("/home/ann/notes/x", read),
    granted("/var/private/x", write),
  ]).toEqual([true, true, true]);
});
