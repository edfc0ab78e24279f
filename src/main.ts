// argv in, exit code out: the only file that may end the process. Nothing heavy is imported before it is known what
// was asked: `letta --version` must cost no more than printing a line.

import { VERSION } from "./version.ts";

async function main(argv: string[]): Promise<number> {
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-v" || argv[0] === "version")) {
    // Not process.stdout: creating that stream costs 9 ms and 9 MB, three times this command's whole budget.
    console.log(`${VERSION} (letta)`);
    return 0;
  }
  if (argv[0] === "__sandbox-exec") {
    const { execInSandbox } = await import("./sandbox/exec.ts");
    return execInSandbox(argv.slice(1));
  }
  const { runCli } = await import("./cli.ts");
  return runCli(argv);
}

// Everybody below has drained its own output when its promise resolves; an open stdin or a timer must not keep us.
process.exit(await main(process.argv.slice(2)));
