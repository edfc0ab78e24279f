// Starts the thread of metadata-worker.ts, once per process and only where a command is confined by Landlock.

import { closeSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { openDescriptorSocket } from "@/lib/descriptor-socket.ts";
import { openLibc } from "@/lib/linux-calls.ts";
import { selfModule } from "@/lib/self.ts";

let sender: number | undefined;

/** A socket for `sendDescriptor`, to be inherited. Throws. */
export function openAttendant(): number {
  if (sender !== undefined) return sender;
  const sockets = openDescriptorSocket(openLibc());
  const worker = new Worker(selfModule("sandbox/metadata-worker.ts"), { workerData: sockets.receiver });
  // Without it nobody would answer: commands fail before they start, because the socket is closed.
  worker.once("error", () => closeSync(sockets.receiver));
  worker.unref();
  sender = sockets.sender;
  return sender;
}
