// Lines of a byte stream, however they are cut into chunks. A line that is too long is reported and skipped, not kept.

/** An image of some tens of megabytes in base64 must fit. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;

export type InputLine = { status: "line"; text: string } | { status: "too_long" };

const NEWLINE = 10;

/** Ends at EOF, or soon after `signal` aborts; the stream is cancelled then, so that it keeps no process alive. */
export async function* readInputLines(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<InputLine> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel();
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  let parts: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      let start = 0;
      for (let end = value.indexOf(NEWLINE); end !== -1; end = value.indexOf(NEWLINE, start)) {
        yield finishLine([...parts, value.subarray(start, end)], size + end - start, maxBytes);
        parts = [];
        size = 0;
        start = end + 1;
      }
      size += value.length - start;
      // Beyond the limit only the length is still of interest.
      if (size <= maxBytes) parts.push(value.subarray(start));
      else parts = [];
    }
    if (size > 0 && !signal.aborted) yield finishLine(parts, size, maxBytes);
  } finally {
    signal.removeEventListener("abort", cancel);
    await reader.cancel();
  }
}

function finishLine(parts: Uint8Array[], size: number, maxBytes: number): InputLine {
  if (size > maxBytes) return { status: "too_long" };
  return { status: "line", text: Buffer.concat(parts).toString("utf8") };
}
