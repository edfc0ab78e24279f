import { expect, test } from "bun:test";
import { AsyncQueue } from "@/lib/async-queue.ts";

test("the producer waits while the consumer is behind", async () => {
  const queue = new AsyncQueue<number>(2);
  let pushed = 0;
  const producer = (async () => {
    for (let i = 1; i <= 5; i++) {
      await queue.push(i);
      pushed = i;
    }
    queue.close();
  })();
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(pushed).toBe(1);
  const seen: number[] = [];
  for await (const item of queue) seen.push(item);
  await producer;
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

test("offer drops what a slow consumer cannot take", async () => {
  const queue = new AsyncQueue<number>(2);
  for (let i = 1; i <= 5; i++) queue.offer(i);
  queue.close();
  const seen: number[] = [];
  for await (const item of queue) seen.push(item);
  expect(seen).toEqual([1, 2]);
});

test("a consumer that leaves early frees the producer and is reported", async () => {
  let abandoned = false;
  const queue = new AsyncQueue<number>(1, () => {
    abandoned = true;
  });
  const producer = (async () => {
    for (let i = 1; i <= 3; i++) await queue.push(i);
  })();
  for await (const item of queue) if (item === 1) break;
  await producer;
  expect(abandoned).toBe(true);
});
