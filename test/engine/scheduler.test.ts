import { expect, test } from "bun:test";
import { conflicts, runScheduled } from "@/engine/scheduler.ts";
import type { Resource } from "@/tools/define-tool.ts";

const read = (path?: string): Resource => ({ kind: "read", ...(path && { path }) });
const write = (path: string): Resource => ({ kind: "write", path });
const barrier: Resource = { kind: "barrier" };

test.each([
  [read("/a"), read("/a"), false],
  [read("/a"), write("/a"), true],
  [write("/a"), read("/a"), true],
  [write("/a"), write("/b"), false],
  [read("/src"), write("/src/a.ts"), true],
  [read("/src"), write("/srcs/a.ts"), false],
  [read(), write("/a"), true],
  [barrier, read("/a"), true],
  [read("/a"), barrier, true],
  [null, barrier, false],
] as const)("%o then %o conflict: %p", (earlier, later, expected) => {
  expect(conflicts(earlier, later)).toBe(expected);
});

/** Records when calls start and end; each ends only when its gate opens. */
function harness(resources: (Resource | null)[]) {
  const log: string[] = [];
  const gates = resources.map(() => Promise.withResolvers<void>());
  const done = runScheduled(
    resources.map((resource, index) => ({
      resource,
      run: async () => {
        log.push(`start ${index}`);
        await gates[index]!.promise;
        log.push(`end ${index}`);
        return index;
      },
    })),
  );
  return { log, open: (index: number) => gates[index]!.resolve(), done };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("a shell between two edits of one batch never overlaps them; results keep call order", async () => {
  const run = harness([write("/a"), barrier, write("/a"), read("/b")]);
  await settled();
  expect(run.log).toEqual(["start 0"]);
  run.open(0);
  await settled();
  expect(run.log).toEqual(["start 0", "end 0", "start 1"]);
  run.open(1);
  await settled();
  expect(run.log.slice(3)).toEqual(["end 1", "start 2", "start 3"]);
  run.open(3);
  run.open(2);
  expect(await run.done).toEqual([0, 1, 2, 3]);
});

test("reads run together; a write of one of the files waits for its reader only", async () => {
  const run = harness([read("/a"), read("/b"), write("/a")]);
  await settled();
  expect(run.log).toEqual(["start 0", "start 1"]);
  run.open(0);
  await settled();
  expect(run.log).toContain("start 2");
  run.open(1);
  run.open(2);
  await run.done;
});

test("when one throws, what waits for it never runs and what runs beside it ends first", async () => {
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const done = runScheduled([
    { resource: write("/a"), run: () => Promise.reject(new Error("full")) },
    { resource: write("/a"), run: async () => void log.push("after") },
    {
      resource: write("/b"),
      run: async () => {
        await gate.promise;
        log.push("beside");
      },
    },
  ]).catch((error: Error) => log.push(error.message));
  await settled();
  expect(log).toEqual([]);
  gate.resolve();
  await done;
  expect(log).toEqual(["beside", "full"]);
});
