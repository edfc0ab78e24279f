export async function runCli(argv: string[]): Promise<number> {
  process.stderr.write(`Error: unknown argument "${argv[0] ?? ""}"\n`);
  return 2;
}
