// Programs that run another one with the words after their options, and change nothing about what it does. A proof about
// the inner command holds through them. Everything else that runs programs (scan.ts lists them) is never opened for one.

import { type OptionTable, parseOptions } from "./options.ts";

interface Wrapper extends OptionTable {
  /** Words of its own before the inner command. */
  operands?: number;
  /** Finds builtins of the shell, too. */
  builtins?: boolean;
}

/** Not nohup: on a terminal it writes a file. */
const WRAPPERS: Record<string, Wrapper> = {
  timeout: { valued: "ks", long: ["foreground", "preserve-status"], operands: 1 },
  nice: { valued: "n" },
  ionice: { valued: "cn" },
  stdbuf: { valued: "ioe" },
  command: { builtins: true },
  builtin: { builtins: true },
  // Without options and assignments only: either could take away what closes configuration.
  env: {},
};
/** What only a shell knows, or what behaves differently outside of one. */
const BUILTIN_ONLY = new Set(["cd", "type", "command", "builtin"]);

/** Null when the words are no such wrapper around a command. */
export function openWrapper(argv: string[]): { outer: string[]; inner: string[] } | null {
  const name = argv[0] ?? "";
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name]! : undefined;
  if (!wrapper) return null;
  let at = 1;
  while (argv[at]?.startsWith("-")) {
    // A value may stand apart.
    at += new RegExp(`^-[${wrapper.valued ?? ""}]$`).test(argv[at]!) && wrapper.valued ? 2 : 1;
  }
  const parsed = parseOptions(wrapper, argv.slice(1, at));
  if ("why" in parsed || parsed.operands.length > 0) return null;
  const start = at + (wrapper.operands ?? 0);
  if (wrapper.operands && !/^\d+(?:\.\d+)?[smhd]?$/.test(argv[at] ?? "")) return null;
  const inner = argv.slice(start);
  const [first] = inner;
  if (first === undefined || first.startsWith("-") || first.includes("=") || first.includes("/")) return null;
  if (!wrapper.builtins && BUILTIN_ONLY.has(first)) return null;
  return { outer: argv.slice(0, start), inner };
}

/** The script of `bash -c SCRIPT`, when that is all there is. */
export function innerScript(argv: string[]): string | null {
  const [name = "", option, script] = argv;
  return argv.length === 3 && option === "-c" && /^(?:bash|sh)$/.test(name) ? script! : null;
}
