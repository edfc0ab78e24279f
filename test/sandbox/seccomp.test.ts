// The filter is run here as the kernel runs it.

import { describe, expect, test } from "bun:test";
import { encodeProgram, type Instruction, seccompProgram } from "@/sandbox/seccomp.ts";

const ALLOW = 0x7fff0000;
const errno = (number: number) => 0x00050000 | number;
const X64 = 0xc000003e;
const ARM = 0xc00000b7;

function run(program: Instruction[], call: { arch?: number; number: number; args?: number[] }): number {
  const load = (offset: number): number => {
    if (offset === 0) return call.number;
    if (offset === 4) return call.arch ?? X64;
    const argument = call.args?.[Math.floor((offset - 16) / 8)] ?? 0;
    return offset % 8 === 0 ? argument : Math.floor(argument / 2 ** 32);
  };
  let value = 0;
  for (let index = 0; index < program.length; index++) {
    const [code, ifTrue, ifFalse, operand] = program[index]!;
    const jump = (holds: boolean) => {
      index += holds ? ifTrue : ifFalse;
    };
    if (code === 0x20) value = load(operand) >>> 0;
    else if (code === 0x15) jump(value === operand);
    else if (code === 0x35) jump(value >= operand);
    else if (code === 0x45) jump((value & operand) !== 0);
    else if (code === 0x54) value = (value & operand) >>> 0;
    else if (code === 0x06) return operand;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the program ran off its end");
}

const confined = seccompProgram({ architecture: "x64", inet: false, ownNamespaces: false });
const namespaced = seccompProgram({ architecture: "x64", inet: true, ownNamespaces: true });
const SOCKET = 41;
const SOCKETPAIR = 53;

describe("x86_64", () => {
  test.each([
    ["read", { number: 0 }, ALLOW, ALLOW],
    ["execve", { number: 59 }, ALLOW, ALLOW],
    ["TCP", { number: SOCKET, args: [2, 1, 0] }, errno(13), ALLOW],
    ["UDP over IPv6", { number: SOCKET, args: [10, 2, 0] }, errno(13), ALLOW],
    ["a socket file", { number: SOCKET, args: [1, 1, 0] }, errno(13), errno(13)],
    ["a raw packet socket", { number: SOCKET, args: [17, 3, 0] }, errno(13), errno(13)],
    ["interfaces", { number: SOCKET, args: [16, 3, 0] }, ALLOW, ALLOW],
    ["another netlink family", { number: SOCKET, args: [16, 3, 9] }, errno(13), errno(13)],
    ["a stream pair", { number: SOCKETPAIR, args: [1, 1 | 0o2000000, 0] }, ALLOW, ALLOW],
    ["a datagram pair", { number: SOCKETPAIR, args: [1, 2 | 0o2000000, 0] }, errno(13), errno(13)],
    ["a raw pair", { number: SOCKETPAIR, args: [1, 3, 0] }, errno(13), errno(13)],
    ["ptrace", { number: 101 }, errno(1), ALLOW],
    ["shared memory", { number: 29 }, errno(1), ALLOW],
    ["message queues", { number: 240 }, errno(1), ALLOW],
    ["asking for a limit", { number: 302, args: [0, 15, 0] }, ALLOW, ALLOW],
    ["a limit of its own", { number: 302, args: [0, 7, 4096] }, ALLOW, ALLOW],
    ["a limit above 4 GB", { number: 302, args: [0, 15, 2 ** 32] }, errno(1), ALLOW],
    ["the limit that marks", { number: 302, args: [0, 15, 4096] }, errno(1), ALLOW],
    ["a limit of another process", { number: 302, args: [77, 7, 4096] }, errno(1), ALLOW],
    ["the limit that marks, otherwise", { number: 160, args: [15, 4096] }, errno(1), ALLOW],
    ["a limit otherwise", { number: 160, args: [7, 4096] }, ALLOW, ALLOW],
    ["its own processors", { number: 203, args: [0, 8, 4096] }, ALLOW, ALLOW],
    ["processors of another process", { number: 203, args: [77, 8, 4096] }, errno(1), ALLOW],
    ["a schedule of another process", { number: 144, args: [77, 5, 4096] }, errno(1), ALLOW],
    ["its own priority", { number: 141, args: [0, 0, 10] }, ALLOW, ALLOW],
    ["the priority of its group", { number: 141, args: [1, 0, 10] }, ALLOW, ALLOW],
    ["the priority of another process", { number: 141, args: [0, 77, 10] }, errno(1), ALLOW],
    ["the priority of all of the user's", { number: 141, args: [2, 0, 10] }, errno(1), ALLOW],
    ["its own place at the disk", { number: 251, args: [1, 0, 0x6000] }, ALLOW, ALLOW],
    ["another's place at the disk", { number: 251, args: [1, 77, 0x6000] }, errno(1), ALLOW],
    ["the place of all of the user's", { number: 251, args: [3, 0, 0x6000] }, errno(1), ALLOW],
    ["mount", { number: 165 }, errno(1), errno(1)],
    ["fork", { number: 56, args: [0x1200011] }, ALLOW, ALLOW],
    ["a new user namespace", { number: 56, args: [0x10000011] }, errno(1), errno(1)],
    ["unshare", { number: 272, args: [0x20000] }, errno(1), errno(1)],
    ["clone3", { number: 435 }, errno(38), errno(38)],
    ["io_uring", { number: 425 }, errno(38), errno(38)],
    ["typing into a terminal", { number: 16, args: [1, 0x5412] }, errno(1), errno(1)],
    ["asking for a window size", { number: 16, args: [1, 0x5413] }, ALLOW, ALLOW],
    ["an x32 call", { number: 0x40000029 }, errno(38), errno(38)],
    ["a 32-bit call", { number: 1, arch: 0x40000003 }, 0x80000000, 0x80000000],
  ])("%s", (_, call, alone, inNamespaces) => {
    expect([run(confined, call), run(namespaced, call)]).toEqual([alone, inNamespaces]);
  });
});

test("aarch64 has its own numbers", () => {
  const program = seccompProgram({ architecture: "arm64", inet: false, ownNamespaces: false });
  const call = (number: number, ...args: number[]) => run(program, { arch: ARM, number, args });
  expect([call(198, 2), call(198, 1), call(117), call(40), call(63), call(221)]).toEqual([
    errno(13),
    errno(13),
    errno(1),
    errno(1),
    ALLOW,
    ALLOW,
  ]);
  expect(run(program, { arch: X64, number: 63 })).toBe(0x80000000);
});

test("eight bytes per instruction, little-endian", () => {
  expect([...encodeProgram([[0x15, 1, 2, 0xc000003e]])]).toEqual([0x15, 0, 1, 2, 0x3e, 0, 0, 0xc0]);
});
