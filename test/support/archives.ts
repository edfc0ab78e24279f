// ZIP and tar archives from a list of entries, also such as no honest program writes.

import { crc32, deflateRawSync, gzipSync } from "node:zlib";

export interface ArchiveEntry {
  name: string;
  data?: string | Uint8Array;
  /** Unix type and permissions. Default: a regular file, 0644. */
  mode?: number;
  /** What the archive says instead of the data's own length. */
  claimed?: number;
}

export interface ZipEntry extends ArchiveEntry {
  /** 8 deflated (default), 0 stored. */
  method?: number;
  flags?: number;
  /** In front of the data, where it differs. */
  localName?: string;
  crc?: number;
  /** Shares the bytes of the first entry. */
  overlaps?: boolean;
}

export const LINK_MODE = 0o120777;
export const DEVICE_MODE = 0o020644;

export function makeZip(entries: readonly ZipEntry[], comment = ""): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data = "", mode = 0o100644, claimed, method = 8, flags = 0x800, ...odd } of entries) {
    const bytes = Buffer.from(data as Uint8Array);
    const packed = method === 8 ? deflateRawSync(bytes) : bytes;
    const size = claimed ?? bytes.length;
    const crc = odd.crc ?? crc32(bytes);
    const localName = Buffer.from(odd.localName ?? name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(20, 4);
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt32LE(crc, 14);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(size, 22);
    local.writeUInt16LE(localName.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE((3 << 8) | 20, 4);
    central.writeUInt16LE(20, 6);
    central.writeUInt16LE(flags, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(crc, 16);
    central.writeUInt32LE(packed.length, 20);
    central.writeUInt32LE(size, 24);
    central.writeUInt16LE(Buffer.byteLength(name), 28);
    central.writeUInt32LE((mode << 16) >>> 0, 38);
    central.writeUInt32LE(odd.overlaps ? 0 : offset, 42);
    directory.push(central, Buffer.from(name));
    if (odd.overlaps) continue;
    parts.push(local, localName, packed);
    offset += local.length + localName.length + packed.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(Buffer.byteLength(comment), 20);
  return Buffer.concat([...parts, listing, end, Buffer.from(comment)]);
}

export interface TarEntry extends ArchiveEntry {
  /** Default: by the mode. */
  type?: string;
  linkName?: string;
  /** Records of an extended header before it. */
  pax?: Record<string, string>;
}

export function makeTar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => [...(entry.pax ? paxHeader(entry.pax) : []), ...tarEntry(entry)]);
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

export function makeTarball(entries: readonly TarEntry[]): Buffer {
  return gzipSync(makeTar(entries));
}

function paxHeader(records: Record<string, string>): Buffer[] {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (String(length).length + Buffer.byteLength(rest) !== length) length += 1;
    return `${length}${rest}`;
  });
  return tarEntry({ name: "pax", type: "x", data: lines.join("") });
}

function tarEntry({ name, data = "", mode = 0o100644, claimed, linkName = "", type }: TarEntry): Buffer[] {
  const isLink = (mode & 0o170000) === 0o120000;
  const bytes = Buffer.from(isLink ? "" : (data as Uint8Array));
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write(`${(mode & 0o7777).toString(8).padStart(7, "0")}\0`, 100);
  header.write(`${(claimed ?? bytes.length).toString(8).padStart(11, "0")}\0`, 124);
  header.write(type ?? typeOf(mode), 156);
  header.write(isLink ? String(data) : linkName, 157, 100);
  header.write("ustar\x0000", 257);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
}

function typeOf(mode: number): string {
  switch (mode & 0o170000) {
    case 0o120000:
      return "2";
    case 0o040000:
      return "5";
    case 0o020000:
      return "3";
    default:
      return "0";
  }
}
