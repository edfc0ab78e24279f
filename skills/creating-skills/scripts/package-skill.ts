// Packs a skill's folder into one file, NAME.skill: a ZIP archive whose only folder is the skill. The same folder gives
// the same bytes.

import { lstatSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { crc32, deflateRawSync } from "node:zlib";

const HELP = `
Pack a skill into one file that can be sent and installed.

  package-skill.ts FOLDER [--out DIR]    writes DIR/NAME.skill (default: the working directory)

Names that begin with a dot are left out. Links are refused: they would lead somewhere else on another machine.
Exit codes: 0 done, 1 the folder cannot be packed, 2 wrong usage
`;

const MAX_BYTES = 20 * 1024 * 1024;
const MAX_FILES = 2000;
/** 1980-01-01, the first day ZIP knows. */
const DOS_DATE = 0x21;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
const MADE_BY_UNIX = 3 << 8;

interface Entry {
  /** Relative to the folder, with slashes. */
  path: string;
  data: Buffer;
  executable: boolean;
}

class Failure extends Error {
  constructor(
    message: string,
    readonly exitCode: 1 | 2 = 1,
  ) {
    super(message);
  }
}

function main(argv: string[]): void {
  const { folder, out } = readArguments(argv);
  const kind = lstatSync(folder, { throwIfNoEntry: false });
  if (!kind?.isDirectory()) throw new Failure(`${folder} is no folder`);
  const name = checkHead(folder);
  const entries = collect(folder, "");
  const bytes = entries.reduce((sum, { data }) => sum + data.length, 0);
  if (entries.length > MAX_FILES) throw new Failure(`more than ${MAX_FILES} files`);
  if (bytes > MAX_BYTES) throw new Failure(`more than ${MAX_BYTES / 1024 / 1024} MB`);
  const file = join(out, `${name}.skill`);
  const partial = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(partial, zip(name, entries));
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw new Failure((error as Error).message);
  }
  for (const { path, data, executable } of entries)
    console.log(`${path}  ${data.length}${executable ? "  executable" : ""}`);
  console.log(`${file}: ${entries.length} ${entries.length === 1 ? "file" : "files"}`);
}

function readArguments(argv: string[]): { folder: string; out: string } {
  let parsed: { values: { out?: string }; positionals: string[] };
  try {
    parsed = parseArgs({ args: argv, options: { out: { type: "string" } }, allowPositionals: true });
  } catch (error) {
    throw new Failure((error as Error).message, 2);
  }
  const [folder, ...more] = parsed.positionals;
  if (folder === undefined || more.length > 0) throw new Failure("one FOLDER is needed; --help explains", 2);
  return { folder: resolve(folder), out: resolve(parsed.values.out ?? ".") };
}

/** The name others will find it by: that of the folder, and the head's. */
function checkHead(folder: string): string {
  const file = join(folder, "SKILL.md");
  if (!lstatSync(file, { throwIfNoEntry: false })?.isFile()) throw new Failure(`${file} is missing`);
  const head = /^\ufeff?---\r?\n([\s\S]*?)\r?\n---\s*(?:\r?\n|$)/.exec(readFileSync(file, "utf8"))?.[1];
  if (head === undefined) throw new Failure("SKILL.md does not begin with a head between two --- lines");
  let fields: unknown;
  try {
    fields = Bun.YAML.parse(head);
  } catch (error) {
    throw new Failure(`the head of SKILL.md is no YAML: ${(error as Error).message}`);
  }
  const { name, description } = (fields ?? {}) as { name?: unknown; description?: unknown };
  if (name !== basename(folder)) throw new Failure(`name is ${JSON.stringify(name)}, the folder ${basename(folder)}`);
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(String(name)) || String(name).length > 64)
    throw new Failure("name must be lower-case letters, digits and single hyphens, at most 64");
  if (typeof description !== "string" || description.trim() === "" || description.length > 1024)
    throw new Failure("description must be a text of at most 1024 characters");
  return String(name);
}

function collect(folder: string, prefix: string): Entry[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith("."))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${prefix}${entry.name}`;
      if (entry.isDirectory()) return collect(folder, `${path}/`);
      if (!entry.isFile()) throw new Failure(`${path} is no plain file`);
      const full = join(folder, path);
      return [{ path, data: readFileSync(full), executable: (lstatSync(full).mode & 0o111) !== 0 }];
    });
}

function zip(folder: string, entries: Entry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, data, executable } of entries) {
    const name = Buffer.from(`${folder}/${path}`);
    const packed = deflateRawSync(data);
    // What both headers say of a file.
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(UTF8_NAMES, 2);
    shared.writeUInt16LE(DEFLATED, 4);
    shared.writeUInt16LE(DOS_DATE, 8);
    shared.writeUInt32LE(crc32(data), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(data.length, 18);
    shared.writeUInt16LE(name.length, 22);
    parts.push(Buffer.from("PK\x03\x04", "latin1"), shared, name, packed);

    const place = Buffer.alloc(14);
    place.writeUInt32LE(((0o100000 | (executable ? 0o755 : 0o644)) << 16) >>> 0, 6);
    place.writeUInt32LE(offset, 10);
    const madeBy = Buffer.alloc(2);
    madeBy.writeUInt16LE(MADE_BY_UNIX | 20, 0);
    directory.push(Buffer.from("PK\x01\x02", "latin1"), madeBy, shared, place, name);
    offset += 4 + shared.length + name.length + packed.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(listing.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listing, Buffer.from("PK\x05\x06", "latin1"), end]);
}

const argv = process.argv.slice(2);
if (argv.length === 0 || argv.includes("--help") || argv.includes("-h")) {
  console.log(HELP.trim());
  process.exit(argv.length === 0 ? 2 : 0);
}
try {
  main(argv);
} catch (error) {
  console.error(`error: ${(error as Error).message}`);
  process.exit(error instanceof Failure ? error.exitCode : 1);
}
