// Completes lines with the envelope every line carries and hands them to the writer, in order.

import type { LineBody } from "./schema.ts";
import type { Writer } from "./writer.ts";

/** Where lines go. Awaiting `send` is what makes a slow reader slow the turn. */
export interface LineSink {
  send(body: LineBody): Promise<void>;
}

export class LineStream implements LineSink {
  /** Agent id once it is known. */
  sessionId = "startup";
  readonly #writer: Writer;
  readonly now: () => Date;
  #sequence = 0;

  constructor(writer: Writer, now: () => Date = () => new Date()) {
    this.#writer = writer;
    this.now = now;
  }

  send(body: LineBody): Promise<void> {
    return this.#writer.write(`${JSON.stringify(this.complete(body))}\n`);
  }

  /** The whole object of one line. */
  complete<Body extends LineBody>(body: Body) {
    return {
      ...body,
      session_id: this.sessionId,
      timestamp: this.now().toISOString(),
      event_seq: ++this.#sequence,
      schema_version: 1 as const,
    };
  }
}
