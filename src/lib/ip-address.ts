// Is an IP address one of the public internet? Everything else (this machine, the local network, metadata services,
// addresses that carry such an address inside) is somewhere a stranger's link must not lead.

import { isIPv4, isIPv6 } from "node:net";

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublic4(toNumber(address));
  // A zone (`fe80::1%eth0`) only exists for local addresses.
  if (!isIPv6(address) || address.includes("%")) return false;
  return isPublic6(toGroups(address));
}

/** Network and prefix length; RFC 6890 and what clouds serve their metadata from. */
const PRIVATE_4: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

function isPublic4(address: number): boolean {
  return !PRIVATE_4.some(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor(toNumber(network) / size);
  });
}

function isPublic6(groups: number[]): boolean {
  const [first = 0, second = 0, third = 0] = groups;
  const last4 = groups[6]! * 0x10000 + groups[7]!;
  // NAT64 reaches what the IPv4 address inside names.
  if (first === 0x64 && second === 0xff9b && groups.slice(2, 6).every((group) => group === 0)) return isPublic4(last4);
  // Only 2000::/3 is global. That leaves out ::1, mapped IPv4, fc00::/7, fe80::/10 and multicast.
  if (first < 0x2000 || first > 0x3fff) return false;
  // Teredo, ORCHID and benchmarking (2001::/23); documentation; 6to4, which carries an IPv4 address.
  if (first === 0x2001 && second < 0x200) return false;
  if (first === 0x2001 && second === 0xdb8) return false;
  if (first === 0x3fff && second < 0x1000) return false;
  return first !== 0x2002 || isPublic4(second * 0x10000 + third);
}

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** The eight groups of a valid IPv6 address. */
function toGroups(address: string): number[] {
  const plain = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (dotted) => {
    const value = toNumber(dotted);
    return `${Math.floor(value / 0x10000).toString(16)}:${(value % 0x10000).toString(16)}`;
  });
  const [head = "", tail] = plain.split("::");
  const parse = (part: string | undefined): number[] =>
    part ? part.split(":").map((group) => parseInt(group, 16)) : [];
  const [front, back] = [parse(head), parse(tail)];
  if (tail === undefined) return front;
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}
