// A thread that waits for what the kernel asks about confined commands, and answers. It sleeps in the kernel and never
// comes back: `workerData` is the socket on which commands, before they start, hand over where they will be asked about.

import { closeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { receiveDescriptor } from "@/lib/descriptor-socket.ts";
import { type Libc, openLibc } from "@/lib/linux-calls.ts";
import { answerMetadata, type MetadataRules, type Notification } from "./metadata.ts";

const SYS = process.arch === "arm64" ? { ppoll: 73, ioctl: 29 } : { ppoll: 271, ioctl: 16 };
const POLLIN = 1;
const RECEIVE = 0xc0502100;
const SEND = 0xc0182101;
const IS_VALID = 0x40082102;

attend(openLibc(), workerData as number);

function attend(libc: Libc, socket: number): void {
  const listeners = new Map<number, MetadataRules>();
  for (;;) {
    const fds = [socket, ...listeners.keys()];
    const polled = new Int16Array(fds.length * 4);
    const numbers = new Int32Array(polled.buffer);
    for (const [index, fd] of fds.entries()) {
      numbers[index * 2] = fd;
      polled[index * 4 + 2] = POLLIN;
    }
    if (libc.call(SYS.ppoll, polled, fds.length, 0, 0, 8) < 0) continue;
    for (const [index, fd] of fds.entries()) {
      const events = polled[index * 4 + 3]!;
      if (events === 0) continue;
      if (fd === socket) {
        const received = receiveDescriptor(libc, socket);
        if (received) accept(received, listeners);
      } else if (events & POLLIN) {
        answer(libc, fd, listeners.get(fd)!);
      } else {
        // All who could ask have ended.
        closeSync(fd);
        listeners.delete(fd);
      }
    }
  }
}

function accept(
  { descriptor, message }: { descriptor: number; message: string },
  listeners: Map<number, MetadataRules>,
): void {
  try {
    listeners.set(descriptor, JSON.parse(message) as MetadataRules);
  } catch {
    // Cut off, being too long. Nobody listens then, and every such call of the command fails.
    closeSync(descriptor);
  }
}

function answer(libc: Libc, listener: number, rules: MetadataRules): void {
  const request = new DataView(new ArrayBuffer(80));
  if (libc.call(SYS.ioctl, listener, RECEIVE, new Uint8Array(request.buffer)) < 0) return;
  const notification: Notification = {
    id: request.getBigUint64(0, true),
    thread: request.getUint32(8, true),
    number: request.getInt32(16, true),
    args: Array.from({ length: 6 }, (_, index) => request.getBigUint64(32 + index * 8, true)),
  };
  const isWaiting = (): boolean =>
    libc.call(SYS.ioctl, listener, IS_VALID, new BigUint64Array([notification.id])) === 0;
  const errno = answerMetadata(notification, rules, { libc, isWaiting });
  const response = new DataView(new ArrayBuffer(24));
  response.setBigUint64(0, notification.id, true);
  response.setInt32(16, -errno, true);
  libc.call(SYS.ioctl, listener, SEND, new Uint8Array(response.buffer));
}
