// Which backend works on this machine. Trying takes tens of milliseconds, so the answer is kept in `~/.letta` for as long
// as kernel, namespaces, user and programs stay the same. A stale answer is no danger: a backend that cannot confine
// fails to start the command.

import { readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { release, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import * as v from "valibot";
import { sha256 } from "@/lib/hash.ts";
import { parseJson } from "@/lib/json.ts";
import { selfCommand } from "@/lib/self.ts";
import { writeFileAtomic } from "@/store/atomic-file.ts";
import { landlockAbi } from "./exec.ts";
import { LOWEST_ABI, SCOPE_ABI } from "./landlock.ts";
import type { Backend } from "./launch.ts";
import { type ProbeResult, probeBackend } from "./probe.ts";
import { SANDBOX_EXEC } from "./seatbelt.ts";

export interface BackendOptions {
  /** `~/.letta`. */
  lettaRoot: string;
  tmpdir: string;
  /** PATH. */
  path: string;
}

export interface Found {
  backend: Backend | null;
  /** Why there is none. */
  reason?: string;
}

export interface Candidate {
  name: Backend["name"];
  /** Null: it cannot even be tried, for `reason`. */
  backend: Backend | null;
  reason?: string;
  probe?: ProbeResult;
}

/** Distributions let this path use namespaces where others may not. */
const USUAL_BWRAP = "/usr/bin/bwrap";

const CacheSchema = v.object({ key: v.string(), name: v.nullable(v.string()), reason: v.optional(v.string()) });

/** The first that works. Never throws. */
export async function findBackend(options: BackendOptions): Promise<Found> {
  const file = cacheFile(options.lettaRoot);
  const candidates = listCandidates(options);
  const key = cacheKey(candidates);
  const cached = readCache(file, key, candidates);
  if (cached) return cached;
  const found = await tryInOrder(candidates, options);
  try {
    const { backend, reason } = found;
    writeFileAtomic(file, `${JSON.stringify({ key, name: backend?.name ?? null, ...(reason && { reason }) })}\n`);
  } catch {
    /* tried again next time */
  }
  return found;
}

/** For those who did not choose the sandbox and rely on all of it. */
export function withoutGaps(found: Found): Found {
  const { backend } = found;
  if (backend?.name !== "landlock" || backend.abi >= SCOPE_ABI) return found;
  return { backend: null, reason: `landlock: version ${backend.abi} does not keep signals from other processes` };
}

async function tryInOrder(candidates: Candidate[], options: BackendOptions): Promise<Found> {
  const reasons: string[] = [];
  for (const { name, backend, reason } of candidates) {
    if (backend === null) {
      reasons.push(`${name}: ${reason}`);
      continue;
    }
    const probe = await probeBackend(backend, options);
    if (probe.works) return { backend };
    reasons.push(`${name}: ${probe.reason}`);
  }
  return { backend: null, reason: reasons.join("; ") || "there is none for this system" };
}

/** The next look tries again. */
export function forgetBackend({ lettaRoot }: Pick<BackendOptions, "lettaRoot">): void {
  rmSync(cacheFile(lettaRoot), { force: true });
}

export function landlockVersion(): number {
  return landlockAbi();
}

/** Every backend of this system with what trying it says, for people. */
export async function probeAll(options: BackendOptions): Promise<Candidate[]> {
  const candidates = listCandidates(options);
  const probed: Candidate[] = [];
  for (const candidate of candidates) {
    const { backend } = candidate;
    probed.push(backend ? { ...candidate, probe: await probeBackend(backend, options) } : candidate);
  }
  return probed;
}

/** In the order of preference. */
function listCandidates({ path }: BackendOptions): Candidate[] {
  if (process.platform === "darwin") {
    const exists = statSync(SANDBOX_EXEC, { throwIfNoEntry: false }) !== undefined;
    return [exists ? { name: "seatbelt", backend: { name: "seatbelt" } } : missing("seatbelt", `no ${SANDBOX_EXEC}`)];
  }
  if (process.platform !== "linux") return [];
  const bwrap = findBwrap(path);
  const abi = landlockAbi();
  return [
    bwrap === null ? missing("bwrap", "not installed") : { name: "bwrap", backend: { name: "bwrap", path: bwrap } },
    abi < LOWEST_ABI
      ? missing("landlock", abi === 0 ? "this kernel has it not, or not switched on" : `version ${abi} is too old`)
      : { name: "landlock", backend: { name: "landlock", abi, self: selfCommand() } },
  ];
}

function missing(name: Backend["name"], reason: string): Candidate {
  return { name, backend: null, reason };
}

function findBwrap(path: string): string | null {
  const found = Bun.which("bwrap", { PATH: path.split(":").filter(isAbsolute).join(":") });
  if (found === null) return null;
  return statSync(USUAL_BWRAP, { throwIfNoEntry: false }) ? USUAL_BWRAP : found;
}

function cacheFile(lettaRoot: string): string {
  return join(lettaRoot, "sandbox-probe.json");
}

function cacheKey(candidates: Candidate[]): string {
  const programs = candidates.flatMap(({ backend }) => {
    const file = backend?.name === "bwrap" ? backend.path : backend?.name === "landlock" ? backend.self[0] : undefined;
    const stat = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false });
    return [JSON.stringify(backend), stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : ""];
  });
  const namespaces = ["user", "mnt"].map((name) => linkOf(`/proc/self/ns/${name}`));
  const switches = ["user/max_user_namespaces", "kernel/apparmor_restrict_unprivileged_userns"].map(textOf);
  return sha256([release(), userInfo().uid, ...namespaces, ...switches, ...programs].join("\n"));
}

function readCache(file: string, key: string, candidates: Candidate[]): Found | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return null; // Nothing kept yet.
  }
  const cached = v.safeParse(CacheSchema, parseJson(text));
  if (!cached.success || cached.output.key !== key) return null;
  const { name, reason } = cached.output;
  if (name === null) return { backend: null, reason: reason ?? "no sandbox works here" };
  const backend = candidates.find((candidate) => candidate.name === name)?.backend;
  return backend ? { backend } : null;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function textOf(name: string): string {
  try {
    return readFileSync(`/proc/sys/${name}`, "latin1").trim();
  } catch {
    return "";
  }
}
