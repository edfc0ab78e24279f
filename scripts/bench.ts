// `bun run bench`: what DESIGN calls speed, measured on the compiled binary against a compiled hello, in the same run
// and interleaved with it, so that a busy machine slows both. Prints one row per budget; exit code 1 when one is over.
// Budgets are never tests: a slow machine must not make a change look wrong.

import { join } from "node:path";
import { tempDir, tempHome } from "../test/support/binary.ts";
import { measureChecks } from "./bench/checks.ts";
import { measureFirstDelta, measureRequests } from "./bench/model.ts";
import { measureProcess, measurePrompt, type Sample } from "./bench/process.ts";
import { seedConversation } from "./bench/seed.ts";
import { compile } from "./build.ts";

const RUNS = Number(process.env.BENCH_RUNS ?? 15);
const MB = 1024 * 1024;

interface Row {
  what: string;
  measured: string;
  budget: string;
  ok: boolean;
}

using folder = tempDir("letta-bench-");
const hello = join(folder.path, "hello");
const letta = join(folder.path, "letta");
await Bun.write(join(folder.path, "hello.ts"), 'console.log("hi");\n');
await compile({ outfile: hello, entry: join(folder.path, "hello.ts") });
await compile({ outfile: letta });

const rows = [...(await benchStart()), ...(await benchConversation()), ...(await benchModel()), await benchChecks()];
printTable(rows);
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;

/** Floor, version and one headless turn, in turns. */
async function benchStart(): Promise<Row[]> {
  const floor: Sample[] = [];
  const version: Sample[] = [];
  const turn: Sample[] = [];
  const prompt: number[] = [];
  const { openTurnServer } = await import("./bench/model.ts");
  await using server = await openTurnServer();
  using home = tempHome();
  for (let run = 0; run < RUNS + 2; run++) {
    floor.push(await measureProcess([hello], home));
    version.push(await measureProcess([letta, "--version"], home));
    turn.push(await measureProcess([letta, ...server.args, "go"], home, server.env));
    prompt.push(await measurePrompt([letta, "--backend", "local"], home, server.env));
  }
  const base = typical(floor);
  const [versionAt, turnAt] = [typical(version), typical(turn)];
  const promptMs = median(prompt.slice(2));
  return [
    { what: "floor: compiled hello", measured: show(base), budget: "", ok: true },
    {
      what: "letta --version, time",
      measured: `${ms(versionAt.wallMs)} = ${ratio(versionAt.wallMs, base.wallMs)}`,
      budget: "≤ 1.3 × floor",
      ok: versionAt.wallMs <= 1.3 * base.wallMs,
    },
    {
      what: "letta --version, memory",
      measured: `${mb(versionAt.rssBytes)} = ${ratio(versionAt.rssBytes, base.rssBytes)}`,
      budget: "≤ 1.2 × floor",
      ok: versionAt.rssBytes <= 1.2 * base.rssBytes,
    },
    {
      what: "headless turn with one shell call, time",
      measured: `${ms(turnAt.wallMs)} = floor + ${ms(turnAt.wallMs - base.wallMs)}`,
      budget: "≤ floor + 150 ms",
      ok: turnAt.wallMs <= base.wallMs + 150,
    },
    {
      what: "headless turn with one shell call, memory",
      measured: `${mb(turnAt.rssBytes)} = ${ratio(turnAt.rssBytes, base.rssBytes)}`,
      budget: "≤ 110 MB",
      ok: turnAt.rssBytes <= 110 * MB,
    },
    {
      what: "first prompt in the REPL",
      measured: `${ms(promptMs)} = floor + ${ms(promptMs - base.wallMs)}`,
      budget: "≤ floor + 60 ms",
      ok: promptMs <= base.wallMs + 60,
    },
  ];
}

async function benchConversation(): Promise<Row[]> {
  using home = tempHome();
  const seeded = await seedConversation(letta, home, 10_000);
  const empty: number[] = [];
  const full: number[] = [];
  for (let run = 0; run < RUNS + 2; run++) {
    empty.push(await measurePrompt([letta, "--backend", "local", "--conv", seeded.emptyId], home, seeded.env));
    full.push(await measurePrompt([letta, "--backend", "local", "--conv", seeded.fullId], home, seeded.env));
  }
  const [emptyMs, fullMs] = [median(empty.slice(2)), median(full.slice(2))];
  return [
    {
      what: "opening 10,000 messages against none",
      measured: `${ms(fullMs)} / ${ms(emptyMs)} = ${ratio(fullMs, emptyMs)}`,
      budget: "≤ 1.5 × empty",
      ok: fullMs <= 1.5 * emptyMs,
    },
  ];
}

async function benchModel(): Promise<Row[]> {
  const requests = await measureRequests(letta);
  const firstDeltaMs = await measureFirstDelta(letta, RUNS);
  using home = tempHome();
  const { openTurnServer } = await import("./bench/model.ts");
  await using small = await openTurnServer();
  await using large = await openTurnServer("head -c 104857600 /dev/zero | tr '\\0' x");
  const plain = await measureProcess([letta, ...small.args, "go"], home, small.env);
  const flooded = await measureProcess([letta, ...large.args, "go"], home, large.env);
  return [
    {
      what: "first request: system prompt and tools",
      measured: `${(requests.firstBytes / 1024).toFixed(1)} KB`,
      budget: "≤ 24 KB",
      ok: requests.firstBytes <= 24 * 1024,
    },
    {
      what: "prefix between turns",
      measured: requests.stablePrefix ? "unchanged" : "changed",
      budget: "unchanged",
      ok: requests.stablePrefix,
    },
    {
      what: "a streamed piece, from socket to stdout",
      measured: ms(firstDeltaMs),
      budget: "≤ 5 ms",
      ok: firstDeltaMs <= 5,
    },
    {
      what: "100 MB of tool output, memory",
      measured: `${mb(flooded.rssBytes)} against ${mb(plain.rssBytes)}`,
      budget: "flat: ≤ + 40 MB",
      ok: flooded.rssBytes <= plain.rssBytes + 40 * MB,
    },
  ];
}

async function benchChecks(): Promise<Row> {
  const perSecond = await measureChecks();
  return {
    what: "permission checks of shell commands",
    measured: `${Math.round(perSecond).toLocaleString("en")}/s`,
    budget: "≥ 20,000/s",
    ok: perSecond >= 20_000,
  };
}

function printTable(rows: Row[]): void {
  const cells = [
    ["what", "measured", "budget", ""],
    ...rows.map(({ what, measured, budget, ok }) => [what, measured, budget, budget ? (ok ? "OK" : "OVER") : ""]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column]!))));
  for (const row of cells) {
    console.log(
      row
        .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell))))
        .join("  ")
        .trimEnd(),
    );
  }
  console.log(`\nmedians of ${RUNS} interleaved runs`);
}

/** The first two runs warm the file cache. */
function typical(samples: Sample[]): Sample {
  const counted = samples.slice(2);
  return {
    wallMs: median(counted.map(({ wallMs }) => wallMs)),
    rssBytes: median(counted.map(({ rssBytes }) => rssBytes)),
  };
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const show = ({ wallMs, rssBytes }: Sample): string => `${ms(wallMs)}, ${mb(rssBytes)}`;
const ms = (value: number): string => `${value.toFixed(1)} ms`;
const mb = (bytes: number): string => `${(bytes / MB).toFixed(0)} MB`;
const ratio = (value: number, base: number): string => `${(value / base).toFixed(2)} ×`;
