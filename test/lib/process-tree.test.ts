import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { killTree, MARK_VARIABLE } from "@/lib/process-tree.ts";

// Each link has a session of its own, ignores what can be ignored, starts its successor and ends. Ends itself after 25 s.
const CHAINS = `
use POSIX; $SIG{INT} = $SIG{TERM} = $SIG{HUP} = 'IGNORE';
my $end = time + 25;
for (1 .. 12) {
  next if fork;
  while (time < $end) { my $next = fork; exit if $next; POSIX::setsid(); select undef, undef, undef, 0.002; }
  exit;
}
print "started\\n"; close STDOUT; sleep 1;
`;

test.skipIf(process.platform !== "linux")("chains of processes that hand over to successors end, too", async () => {
  const mark = crypto.randomUUID();
  const child = Bun.spawn(["perl", "-e", CHAINS], {
    env: { PATH: process.env.PATH ?? "", [MARK_VARIABLE]: mark },
    stdout: "pipe",
    detached: true,
  });
  await child.stdout.getReader().read();
  while (marked(mark).length < 4) await Bun.sleep(1);
  await killTree({ pid: child.pid, mark }, { afterIntMs: 10, afterTermMs: 10 });
  // Each link lives for milliseconds: a look at one moment may miss one, a hundred looks do not.
  expect(Array.from({ length: 100 }, () => marked(mark)).flat()).toEqual([]);
});

/** Living processes. */
function marked(mark: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, "latin1").includes(mark);
    } catch {
      return false;
    }
  });
}
