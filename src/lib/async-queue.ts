// A channel from one producer to one consumer with back-pressure: `push` resolves only when the consumer has caught up,
// so a slow reader slows the producer instead of filling memory.

export class AsyncQueue<T> implements AsyncIterable<T> {
  #items: T[] = [];
  #closed = false;
  #abandoned = false;
  #wakeConsumer: (() => void) | null = null;
  #wakeProducers: (() => void)[] = [];

  /** `onAbandon` runs when the consumer leaves its loop early. */
  constructor(
    private readonly highWaterMark: number,
    private readonly onAbandon: () => void = () => {},
  ) {}

  /** Hands over one item. Await it where the producer can wait; after the consumer left, items are dropped. */
  async push(item: T): Promise<void> {
    if (this.#closed || this.#abandoned) return;
    this.#items.push(item);
    this.#wakeConsumer?.();
    if (this.#items.length >= this.highWaterMark) {
      await new Promise<void>((resolve) => this.#wakeProducers.push(resolve));
    }
  }

  /** Hands over an item nobody misses: dropped when the consumer is behind. */
  offer(item: T): void {
    if (this.#items.length < this.highWaterMark) void this.push(item);
  }

  /** Nothing comes after what was pushed. */
  close(): void {
    this.#closed = true;
    this.#wakeConsumer?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const items = this.#items.splice(0);
        for (const wake of this.#wakeProducers.splice(0)) wake();
        yield* items;
        if (this.#items.length > 0) continue;
        if (this.#closed) return;
        await new Promise<void>((resolve) => {
          this.#wakeConsumer = resolve;
        });
        this.#wakeConsumer = null;
      }
    } finally {
      if (!this.#closed) {
        this.#abandoned = true;
        for (const wake of this.#wakeProducers.splice(0)) wake();
        this.onAbandon();
      }
    }
  }
}
