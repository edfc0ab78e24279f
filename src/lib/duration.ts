// Durations as people write and read them.

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
type Unit = keyof typeof UNIT_MS;

/** `10m`, `1h30m`, `90s`, `500ms` in milliseconds; a number alone has the unit `bare`. Null when it is none of these. */
export function parseDuration(text: string, bare: Unit): number | null {
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * UNIT_MS[bare]);
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return null;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  return Math.round(parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNIT_MS[unit as Unit], 0));
}

/** For a sentence: `250 ms`, `1 s`, `2.5 s`, `600 s`. */
export function formatSeconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

/** For a place with little room: `850ms`, `3.2s`, `2m 05s`, `1h 04m`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
  return `${Math.floor(seconds / 3600)}h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")}m`;
}
