// `bun run bench`: what DESIGN calls speed, measured on the compiled binary against a compiled hello, in the same run
// and interleaved with it, so that a busy machine slows both. Prints one row per budget; exit code 1 when one is over.
// Budgets are never tests: a slow machine must not make a change look wrong.

import { join } from "node:path";
import { tempDir, tempHome } from "../test/support/binary.ts";
import { measureChecks } from "./bench/checks.ts";
import { measureRepository } from "./bench/git.ts";
import { measureRender } from "./bench/memory.ts";
import { measureFirstDelta, measureRequests, openTurnServer } from "./bench/model.ts";
import { measureMemory, measurePrompt, measureTime } from "./bench/process.ts";
import { seedConversation } from "./bench/seed.ts";
import { measureSkills } from "./bench/skills.ts";
import { compile } from "./build.ts";

const RUNS = Number(process.env.BENCH_RUNS ?? 15);
const WARM_UP = 2;
const MB = 1024 * 1024;
const FLOOD = "head -c SIZE /dev/zero | tr '\\0' x";

interface Row {
  what: string;
  measured: string;
  budget: string;
  ok: boolean;
}

async function bench(): Promise<number> {
  using folder = tempDir("letta-bench-");
  const hello = join(folder.path, "hello");
  const letta = join(folder.path, "letta");
  await Bun.write(join(folder.path, "hello.ts"), 'console.log("hi");\n');
  await compile({ outfile: hello, entry: join(folder.path, "hello.ts") });
  await compile({ outfile: letta });
  const rows = [
    ...(await benchStart(hello, letta)),
    ...(await benchConversation(letta)),
    ...(await benchModel(letta)),
    ...(await benchChecks()),
    ...benchMemory(),
    ...(await benchRepository()),
    ...(await benchSkills()),
  ];
  printTable(rows);
  return rows.every(({ ok }) => ok) ? 0 : 1;
}

/** Floor, version, one headless turn and the first prompt, in turns. */
async function benchStart(hello: string, letta: string): Promise<Row[]> {
  const times: Record<"floor" | "version" | "turn" | "confined" | "prompt", number[]> = {
    floor: [],
    version: [],
    turn: [],
    confined: [],
    prompt: [],
  };
  await using server = await openTurnServer();
  using home = tempHome();
  const turn = [letta, ...server.args, "go"];
  const confined = [letta, ...server.args, "--sandbox", "workspace", "go"];
  for (let run = 0; run < RUNS + WARM_UP; run++) {
    times.floor.push(await measureTime([hello], home));
    times.version.push(await measureTime([letta, "--version"], home));
    times.turn.push(await measureTime(turn, home, server.env));
    times.confined.push(await measureTime(confined, home, server.env));
    times.prompt.push(await measurePrompt([letta, "--backend", "local"], home, server.env));
  }
  const floorMs = typical(times.floor);
  const floorBytes = await measureMemory([hello], home);
  const versionMs = typical(times.version);
  const versionBytes = await measureMemory([letta, "--version"], home);
  const turnMs = typical(times.turn);
  const turnBytes = await measureMemory(turn, home, server.env);
  const promptMs = typical(times.prompt);
  return [
    { what: "floor: compiled hello", measured: `${ms(floorMs)}, ${mb(floorBytes)}`, budget: "", ok: true },
    {
      what: "letta --version, time",
      measured: `${ms(versionMs)} = ${ratio(versionMs, floorMs)}`,
      budget: "≤ 1.3 × floor",
      ok: versionMs <= 1.3 * floorMs,
    },
    {
      what: "letta --version, memory",
      measured: `${mb(versionBytes)} = ${ratio(versionBytes, floorBytes)}`,
      budget: "≤ 1.2 × floor",
      ok: versionBytes <= 1.2 * floorBytes,
    },
    {
      what: "headless turn with one shell call, time",
      measured: `${ms(turnMs)} = floor + ${ms(turnMs - floorMs)}`,
      budget: "≤ floor + 150 ms",
      ok: turnMs <= floorMs + 150,
    },
    {
      what: "the same with the command in a sandbox, time",
      measured: `${ms(typical(times.confined))} = floor + ${ms(typical(times.confined) - floorMs)}`,
      budget: "≤ floor + 150 ms",
      ok: typical(times.confined) <= floorMs + 150,
    },
    {
      what: "headless turn with one shell call, memory",
      measured: `${mb(turnBytes)} = ${ratio(turnBytes, floorBytes)}`,
      budget: "≤ 110 MB",
      ok: turnBytes <= 110 * MB,
    },
    {
      what: "first prompt in the REPL",
      measured: `${ms(promptMs)} = floor + ${ms(promptMs - floorMs)}`,
      budget: "≤ floor + 60 ms",
      ok: promptMs <= floorMs + 60,
    },
  ];
}

async function benchConversation(letta: string): Promise<Row[]> {
  using home = tempHome();
  const seeded = await seedConversation(letta, home, 10_000);
  const short: number[] = [];
  const long: number[] = [];
  const open = (id: string) =>
    measurePrompt([letta, "--backend", "local", "--conv", id], home, seeded.env, /A question\./);
  for (let run = 0; run < RUNS + WARM_UP; run++) {
    short.push(await open(seeded.shortId));
    long.push(await open(seeded.longId));
  }
  const [shortMs, longMs] = [typical(short), typical(long)];
  return [
    {
      what: "opening 10,000 messages against 2, history shown",
      measured: `${ms(longMs)} / ${ms(shortMs)} = ${ratio(longMs, shortMs)}`,
      budget: "≤ 1.5 × empty",
      ok: longMs <= 1.5 * shortMs,
    },
  ];
}

async function benchSkills(): Promise<Row[]> {
  const { coldMs, unchangedMs } = await measureSkills(RUNS);
  return [
    { what: "finding 1,000 skills", measured: ms(coldMs), budget: "≤ 60 ms", ok: coldMs <= 60 },
    { what: "the same, unchanged", measured: ms(unchangedMs), budget: "≤ 5 ms", ok: unchangedMs <= 5 },
  ];
}

async function benchModel(letta: string): Promise<Row[]> {
  const requests = await measureRequests(letta);
  const firstDeltaMs = await measureFirstDelta(letta, RUNS);
  using home = tempHome();
  await using small = await openTurnServer(FLOOD.replace("SIZE", String(10 * MB)));
  await using large = await openTurnServer(FLOOD.replace("SIZE", String(100 * MB)));
  const plain = await measureMemory([letta, ...small.args, "go"], home, small.env);
  const flooded = await measureMemory([letta, ...large.args, "go"], home, large.env);
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
      what: "100 MB of tool output against 10 MB, memory",
      measured: `${mb(flooded)} / ${mb(plain)} = ${ratio(flooded, plain)}`,
      budget: "flat: ≤ 1.5 ×",
      ok: flooded <= 1.5 * plain,
    },
  ];
}

async function benchChecks(): Promise<Row[]> {
  const { perSecond, worst } = await measureChecks();
  return [
    {
      what: "permission checks of shell commands",
      measured: `${Math.round(perSecond).toLocaleString("en")}/s`,
      budget: "≥ 20,000/s",
      ok: perSecond >= 20_000,
    },
    {
      what: "permission check of the worst hostile text",
      measured: `${worst.toFixed(1)} ms`,
      budget: "≤ 50 ms",
      ok: worst <= 50,
    },
  ];
}

function benchMemory(): Row[] {
  const renderMs = measureRender();
  return [
    {
      what: "memory of 2,000 files into the prompt",
      measured: `${renderMs.toFixed(1)} ms`,
      budget: "≤ 20 ms",
      ok: renderMs <= 20,
    },
  ];
}

async function benchRepository(): Promise<Row[]> {
  const small = await measureRepository(2_000);
  const large = await measureRepository(20_000);
  return [
    {
      what: "memory of 2,000 files: commit of one",
      measured: `${ms(small.commitMs)}, in a new process ${ms(small.coldCommitMs)}`,
      budget: "≤ 15 ms",
      ok: small.commitMs <= 15,
    },
    {
      what: "memory of 2,000 files: status",
      measured: `${ms(small.statusMs)}, in a new process ${ms(small.coldStatusMs)}`,
      budget: "≤ 30 ms",
      ok: small.statusMs <= 30,
    },
    {
      what: "memory of 20,000 files: commit of one, status, first commit",
      measured: `${ms(large.commitMs)}, ${ms(large.statusMs)}, ${ms(large.firstCommitMs)}`,
      budget: "",
      ok: true,
    },
  ];
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

/** Median without the first runs, which warm the file cache. */
function typical(values: number[]): number {
  const sorted = values.slice(WARM_UP).toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;
const mb = (bytes: number): string => `${(bytes / MB).toFixed(0)} MB`;
const ratio = (value: number, base: number): string => `${(value / base).toFixed(2)} ×`;

process.exitCode = await bench();
