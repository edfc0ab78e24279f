import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durable, openDatabase } from "@/store/db.ts";
import { assertFence, createLeases, type Lease, type LeaseAttempt } from "@/store/leases.ts";
import { currentOwner, isOwnerAlive } from "@/store/owner.ts";

const dir = mkdtempSync(join(tmpdir(), "letta-leases-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let count = 0;
const freshDb = (): ReturnType<typeof openDatabase> => openDatabase(join(dir, `${count++}.db`));

function acquired(attempt: LeaseAttempt): Lease {
  if (attempt.status !== "acquired") throw new Error(`busy: ${JSON.stringify(attempt.holder)}`);
  return attempt.lease;
}

test("one holder at a time; the second is told who it is", () => {
  const db = freshDb();
  const leases = createLeases(db);
  const lease = acquired(leases.tryAcquire("conv", "interactive"));
  expect(leases.tryAcquire("conv", "headless")).toMatchObject({
    status: "busy",
    holder: { pid: process.pid, label: "interactive" },
  });
  acquired(leases.tryAcquire("other", "headless"));
  lease.release();
  lease.release();
  expect(acquired(leases.tryAcquire("conv", "headless")).fence).toEqual({ key: "conv", fence: 2 });
});

test("the fence grows for ever and only the current one may write", () => {
  const db = freshDb();
  const leases = createLeases(db);
  const first = acquired(leases.tryAcquire("conv", "a"));
  durable(db, () => assertFence(db, first.fence));
  first.release();
  expect(() => assertFence(db, first.fence)).toThrow(expect.objectContaining({ code: "lease_lost" }));
  const second = acquired(leases.tryAcquire("conv", "b"));
  expect(() => assertFence(db, first.fence)).toThrow(expect.objectContaining({ code: "lease_lost" }));
  expect(() => assertFence(db, second.fence)).not.toThrow();
  expect(() => assertFence(db, { key: "never", fence: 1 })).toThrow(expect.objectContaining({ code: "lease_lost" }));
});

test("the lease of a dead process is taken over, and its old holder hears of it", async () => {
  const db = freshDb();
  const gone = Bun.spawn(["true"]);
  await gone.exited;
  const dead = createLeases(db, { owner: { ...currentOwner(), pid: gone.pid }, heartbeatMs: 5 });
  const old = acquired(dead.tryAcquire("conv", "killed"));
  const attempt = createLeases(db).tryAcquire("conv", "next");
  expect(attempt).toMatchObject({ status: "acquired", tookOver: { pid: gone.pid, label: "killed" } });
  await new Promise<void>((resolve) => old.lost.addEventListener("abort", () => resolve(), { once: true }));
  expect(old.lost.reason).toMatchObject({ code: "lease_lost" });
  old.release();
  expect(() => assertFence(db, acquired(attempt).fence)).not.toThrow();
});

test("a holder of another host is judged by its heartbeat", () => {
  const db = freshDb();
  let nowMs = 1_000_000;
  const now = (): number => nowMs;
  const far = createLeases(db, { owner: { pid: 1, host: "elsewhere", startTicks: "" }, now, heartbeatMs: 1e9 });
  acquired(far.tryAcquire("conv", "server"));
  const here = createLeases(db, { now });
  nowMs += 60_000;
  expect(here.tryAcquire("conv", "x").status).toBe("busy");
  nowMs += 1;
  expect(here.tryAcquire("conv", "x").status).toBe("acquired");
});

test("a reused pid is not the old owner", () => {
  const self = currentOwner();
  const at = new Date(0).toISOString();
  expect(isOwnerAlive(self, at, self, 0)).toBe(true);
  if (self.startTicks === "") return; // only Linux tells when a process started
  expect(isOwnerAlive({ ...self, startTicks: "1" }, at, self, 0)).toBe(false);
});

test("a lease released after the database closed does not throw", () => {
  const db = freshDb();
  const lease = acquired(createLeases(db).tryAcquire("conv", "x"));
  db.close();
  expect(() => lease.release()).not.toThrow();
});

test("of twelve processes racing for one lease exactly one gets it", async () => {
  const path = join(dir, "race.db");
  openDatabase(path).close();
  const store = join(import.meta.dir, "../../src/store");
  const script = `
    import { openDatabase } from ${JSON.stringify(`${store}/db.ts`)};
    import { createLeases } from ${JSON.stringify(`${store}/leases.ts`)};
    const attempt = createLeases(openDatabase(process.argv[1])).tryAcquire("conv", "racer");
    console.log(attempt.status);
    await new Response(Bun.stdin.stream()).text(); // holds on until everybody tried
  `;
  const children = Array.from({ length: 12 }, () =>
    Bun.spawn([process.execPath, "-e", script, path], { stdin: "pipe", stdout: "pipe", stderr: "inherit" }),
  );
  const readers = children.map((child) => child.stdout.getReader());
  const words = await Promise.all(
    readers.map(async (reader) => new TextDecoder().decode((await reader.read()).value).trim()),
  );
  for (const child of children) child.stdin.end();
  await Promise.all(children.map((child) => child.exited));
  expect(words.toSorted()).toEqual(["acquired", ...Array.from({ length: 11 }, () => "busy")]);
}, 30_000);
