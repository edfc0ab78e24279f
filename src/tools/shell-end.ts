// Waiting for a program's end, for its time limit, or for whoever does not want it any more.

export type ShellEnd = { kind: "exited"; exitCode: number } | { kind: "timeout" } | { kind: "aborted" };

/** Whichever comes first. Never rejects when `exited` does not; what still runs is the caller's to end. */
export async function endOf(exited: Promise<number>, timeoutMs: number, signal: AbortSignal): Promise<ShellEnd> {
  const early = Promise.withResolvers<ShellEnd>();
  const timer = setTimeout(() => early.resolve({ kind: "timeout" }), timeoutMs);
  const onAbort = (): void => early.resolve({ kind: "aborted" });
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([exited.then((exitCode) => ({ kind: "exited" as const, exitCode })), early.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** False when it took longer: something may hold the output open. */
export async function within(promise: Promise<void>, timeoutMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), timeoutMs);
  const done = await Promise.race([promise.then(() => true), late.promise]);
  clearTimeout(timer);
  return done;
}
