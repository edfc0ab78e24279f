// Waits that end as soon as an AbortSignal aborts, whether or not what is waited for listens to it. No listener is left
// on the signal: it may live as long as the process.

/** The promise's outcome; the signal's reason once it aborts. The work itself is left behind. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves after the time, or as soon as the signal aborts. */
export async function wait(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", onAbort, { once: true });
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", onAbort);
}
