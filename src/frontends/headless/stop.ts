// Signals and a dying parent, as one request to stop. The first asks the turn to end properly (a result is still
// written); the second, or a grace period without an end, ends the process at once the way the signal itself would.

import { EXIT_OK, EXIT_SIGINT, EXIT_SIGTERM } from "@/exit-codes.ts";
import { orAbort } from "@/lib/abort.ts";
import { LettaError } from "@/lib/errors.ts";

/** Time for a proper end; a reader that does not read must not keep a terminated process. */
const GRACE_MS = 5000;
const PARENT_POLL_MS = 1000;

export interface Stop extends Disposable {
  readonly requested: AbortSignal;
  /** Of the signal that came; meaningful once requested. */
  readonly exitCode: number;
  /** `promise`, or `cancelled` as soon as stopping is requested. */
  race<T>(promise: Promise<T>): Promise<T>;
}

/** Listens until disposed. `watchParent`: end quietly when the parent process is gone. */
export function watchStop(options: { watchParent: boolean }): Stop {
  const controller = new AbortController();
  let exitCode = EXIT_SIGTERM;
  let grace: Timer | undefined;
  const handlers = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((name) => {
    const handler = () => {
      if (controller.signal.aborted) return dieOf(name);
      exitCode = name === "SIGINT" ? EXIT_SIGINT : EXIT_SIGTERM;
      grace = setTimeout(() => dieOf(name), GRACE_MS);
      grace.unref();
      controller.abort(stopError(name));
    };
    process.on(name, handler);
    return { name, handler };
  });
  const dieOf = (name: NodeJS.Signals) => {
    for (const { name: other, handler } of handlers) process.off(other, handler);
    process.kill(process.pid, name);
  };
  const parent = process.ppid;
  const poll = options.watchParent
    ? setInterval(() => {
        if (process.ppid === parent || controller.signal.aborted) return;
        exitCode = EXIT_OK;
        controller.abort(stopError("end of its parent"));
      }, PARENT_POLL_MS)
    : undefined;
  poll?.unref();
  return {
    requested: controller.signal,
    get exitCode() {
      return exitCode;
    },
    race: (promise) => orAbort(promise, controller.signal),
    [Symbol.dispose]() {
      clearTimeout(grace);
      clearInterval(poll);
      for (const { name, handler } of handlers) process.off(name, handler);
    },
  };
}

function stopError(cause: string): LettaError {
  return new LettaError("cancelled", `Interrupted by ${cause}`);
}
