// A pair of sockets over which one process hands another an open descriptor together with a message. Linux only.

import { ptr } from "bun:ffi";
import type { Libc } from "./linux-calls.ts";

const arm = process.arch === "arm64";
const SYS = { socketpair: arm ? 199 : 53, sendmsg: arm ? 211 : 46, recvmsg: arm ? 212 : 47 };
const AF_UNIX = 1;
const SOCK_SEQPACKET_CLOEXEC = 0o2000005;
const MSG_CMSG_CLOEXEC = 0x40000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
/** Header of 16 bytes, one descriptor, padding. */
const CONTROL_BYTES = 24;
const MESSAGE_BYTES = 128 * 1024;

/** Both ends close on exec. Throws. */
export function openDescriptorSocket(libc: Libc): { sender: number; receiver: number } {
  const fds = new Int32Array(2);
  if (libc.call(SYS.socketpair, AF_UNIX, SOCK_SEQPACKET_CLOEXEC, 0, fds) < 0) throw new Error("no socket pair");
  return { receiver: fds[0]!, sender: fds[1]! };
}

/** Throws when it cannot be sent. */
export function sendDescriptor(libc: Libc, socket: number, descriptor: number, message: string): void {
  const bytes = new TextEncoder().encode(message);
  const control = new DataView(new ArrayBuffer(CONTROL_BYTES));
  control.setBigUint64(0, 20n, true);
  control.setInt32(8, SOL_SOCKET, true);
  control.setInt32(12, SCM_RIGHTS, true);
  control.setInt32(16, descriptor, true);
  const { header, keep } = messageHeader(bytes, new Uint8Array(control.buffer));
  if (libc.call(SYS.sendmsg, socket, header, 0) < 0) throw new Error(`handing over failed (error ${libc.errno()})`);
  keep();
}

/** Waits for the next. Null at the end, or when what came was no message of ours. */
export function receiveDescriptor(libc: Libc, socket: number): { descriptor: number; message: string } | null {
  const bytes = new Uint8Array(MESSAGE_BYTES);
  const control = new Uint8Array(CONTROL_BYTES);
  const { header, keep } = messageHeader(bytes, control);
  const length = libc.call(SYS.recvmsg, socket, header, MSG_CMSG_CLOEXEC);
  keep();
  const view = new DataView(control.buffer);
  if (length <= 0 || view.getInt32(8, true) !== SOL_SOCKET || view.getInt32(12, true) !== SCM_RIGHTS) return null;
  return { descriptor: view.getInt32(16, true), message: new TextDecoder().decode(bytes.subarray(0, length)) };
}

/** `struct msghdr`; `keep` marks until when the buffers behind its addresses are needed. */
function messageHeader(bytes: Uint8Array, control: Uint8Array): { header: BigUint64Array; keep(): void } {
  const vector = new BigUint64Array([BigInt(ptr(bytes)), BigInt(bytes.length)]);
  const header = new BigUint64Array(7);
  header.set([0n, 0n, BigInt(ptr(vector)), 1n, BigInt(ptr(control)), BigInt(control.length), 0n]);
  return { header, keep: () => void [bytes, control, vector] };
}
