// Small things about text that several areas need.

/** `1234567` → `1,234,567`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** For a place with little room: `950`, `1.2k`, `45k`, `1.3M`. */
export function shortCount(count: number): string {
  const tenths = (value: number): string => String(Math.round(value * 10) / 10);
  if (count < 1000) return String(count);
  if (count < 9950) return `${tenths(count / 1000)}k`;
  if (count < 999_500) return `${Math.round(count / 1000)}k`;
  return `${tenths(count / 1_000_000)}M`;
}

/** `512 bytes`, `1.5 KiB`, `20 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return plural(bytes, "byte");
  const [size, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KiB"] : [bytes / 1024 / 1024, "MiB"];
  return `${Math.round(size * 10) / 10} ${unit}`;
}

/** `1 file`, `2 files`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** At most the first `length` characters, not ending inside a surrogate pair. */
export function takeHead(text: string, length: number): string {
  const head = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}

/** At most the last `length` characters, not starting inside a surrogate pair. */
export function takeTail(text: string, length: number): string {
  const tail = text.length > length ? text.slice(text.length - length) : text;
  return /^[\udc00-\udfff]/.test(tail) ? tail.slice(1) : tail;
}

/** At most the first `length` characters, with an ellipsis where there are more. */
export function clip(text: string, length: number): string {
  return text.length > length ? `${takeHead(text, length)}…` : text;
}

/** Beginning and end of a text that is longer than both together, and between them a line that says what is missing. */
export function cutMiddle(
  text: string,
  { head, tail, note }: { head: number; tail: number; note(omitted: number): string },
): string {
  if (text.length <= head + tail) return text;
  return `${takeHead(text, head)}\n${note(text.length - head - tail)}\n${takeTail(text, tail)}`;
}

/** One word for a POSIX shell and for fish, whatever is in it. */
export function shellQuote(text: string): string {
  return text.includes("'") ? `'${text.replaceAll("'", "'\\''")}'` : `'${text}'`;
}
