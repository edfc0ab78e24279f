import { expect, test } from "bun:test";
import { QUEUE_LIMIT, TurnQueue } from "@/engine/queue.ts";

test("neighbours of one source merge into one message, others stay apart", () => {
  const queue = new TurnQueue();
  queue.enqueue("one");
  queue.enqueue("two");
  queue.enqueue("<task-notification/>", "task_notification");
  queue.enqueue([{ type: "text", text: "three" }]);
  expect(queue.takeBatch()?.content).toBe("one\ntwo");
  expect(queue.takeBatch()?.content).toBe("<task-notification/>");
  expect(queue.takeBatch()?.content).toEqual([{ type: "text", text: "three" }]);
  expect(queue.takeBatch()).toBeNull();
});

test("a held queue gives nothing until it is released", async () => {
  const queue = new TurnQueue();
  queue.hold();
  queue.enqueue("later");
  expect(queue.takeBatch()).toBeNull();
  const waiting = queue.waitForItem();
  queue.release();
  await waiting;
  expect(queue.takeBatch()?.items.map((item) => item.content)).toEqual(["later"]);
});

test("items can be edited and removed while they wait", () => {
  const queue = new TurnQueue();
  const first = queue.enqueue("frist")!;
  const second = queue.enqueue("second")!;
  expect(queue.edit(first.id, "first")).toBe(true);
  expect(queue.remove(second.id)).toBe(true);
  expect(queue.remove(second.id)).toBe(false);
  expect(queue.takeBatch()?.content).toBe("first");
  expect(queue.edit(first.id, "gone")).toBe(false);
});

test("a full queue refuses, it never drops", () => {
  const queue = new TurnQueue();
  for (let i = 0; i < QUEUE_LIMIT; i++) expect(queue.enqueue(`${i}`)).not.toBeNull();
  expect(queue.enqueue("one too many")).toBeNull();
  expect(queue.length).toBe(QUEUE_LIMIT);
});

test("only messages with the same wishes become one turn", () => {
  const queue = new TurnQueue();
  const tools = { toolset: "none" as const };
  queue.enqueue("one", "user", { tools });
  queue.enqueue("two", "user", { tools: { ...tools } });
  queue.enqueue("three");
  queue.enqueue("four", "user", { tools: { only: [] } });
  expect(queue.takeBatch()).toMatchObject({ content: "one\ntwo", tools });
  const plain = queue.takeBatch();
  expect(plain).toMatchObject({ content: "three" });
  expect(plain).not.toHaveProperty("tools");
  expect(queue.takeBatch()).toMatchObject({ content: "four", tools: { only: [] } });
});
