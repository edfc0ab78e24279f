// How many shell commands the permission checker decides in a second, with the rules a busy project has.

import { existsSync, readFileSync } from "node:fs";
import { tempHome } from "../../test/support/binary.ts";

/** No two alike: what is measured is deciding, not remembering. */
const COMMANDS: ((number: number) => string)[] = [
  (number) => `git status --short -- src/${number}`,
  (number) => `git diff --stat HEAD~${number} -- src`,
  (number) => `ls -la src | head -${number}`,
  (number) => `grep -rn 'needle ${number}' src --include='*.ts' | sort | uniq -c`,
  (number) => `cat package.json && bun test test/engine-${number}`,
  (number) => `rm -rf node_modules/${number} && npm ci`,
  (number) => `find . -name '*${number}.md' -exec wc -l {} +`,
  (number) => `for f in ${number}*.ts; do echo "$f"; done`,
];

/** Texts made to take long, of the length a model can send. */
const HOSTILE = [
  "ls ".repeat(34_000),
  "(".repeat(10_000) + ")".repeat(10_000),
  "$(".repeat(8_000),
  "ls \u0000".repeat(20_000),
  "\ud800".repeat(50_000),
  "sudo ".repeat(20_000),
  "touch ".concat("a/b ".repeat(25_000)),
  "cat ".concat("*/* ".repeat(4_000)),
  ">a".repeat(8_000),
  "eval '".repeat(2_500),
  "cd a; touch b; ".repeat(6_000),
  Array.from({ length: 500 }, (_, index) => `cd d${index % 20}; cat f${index}`).join("; "),
  "eval ".repeat(20_000),
  "eval ".repeat(3_200),
  "a".repeat(100_000),
  `git show ${"a..".repeat(5_000)}`,
  "bash -c ".repeat(12_500),
  "cat <<a\n".repeat(2_000),
  "cat ".concat("e\u0301/".repeat(5_000)),
];

const CHECKS = 20_000;

export interface CheckSpeed {
  perSecond: number;
  /** Milliseconds of the slowest hostile text. */
  worst: number;
}

export async function measureChecks(): Promise<CheckSpeed> {
  using home = tempHome();
  const { createPermissionChecker } = await import("@/permissions/checker.ts");
  const { readEnv } = await import("@/store/env.ts");
  const { resolvePaths } = await import("@/store/paths.ts");
  const { openSettings } = await import("@/store/settings.ts");
  const { openTrust } = await import("@/store/trust.ts");
  const paths = resolvePaths(readEnv({ HOME: home.path }));
  const settings = await openSettings({ paths, cwd: home.workdir });
  const checker = createPermissionChecker({
    settings,
    trust: await openTrust({ paths, settings }),
    paths,
    cwd: home.workdir,
    allowedTools: ["Bash(git diff:*)", "Bash(bun test:*)", "Read(src/**)", "Bash(npm run:*)"],
    disallowedTools: ["Bash(rm -rf:*)", "Read(.env)"],
    interactive: true,
  });
  const startedAt = threadTime();
  // From the first one: nothing is warmed up.
  for (let index = 0; index < CHECKS; index++) {
    const command = COMMANDS[index % COMMANDS.length]!(index);
    await checker.check("Bash", [{ kind: "shell", command, cwd: home.workdir }]);
  }
  const perSecond = CHECKS / ((threadTime() - startedAt) / 1000);
  let worst = 0;
  for (const command of [...HOSTILE, ...HOSTILE]) {
    const from = threadTime();
    await checker.check("Bash", [{ kind: "shell", command, cwd: home.workdir }]);
    worst = Math.max(worst, threadTime() - from);
  }
  return { perSecond, worst };
}

/** Milliseconds this thread had the processor: what a clock would show if nothing else ran on the machine. Where the
 *  system does not say, what a clock shows. */
function threadTime(): number {
  const file = `/proc/self/task/${process.pid}/schedstat`;
  if (!existsSync(file)) return performance.now();
  return Number(readFileSync(file, "utf8").split(" ")[0]) / 1e6;
}
