// The git engine on a repository of many files.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { initRepository, openRepository } from "@/store/git/repository.ts";
import { tempDir } from "../../test/support/binary.ts";

export interface RepositorySpeed {
  firstCommitMs: number;
  commitMs: number;
  statusMs: number;
  /** With nothing read yet. */
  coldCommitMs: number;
  coldStatusMs: number;
}

const RUNS = 25;

export async function measureRepository(files: number): Promise<RepositorySpeed> {
  using folder = tempDir("letta-bench-git-");
  const dir = join(folder.path, "memory");
  const repo = await initRepository(dir, { branch: "main" });
  for (let number = 0; number < files; number++) {
    const inner = join(dir, `dir${number % 40}/sub${number % 7}`);
    mkdirSync(inner, { recursive: true });
    writeFileSync(join(inner, `${number}.md`), `# Note ${number}\n\n${"What there is to remember. ".repeat(40)}\n`);
  }
  const options = { message: "bench", author: { name: "Bench", email: "bench@example.com" } };
  const change = (run: number) => [{ path: "dir3/sub3/3.md", content: new TextEncoder().encode(`version ${run}\n`) }];
  const firstCommitMs = await time(() => repo.commitPaths([], options));
  const times: Record<"commit" | "status" | "coldCommit" | "coldStatus", number[]> = {
    commit: [],
    status: [],
    coldCommit: [],
    coldStatus: [],
  };
  for (let run = 0; run < RUNS; run++) {
    times.commit.push(await time(() => repo.commitChanges(change(run), options)));
    times.status.push(await time(() => repo.status()));
    const fresh = await openRepository(dir);
    times.coldStatus.push(await time(() => fresh.status()));
    const other = await openRepository(dir);
    times.coldCommit.push(await time(() => other.commitChanges(change(run + RUNS), options)));
  }
  return {
    firstCommitMs,
    commitMs: median(times.commit),
    statusMs: median(times.status),
    coldCommitMs: median(times.coldCommit),
    coldStatusMs: median(times.coldStatus),
  };
}

async function time(action: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
