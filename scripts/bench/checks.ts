// How many shell commands the permission checker decides in a second, with the rules a busy project has.

import { tempHome } from "../../test/support/binary.ts";

const COMMANDS = [
  "git status",
  "git diff --stat HEAD~3 -- src",
  "ls -la src | head -20",
  "grep -rn 'needle' src --include='*.ts' | sort | uniq -c",
  "cat package.json && bun test test/engine",
  "rm -rf node_modules && npm ci",
  "find . -name '*.md' -exec wc -l {} +",
  'for f in *.ts; do echo "$f"; done',
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
  "eval ".repeat(20_000),
  "eval ".repeat(3_200),
  "a".repeat(100_000),
  `git show ${"a..".repeat(5_000)}`,
  "bash -c ".repeat(12_500),
  "cat <<a\n".repeat(2_000),
  "cat ".concat("e\u0301/".repeat(5_000)),
];

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
  const check = async (count: number) => {
    for (let index = 0; index < count; index++) {
      await checker.check("Bash", [{ kind: "shell", command: COMMANDS[index % COMMANDS.length]!, cwd: home.workdir }]);
    }
  };
  await check(2_000);
  const count = 20_000;
  const startedAt = performance.now();
  await check(count);
  const perSecond = count / ((performance.now() - startedAt) / 1000);
  let worst = 0;
  for (const command of [...HOSTILE, ...HOSTILE]) {
    const from = performance.now();
    await checker.check("Bash", [{ kind: "shell", command, cwd: home.workdir }]);
    worst = Math.max(worst, performance.now() - from);
  }
  return { perSecond, worst };
}
