// A model's events, with an end when the run is aborted, whether or not the adapter listens to the signal.

import type { ModelEvent } from "@/backend/model.ts";
import { LettaError } from "@/lib/errors.ts";

/** What an aborted adapter gets to end its stream by itself (and report what it billed) before it is left behind. */
const ABORT_GRACE_MS = 80;

/** The events, with an end even when an aborted adapter does not come to one. A shared abort promise in a race per
 *  event would keep one reaction per event alive, so there is one slot for the current wait instead. */
export async function* untilAbort(stream: AsyncIterable<ModelEvent>, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  const iterator = stream[Symbol.asyncIterator]();
  let leave: ((error: unknown) => void) | null = null;
  let timer: Timer | undefined;
  const onAbort = (): void => {
    timer = setTimeout(() => leave?.(cancelledError()), ABORT_GRACE_MS);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for (;;) {
      const step = await new Promise<IteratorResult<ModelEvent>>((resolve, reject) => {
        leave = reject;
        iterator.next().then(resolve, reject);
      });
      if (step.done) return;
      yield step.value;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    // Not awaited: an adapter stuck in a wait would hold the run.
    iterator.return?.()?.catch(() => {
      // It was told to stop; how it stops is its own affair.
    });
  }
}

function cancelledError(): LettaError {
  return new LettaError("cancelled", "The run was cancelled");
}
