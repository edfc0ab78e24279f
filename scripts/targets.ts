// The platforms `letta` is released for, and the npm packages whose binaries each executable embeds. install.sh
// derives the same names from `uname`; test/e2e/install.test.ts holds the two together.

export interface Target {
  /** Name in release files: `letta-<name>`. */
  name: string;
  /** What Bun calls it. */
  bun: Bun.Build.CompileTarget;
  /** npm package holding this platform's Bun runtime. */
  runtimePackage: string;
  /** npm package holding this platform's ripgrep; on Linux it is static and serves glibc and musl. */
  ripgrepPackage: string;
  /** `.exe` on Windows. */
  suffix: "" | ".exe";
}

export const TARGETS: Target[] = [
  target("linux-x64", "bun-linux-x64", "linux-x64", "linux-x64"),
  target("linux-arm64", "bun-linux-arm64", "linux-aarch64", "linux-arm64"),
  target("linux-x64-musl", "bun-linux-x64-musl", "linux-x64-musl", "linux-x64"),
  target("linux-arm64-musl", "bun-linux-arm64-musl", "linux-aarch64-musl", "linux-arm64"),
  target("darwin-x64", "bun-darwin-x64", "darwin-x64", "darwin-x64"),
  target("darwin-arm64", "bun-darwin-arm64", "darwin-aarch64", "darwin-arm64"),
  target("windows-x64", "bun-windows-x64", "windows-x64", "win32-x64", ".exe"),
];

function target(
  name: string,
  bun: Bun.Build.CompileTarget,
  runtime: string,
  ripgrep: string,
  suffix: Target["suffix"] = "",
): Target {
  const packages = { runtimePackage: `@oven/bun-${runtime}`, ripgrepPackage: `@vscode/ripgrep-${ripgrep}` };
  return { name, bun, ...packages, suffix };
}
