// Read-only commands whose arguments have a grammar of their own.

import { parseOptions } from "./options.ts";
import type { ReadOnlyResult } from "./read-only.ts";

function no(why: string): ReadOnlyResult {
  return { readOnly: false, why };
}

/** Tests that take no value, tests that take one, and nothing that runs, writes, deletes or follows links. */
const FIND_PLAIN = new Set(
  "-not ! -o -or -a -and ( ) -prune -print -print0 -ls -quit -empty -true -false -depth -mount -xdev -readable -writable -executable".split(
    " ",
  ),
);
const FIND_VALUED = new Set(
  "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -links".split(
    " ",
  ),
);

export function findFindReads(args: string[]): ReadOnlyResult {
  const firstTest = args.findIndex((arg) => arg.startsWith("-") || arg === "!" || arg === "(");
  const roots = firstTest === -1 ? args : args.slice(0, firstTest);
  const newer: string[] = [];
  for (let at = roots.length; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === "-newer") newer.push(args[++at] ?? "");
    else if (FIND_VALUED.has(arg)) at += 1;
    else if (!FIND_PLAIN.has(arg)) return no(`find: ${arg}`);
  }
  return { readOnly: true, reads: [...(roots.length ? roots : ["."]), ...newer], run: args };
}

const SED_OPTION = /^(?:-[nEr]|--quiet|--silent|--regexp-extended)$/;
const SED_ADDRESSES = /^(?:(?:\d+|\$)(?:,(?:\d+|\$))?[pd])(?:; ?(?:\d+|\$)(?:,(?:\d+|\$))?[pd])*$/;
/** `/one/p` and `/from/,/to/p`. */
const SED_MATCHES = /^\/[^/\\\n]+\/(?:, ?\/[^/\\\n]+\/)?[pd]$/;
/** Exactly three slashes, so that every sed ends pattern and replacement in the same places. */
const SED_SUBSTITUTION = /^s\/[^/\n]+\/[^/\n]*\/[gpI0-9]*$/;

/** Sed scripts can write files and run programs: only printing, deleting and replacing what is printed. */
export function findSedReads(args: string[]): ReadOnlyResult {
  const first = args.findIndex((arg) => !SED_OPTION.test(arg));
  const [script = "", ...files] = first === -1 ? [] : args.slice(first);
  const known = SED_ADDRESSES.test(script) || SED_MATCHES.test(script) || isSubstitution(script);
  if (!known || files.some((file) => file.startsWith("-"))) return no("sed: not just printing lines");
  return { readOnly: true, reads: files, run: args };
}

function isSubstitution(script: string): boolean {
  // A backslash must not take the delimiter, or the end, for itself.
  return SED_SUBSTITUTION.test(script) && !/\\(?:\/|$)/.test(script);
}

const JQ = {
  flags: "rcsenSMCaj",
  long: "raw-output compact-output slurp exit-status null-input sort-keys monochrome-output color-output tab join-output ascii-output raw-input".split(
    " ",
  ),
};
/** Reads the environment, other files, or what started jq. Blanks and comments may stand between `$` and a name. */
const JQ_REACHES_OUT =
  /\b(?:env|input_filename|include|import|debug|stderr|modulemeta|get_search_list|halt_error|\$?__prog_args|\$?__loc__|\$ENV)\b|\$ENV|\$[\s#]/;

export function findJqReads(args: string[]): ReadOnlyResult {
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const [option, value = "", second = ""] = args.slice(at);
    // In jq's own order, left to right, and never with an option where a value belongs: what we take for a value, jq
    // might take for the filter or a file.
    if (option === "--arg" || option === "--argjson") {
      if (!/^\w+$/.test(value) || second === "" || second.startsWith("-"))
        return no(`jq: ${option} without its values`);
      at += 2;
    } else if (option === "--indent") {
      if (!/^[0-7]$/.test(value)) return no("jq: --indent without its number");
      at += 1;
    } else if (option === "--") return no("jq: option --");
    else rest.push(option!);
  }
  const parsed = parseOptions(JQ, rest);
  if ("why" in parsed) return no(`jq: ${parsed.why}`);
  const [filter, ...paths] = parsed.operands;
  if (filter === undefined) return no("jq: no filter");
  if (JQ_REACHES_OUT.test(filter)) return no("jq: the filter may reach beyond its input");
  return { readOnly: true, reads: paths, run: args };
}

/** `-e FILE`, comparisons of words, comparisons of numbers. `-v` and `-R` evaluate subscripts. */
export function findTestReads(args: string[]): ReadOnlyResult {
  const rest = args[0] === "!" ? args.slice(1) : args;
  const [left = "", operator = "", right = ""] = rest;
  if (rest.length === 2 && /^-[efdsLrwx]$/.test(left)) return { readOnly: true, reads: [operator], run: args };
  if (rest.length === 2 && /^-[nz]$/.test(left)) return { readOnly: true, reads: [], run: args };
  const compares =
    /^(?:=|!=|==)$/.test(operator) ||
    (/^-(?:eq|ne|lt|le|gt|ge)$/.test(operator) && /^-?\d+$/.test(left) && /^-?\d+$/.test(right));
  return rest.length === 3 && compares ? { readOnly: true, reads: [], run: args } : no("test: not a plain comparison");
}

const DOCKER: Record<string, Parameters<typeof parseOptions>[0]> = {
  ps: {
    flags: "aqs",
    valued: "nf",
    long: ["all", "quiet", "size", "no-trunc"],
    longValued: ["filter", "format", "last"],
  },
  images: { flags: "aq", valued: "f", long: ["all", "quiet", "digests", "no-trunc"], longValued: ["filter", "format"] },
  logs: { flags: "t", valued: "n", long: ["timestamps"], longValued: ["tail", "since", "until"] },
  port: {},
  top: {},
  stats: { flags: "a", long: ["no-stream", "all", "no-trunc"], longValued: ["format"] },
};

/** Not `inspect`: it prints environments. */
export function findDockerReads(args: string[]): ReadOnlyResult {
  const [name = "", ...options] = args;
  const table = Object.hasOwn(DOCKER, name) ? DOCKER[name] : undefined;
  if (!table) return no(`\`docker ${name}\` is not a known read-only command`);
  const parsed = parseOptions(table, options);
  if ("why" in parsed) return no(`docker ${name}: ${parsed.why}`);
  // What follows the container is given to `ps` inside it.
  if (name === "top" && parsed.operands.length !== 1) return no("docker top: options of ps");
  if (name === "stats" && !parsed.given.has("no-stream")) return no("docker stats: does not end");
  return { readOnly: true, reads: [], run: args };
}

const KUBECTL: Parameters<typeof parseOptions>[0] = {
  flags: "A",
  valued: "nloL",
  long: ["all-namespaces", "no-headers", "show-labels", "show-kind", "ignore-not-found"],
  longValued: ["namespace", "selector", "field-selector", "output", "label-columns", "context"],
};
/** What a table of these shows is no secret. Not here: secrets, and what people define themselves. */
const KINDS = new Set(
  "all po pod pods svc service services deploy deployment deployments rs replicaset replicasets sts statefulset statefulsets ds daemonset daemonsets job jobs cj cronjob cronjobs no node nodes ns namespace namespaces ev event events ing ingress ingresses pv persistentvolume persistentvolumes pvc persistentvolumeclaim persistentvolumeclaims sc storageclass storageclasses hpa horizontalpodautoscaler horizontalpodautoscalers ep endpoints netpol networkpolicy networkpolicies pdb poddisruptionbudget poddisruptionbudgets quota resourcequota resourcequotas cm configmap configmaps".split(
    " ",
  ),
);

/** Tables of `kubectl get`, from the cluster of the user's own configuration. Whole objects, descriptions and logs hold
 *  environments, and `describe` of a config map all of it. */
export function findKubectlReads(args: string[]): ReadOnlyResult {
  const parsed = parseOptions(KUBECTL, args);
  if ("why" in parsed) return no(`kubectl: ${parsed.why}`);
  const { operands, options, beforeDashes } = parsed;
  const [verb, kinds = "", ...names] = operands;
  if (verb !== "get" || beforeDashes !== null) return no(`\`kubectl ${verb ?? ""}\` is not a known read-only command`);
  const formats = options.flatMap((option, at) =>
    option === "-o" || option === "--output"
      ? (options[at + 1] ?? "")
      : (/^(?:-o=?|--output=)(.+)$/.exec(option)?.[1] ?? []),
  );
  if (!formats.every((format) => format === "wide" || format === "name")) return no("kubectl: whole objects");
  // A cluster such as `-Aoyaml`: its format was not looked at.
  if (options.some((option) => /^-A./.test(option))) return no("kubectl: options in a cluster");
  // `pods,svc`, `pod/x`: every word that names a kind.
  const named = [...kinds.split(","), ...names.filter((name) => name.includes("/"))].map((word) => word.split("/")[0]!);
  if (!named.every((kind) => KINDS.has(kind))) return no("kubectl: kinds that may hold secrets");
  return { readOnly: true, reads: [], run: args };
}
