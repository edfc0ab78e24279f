// Turns the lines of a watched source into few, short notifications: lines of a moment go together, and a source that
// never stops talking is stopped.

import {
  MONITOR_BATCH_CHARS,
  MONITOR_BATCH_MS,
  MONITOR_FLOOD_MS,
  MONITOR_LINE_CHARS,
  MONITOR_REFILL_MS,
  MONITOR_TOKENS,
} from "./limits.ts";

export interface MonitorSink {
  /** One notification; lines are joined by newlines. */
  emit(text: string): void;
  /** Events have been suppressed without a pause for too long. Called once. */
  flooded(): void;
  now?: () => number;
}

export class MonitorEvents {
  /** Lines seen, shown or not. */
  count = 0;
  readonly #sink: MonitorSink;
  readonly #now: () => number;
  #lines: string[] = [];
  #chars = 0;
  #suppressed = 0;
  #suppressedSince: number | null = null;
  #tokens = MONITOR_TOKENS;
  #refilledAt: number;
  #timer: Timer | null = null;
  #over = false;

  constructor(sink: MonitorSink) {
    this.#sink = sink;
    this.#now = sink.now ?? Date.now;
    this.#refilledAt = this.#now();
  }

  push(line: string): void {
    const text = line.trim();
    if (text === "" || this.#over) return;
    this.count++;
    const shown = text.length > MONITOR_LINE_CHARS ? `${text.slice(0, MONITOR_LINE_CHARS)}…` : text;
    if (this.#chars + shown.length > MONITOR_BATCH_CHARS) {
      this.#suppress(1);
    } else {
      this.#lines.push(shown);
      this.#chars += shown.length + 1;
    }
    this.#timer ??= setTimeout(() => this.flush(), MONITOR_BATCH_MS);
  }

  /** Tells what waits, as far as it may. */
  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#over || (this.#lines.length === 0 && this.#suppressed === 0)) return;
    const lines = this.#lines;
    this.#lines = [];
    this.#chars = 0;
    this.#refill();
    if (this.#tokens < 1) {
      this.#suppress(lines.length);
      return;
    }
    this.#tokens--;
    if (this.#suppressed > 0) lines.push(`[${this.#suppressed} more events were not shown]`);
    else this.#suppressedSince = null;
    this.#suppressed = 0;
    this.#sink.emit(lines.join("\n"));
  }

  /** The source has ended. What it said last is told before its end, whatever was suppressed. */
  close(): void {
    this.#tokens = Math.max(1, this.#tokens);
    this.flush();
    this.#over = true;
  }

  #refill(): void {
    const gained = Math.floor((this.#now() - this.#refilledAt) / MONITOR_REFILL_MS);
    this.#tokens = Math.min(MONITOR_TOKENS, this.#tokens + gained);
    this.#refilledAt += gained * MONITOR_REFILL_MS;
  }

  #suppress(count: number): void {
    this.#suppressed += count;
    this.#suppressedSince ??= this.#now();
    if (this.#now() - this.#suppressedSince < MONITOR_FLOOD_MS) return;
    this.#over = true;
    this.#sink.flooded();
  }
}
