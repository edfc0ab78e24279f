import { expect, test } from "bun:test";
import { findSignatureProblem, signAdHoc } from "../../scripts/macho-signature.ts";

const LIMIT = 3 * 4096 + 100;

/** Header, __TEXT, __LINKEDIT and LC_CODE_SIGNATURE, then content up to the signature. */
function executable(): Buffer {
  const file = Buffer.alloc(LIMIT + 64, 0xaa);
  file.fill(0, 0, 512);
  file.writeUInt32LE(0xfeedfacf, 0);
  file.writeUInt32LE(3, 16);
  const segment = (at: number, name: string, offset: number, bytes: number) => {
    file.writeUInt32LE(0x19, at);
    file.writeUInt32LE(72, at + 4);
    file.write(name, at + 8, "latin1");
    file.writeBigUInt64LE(BigInt(offset), at + 40);
    file.writeBigUInt64LE(BigInt(bytes), at + 48);
  };
  segment(32, "__TEXT", 0, 8192);
  segment(104, "__LINKEDIT", 8192, LIMIT + 64 - 8192);
  file.writeUInt32LE(0x1d, 176);
  file.writeUInt32LE(16, 180);
  file.writeUInt32LE(LIMIT, 184);
  file.writeUInt32LE(64, 188);
  return file;
}

test("a signed executable is valid, and its file ends with the signature", () => {
  const signed = Buffer.from(signAdHoc(executable(), "letta"));
  expect(findSignatureProblem(signed)).toBeNull();
  expect(signed.length).toBe(LIMIT + signed.readUInt32LE(188));
  expect(Number(signed.readBigUInt64LE(104 + 40)) + Number(signed.readBigUInt64LE(104 + 48))).toBe(signed.length);
  expect(signed.subarray(512, LIMIT).equals(executable().subarray(512, LIMIT))).toBe(true);
});

test("signing twice gives the same bytes", () => {
  const once = signAdHoc(executable(), "letta");
  expect(signAdHoc(once, "letta")).toEqual(once);
});

test.each([
  ["an unsigned file", () => executable(), "no signature"],
  ["a changed byte", () => flip(signAdHoc(executable(), "letta"), 5000), "page 1"],
  ["a changed last page", () => flip(signAdHoc(executable(), "letta"), LIMIT - 1), "page 3"],
  ["a signature that ends too early", () => shorten(signAdHoc(executable(), "letta")), "covers"],
])("%s is found out", (_, make, problem) => {
  expect(findSignatureProblem(make())).toContain(problem);
});

function flip(file: Uint8Array, at: number): Uint8Array {
  file[at]! ^= 1;
  return file;
}

/** The signature says that it covers less than what lies before it. */
function shorten(file: Uint8Array): Uint8Array {
  Buffer.from(file.buffer, file.byteOffset).writeUInt32BE(4096, LIMIT + 20 + 32);
  return file;
}
