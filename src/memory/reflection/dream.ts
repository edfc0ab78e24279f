// One dream from its plan to its end: payload, worktree, child, check of its files, one repair, commit, and then
// `settle.ts`. Runs under the agent's reflection lease. The child writes files; everything else is done here.

import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ConversationRef } from "@/backend/backend.ts";
import { errorMessage, LettaError, systemErrorCode } from "@/lib/errors.ts";
import { takeHead } from "@/lib/text.ts";
import { isMarkdown, isSkillPath, isSystemPath, PERSONA_PATH } from "@/memory/places.ts";
import { planMemory, renderMemory, type TreeLimits } from "@/memory/render.ts";
import type { AgentMemory } from "@/memory/service.ts";
import { formatProblems, type Problem, validateChanges } from "@/memory/validate.ts";
import { storageError, writeFileAtomic } from "@/store/atomic-file.ts";
import type { GitRepository, Oid } from "@/store/git/types.ts";
import type { SubagentDefinition } from "@/subagents/definition.ts";
import type { Launch } from "@/subagents/launch.ts";
import type { Child, ChildUsage } from "@/subagents/launch-child.ts";
import { type Collected, collectChanges } from "./collect.ts";
import type { CursorMove } from "./cursors.ts";
import { type DreamPlan, type DreamRecord, isPending } from "./journal.ts";
import { DREAM_MAX_TURNS } from "./limits.ts";
import { type ManifestEntry, renderManifest, renderPayload } from "./payload.ts";
import { type DreamPrompt, renderDreamPrompt, renderRepairPrompt } from "./prompt.ts";
import { PAYLOAD_FOLDER } from "./recover.ts";
import { commitMessage, parseReport } from "./report.ts";
import type { MergeMode } from "./settings.ts";
import { dropDream, isSameConversation, type SettleDeps, type Settled, settleDream } from "./settle.ts";
import type { Slice } from "./transcript.ts";
import { commitDream, type DreamPlace, type DreamTree, dreamPlace, openDreamTree, readTexts } from "./worktree.ts";

export interface DreamDeps extends SettleDeps {
  agentMemory: AgentMemory;
  persona: SubagentDefinition;
  treeLimits: TreeLimits;
  /** Where this agent's payloads lie while they are read. */
  payloads: string;
  launch(launch: Launch, options: { signal: AbortSignal; timeoutMs: number }): Child;
  now(): number;
}

export interface DreamRequest {
  slices: (Slice & { reason?: string })[];
  /** The compaction each conversation waited with, by conversation id. */
  compactions: ReadonlyMap<string, string | null>;
  selectionPolicy: string;
  instruction?: string;
  /** Instead of the built-in persona. */
  system?: string;
  /** Instead of the built-in first message. */
  prompt?: string;
  /** Handle. */
  model: string | null;
  merge: MergeMode;
  timeoutMs: number;
  depth: number;
  signal: AbortSignal;
}

export interface DreamOutcome extends Settled {
  id: string;
  /** Of the commit. */
  subject: string | null;
  report: string | null;
  usage: ChildUsage;
}

/** Throws only for bugs and a disk that fails: then nothing of the dream is left but its line in the journal. */
export async function runDream(request: DreamRequest, deps: DreamDeps): Promise<DreamOutcome> {
  const id = dreamId(deps.now());
  const { memory, journal, agentMemory, cursors } = deps;
  const base = (await memory.resolve("HEAD"))!;
  const { agent } = agentMemory;
  const place = dreamPlace(deps.worktrees, id);
  const plan: DreamPlan = {
    agentId: agent.id,
    base,
    moves: request.slices.flatMap((slice) => toMove(slice, request.compactions)),
    reviewed: request.slices.map(describeSlice),
    merge: request.merge,
    ...(request.instruction && { instruction: request.instruction }),
  };
  const earlier = findEarlier(journal.read(), plan);
  journal.append(id, { step: "planned", plan });
  const record = journal.read().find((entry) => entry.id === id)!;
  for (const move of plan.moves) cursors.started(move);
  deps.onStep?.("planned");
  const payloads = join(deps.payloads, `${PAYLOAD_FOLDER}${id}`);
  const dreamer = { report: null as string | null, usage: NO_USAGE };
  try {
    const transcriptPath = writePayloads(payloads, request, deps, agent.id);
    const tree = await openDreamTree(memory, place, base);
    deps.onStep?.("worktree");
    const prompt = request.prompt ?? (await firstMessage(request, { transcriptPath, plan, place, earlier }, deps));
    const system = request.system ?? deps.persona.prompt;
    const launch = toLaunch({ id, plan, place, request, system, prompt, transcriptPath, payloads }, deps);
    const child = deps.launch(launch, { signal: request.signal, timeoutMs: request.timeoutMs });
    const { files, secrets } = await work(child, { base, place, dreamer }, deps);
    // Not even as a proposal: a ref would keep it, and a remote would get it.
    if (secrets.length > 0) throw new DreamFailure("failed", secrets.join("\n"));
    if (files.changes.length === 0) {
      await dropDream(record, { status: "no_changes", moved: "advance" }, deps);
      return { id, ...dreamer, subject: null, ...NOTHING, status: "no_changes", notes: files.notes };
    }
    await commitFiles(record, { tree, place, files, report: dreamer.report }, deps);
    deps.onStep?.("committed");
    const settled = await settleDream(record, deps);
    const { subject, notes } = record.committed!;
    return { id, ...dreamer, subject, ...settled, notes: [...notes, ...settled.notes] };
  } catch (error) {
    // What was committed is settled by whoever comes next.
    if (!(error instanceof DreamFailure || error instanceof LettaError || systemErrorCode(error))) throw error;
    if (record.committed) throw error instanceof LettaError ? error : storageError("cannot finish the dream", error);
    const status = error instanceof DreamFailure ? error.status : "failed";
    const reason = errorMessage(error);
    await dropDream(record, { status, reason, moved: status === "stopped" ? "leave" : "fail" }, deps);
    return { id, ...dreamer, subject: null, ...NOTHING, status, reason };
  } finally {
    rmSync(payloads, { recursive: true, force: true });
  }
}

const NO_USAGE: ChildUsage = { steps: 0, totalTokens: 0, costUsd: null };
const NOTHING = { head: null, paths: [], notes: [], proposal: null, reason: null };

/** The child did not do its work. */
class DreamFailure extends Error {
  constructor(
    readonly status: "failed" | "timed_out" | "stopped",
    message: string,
  ) {
    super(message);
  }
}

interface Dreamer {
  report: string | null;
  usage: ChildUsage;
}

/** Waits for the dreamer, has its files mended once, and ends it. Throws DreamFailure. */
async function work(
  child: Child,
  { base, place, dreamer }: { base: Oid; place: DreamPlace; dreamer: Dreamer },
  deps: DreamDeps,
): Promise<{ files: Collected; secrets: string[] }> {
  try {
    await nextAnswer(child, dreamer, deps);
    const first = await check({ base, place }, deps);
    if (first.problems.length > 0) {
      child.send(renderRepairPrompt(first.problems));
      const before = dreamer.report;
      await nextAnswer(child, dreamer, deps);
      // "Done" is no report.
      if (parseReport(dreamer.report).type === "chore" && before !== null) dreamer.report = before;
    }
  } finally {
    // Nothing writes to its files any more when they are collected.
    await child.finish();
  }
  return check({ base, place }, deps);
}

/** What the dreamer says reaches a commit and the terminal. */
async function nextAnswer(child: Child, dreamer: Dreamer, { redact }: DreamDeps): Promise<void> {
  const answer = await child.answer();
  dreamer.usage = addUsage(dreamer.usage, answer.usage);
  if (answer.status === "answered") {
    dreamer.report = answer.report && redact(answer.report);
    return;
  }
  const end = await child.finish();
  const status = end.status === "timed_out" || end.status === "stopped" ? end.status : "failed";
  throw new DreamFailure(status, redact(end.status === "ended" ? answer.error : end.error));
}

async function check(
  { base, place }: { base: Oid; place: DreamPlace },
  { memory, redact }: DreamDeps,
): Promise<{ files: Collected; problems: string[]; secrets: string[] }> {
  const { changes, notes } = await collectChanges(memory, base, place.dir);
  const found = await validateChanges({
    changes,
    paths: (await memory.listFiles(base)).map(({ path }) => path),
    read: (path) => memory.readFile(base, path),
    redact,
  });
  const tell = (problems: readonly Problem[]) => problems.map((problem) => redact(formatProblems([problem])));
  const errors = found.filter(({ severity }) => severity === "error");
  return {
    files: { changes, notes: notes.map(redact) },
    problems: tell(errors),
    secrets: tell(errors.filter(({ kind }) => kind === "secret")),
  };
}

/** Problems that are left do not stop the commit: it lies on a branch of its own, and `integrate` does not let it pass. */
async function commitFiles(
  record: DreamRecord,
  { tree, place, files, report }: { tree: DreamTree; place: DreamPlace; files: Collected; report: string | null },
  deps: DreamDeps,
): Promise<void> {
  const { id, plan } = record;
  const parsed = parseReport(report);
  const { notes } = files;
  const facts = { dreamId: id, parentAgentId: plan.agentId, reviewed: plan.reviewed, notes };
  const tip = await commitDream(
    deps.memory,
    tree,
    { place, base: plan.base },
    {
      changes: files.changes,
      message: commitMessage(parsed, facts),
      redact: deps.redact,
      author: { name: "Reflection Subagent", email: `reflection-${id}@letta.com` },
    },
  );
  const step = { tip, subject: `${parsed.type}(reflection): ${parsed.subject}`, notes };
  deps.journal.append(id, { step: "committed", ...step });
  record.committed = step;
}

function toLaunch(
  dream: {
    id: string;
    plan: DreamPlan;
    place: DreamPlace;
    request: DreamRequest;
    system: string;
    prompt: string;
    transcriptPath: string;
    payloads: string;
  },
  { persona }: DreamDeps,
): Launch {
  const { id, plan, place, request, system, prompt, transcriptPath, payloads } = dream;
  return {
    v: 1,
    run_id: `reflection-${id}`,
    backend: "local",
    agent: { kind: "new", tags: ["type:reflection", `parent:${plan.agentId}`] },
    system_prompt: system,
    prompt,
    model: request.model,
    tools: persona.tools,
    // Edits of its own folder and what is proven to only read; where a sandbox works, any command in it.
    permissions: { mode: "acceptEdits", allow: [], deny: [] },
    memory: { dir: place.dir, readable: [payloads] },
    transcript_path: transcriptPath,
    cwd: place.dir,
    limits: { max_turns: DREAM_MAX_TURNS, timeout_s: Math.ceil(request.timeoutMs / 1000) },
    depth: request.depth + 1,
  };
}

async function firstMessage(
  request: DreamRequest,
  {
    transcriptPath,
    plan,
    place,
    earlier,
  }: { transcriptPath: string; plan: DreamPlan; place: DreamPlace; earlier: DreamRecord | null },
  deps: DreamDeps,
): Promise<string> {
  const { memory, persona, treeLimits } = deps;
  const texts = await readTexts(memory, plan.base, (path) => isMarkdown(path) && !isSkillPath(path));
  const byPath = new Map(texts.map(({ path, text }) => [path, text]));
  const rest = texts.map(({ path }) => path).filter((path) => !isSystemPath(path));
  const system = texts.filter(({ path }) => isSystemPath(path)).map(({ path, text: content }) => ({ path, content }));
  // Who the agent is comes first: it is the last to be left out.
  system.sort((a, b) => Number(b.path === PERSONA_PATH) - Number(a.path === PERSONA_PATH));
  const prompt: DreamPrompt = {
    transcriptPath,
    memoryDir: place.dir,
    isManifest: request.slices.length > 1,
    ...(request.instruction && { instruction: request.instruction }),
    ...(earlier && { earlier: await describeEarlier(memory, earlier) }),
    tree: renderMemory(planMemory(rest, treeLimits), (path) => byPath.get(path) ?? "").replace(/<\/?\w+>\n?/g, ""),
    system,
  };
  return renderDreamPrompt(request.system ?? persona.prompt, prompt);
}

/** The latest attempt on one of these conversations that waits because something was wrong with it. */
function findEarlier(records: readonly DreamRecord[], { moves }: DreamPlan): DreamRecord | null {
  const isAbout = ({ plan }: DreamRecord) =>
    plan.moves.some((move) => moves.some((other) => isSameConversation(move, other)));
  return records.findLast((record) => isPending(record) && !record.proposed!.advances && isAbout(record)) ?? null;
}

const DIFF_CHARS = 8_000;

async function describeEarlier(memory: GitRepository, { id, plan, proposed, committed }: DreamRecord) {
  const parts: string[] = [];
  const { tip, reason } = proposed!;
  for (const { path, after } of await memory.diffTrees(plan.base, tip)) {
    const text = after ? new TextDecoder().decode(await memory.objects.readBlob(after.oid)) : "(deleted)";
    parts.push(`${path}:\n${takeHead(text.trimEnd(), DIFF_CHARS / 4)}`);
  }
  return { id, reason, summary: committed?.subject ?? "", diff: takeHead(parts.join("\n\n"), DIFF_CHARS) };
}

/** Returns what the dreamer is to read first. */
function writePayloads(dir: string, request: DreamRequest, { redact, now }: DreamDeps, agentId: string): string {
  const entries: ManifestEntry[] = request.slices.map((slice, index) => {
    const payloadPath = join(dir, `payload-auto-${randomBytes(3).toString("hex")}.json`);
    writeFileAtomic(payloadPath, renderPayload(slice.rows, slice, redact));
    return { slice, payloadPath, priority: index + 1, ...(slice.reason && { reason: slice.reason }) };
  });
  const [only] = entries;
  if (entries.length === 1) return only!.payloadPath;
  const path = join(dir, "manifest.json");
  const { instruction, selectionPolicy } = request;
  const createdAt = new Date(now()).toISOString();
  writeFileAtomic(
    path,
    renderManifest({ agentId, createdAt, selectionPolicy, entries, ...(instruction && { instruction }) }),
  );
  return path;
}

function toMove(slice: Slice, compactions: DreamRequest["compactions"]): CursorMove[] {
  if (slice.mode === "replay") return [];
  const { agentId, conversationId, from, endMessageId: to, newestMessageId: newest } = slice;
  return [{ agentId, conversationId, from, to, newest, compaction: compactions.get(conversationId) ?? null }];
}

function describeSlice({ conversationId, startMessageId, endMessageId }: Slice & ConversationRef): string {
  return `conversation ${conversationId}, ${startMessageId} to ${endMessageId}`;
}

/** `<YYYYMMDDhhmmss UTC>-<8 hex>`. */
export function dreamId(now: number): Oid {
  const stamp = new Date(now).toISOString().replace(/\D/g, "").slice(0, 14);
  return `${stamp}-${randomBytes(4).toString("hex")}`;
}

function addUsage(a: ChildUsage, b: ChildUsage): ChildUsage {
  const costUsd = a.costUsd === null && b.costUsd === null ? null : (a.costUsd ?? 0) + (b.costUsd ?? 0);
  return { steps: a.steps + b.steps, totalTokens: a.totalTokens + b.totalTokens, costUsd };
}
