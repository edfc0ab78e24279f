// Reads a ZIP archive by its directory, as unzip does, and checks every size and checksum on the way.

import { crc32, inflateRawSync } from "node:zlib";

export function readZip(bytes: Buffer): { name: string; mode: number; text: string }[] {
  const end = bytes.lastIndexOf("PK\x05\x06");
  const files = [];
  let at = bytes.readUInt32LE(end + 16);
  for (let count = bytes.readUInt16LE(end + 10); count > 0; count--) {
    if (bytes.toString("latin1", at, at + 4) !== "PK\x01\x02") throw new Error(`no directory entry at ${at}`);
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString("utf8", at + 46, at + 46 + nameLength);
    const local = bytes.readUInt32LE(at + 42);
    if (bytes.toString("latin1", local, local + 4) !== "PK\x03\x04") throw new Error(`${name}: no file at ${local}`);
    const data = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const content = inflateRawSync(bytes.subarray(data, data + bytes.readUInt32LE(at + 20)));
    if (content.length !== bytes.readUInt32LE(at + 24)) throw new Error(`${name}: wrong size`);
    if (crc32(content) !== bytes.readUInt32LE(at + 16)) throw new Error(`${name}: wrong checksum`);
    files.push({ name, mode: (bytes.readUInt32LE(at + 38) >>> 16) & 0o777, text: content.toString("utf8") });
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  if (at !== end) throw new Error("the directory ends elsewhere");
  return files;
}
