// The memory of one agent: who reads or changes it goes through here. Every change is checked, becomes exactly one commit
// with the agent as its author and the reason as its message, or leaves nothing behind. What others left uncommitted at
// other paths stays as it is. The git engine is loaded when it is needed.

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { codeOf, LettaError } from "@/lib/errors.ts";
import { createRedactor } from "@/lib/redactor.ts";
import type { ChangeOptions, CommitOptions, FileStatus, GitRepository, Identity } from "@/store/git/types.ts";
import type { Paths } from "@/store/paths.ts";
import {
  applyMemoryPatch,
  createFile,
  Draft,
  deletePath,
  describeFile,
  insertText,
  type MemoryFiles,
  renamePath,
  replaceText,
} from "./edits.ts";
import { MEMORY_HOOKS } from "./hooks.ts";
import { agentIdentity, HARNESS_IDENTITY, type MemoryPaths, memoryPaths } from "./places.ts";
import { formatProblems, hasErrors, type MemoryChange, type Problem, validateChanges } from "./validate.ts";

/** `src/store/git/repository.ts`, loaded when first needed. */
export interface GitEngine {
  /** Throws `not_found` when there is none. */
  openRepository(dir: string): Promise<GitRepository>;
  /** Idempotent. */
  initRepository(
    dir: string,
    options: { branch: string; config?: Record<string, string>; hooks?: Record<string, string> },
  ): Promise<GitRepository>;
}

export interface MemoryOptions {
  paths: Pick<Paths, "agents">;
  agent: { id: string; name: string };
  /** Absolute; a memory that lies elsewhere than the agent's own, as linked working trees do. */
  dir?: string;
  git(): Promise<GitEngine>;
  /** Files a memory begins with, by path. Default: none. */
  seed?(): Promise<Record<string, string>> | Record<string, string>;
  /** Takes secrets out of a text: what it changes may not be written. Default: by shape. */
  redact?(text: string): string;
}

export interface MemoryCommit {
  oid: string;
  paths: string[];
  /** Warnings only. */
  problems: Problem[];
  /** They as text; empty when there are none. */
  notes: string;
}

export interface EditOptions {
  /** Becomes the commit's message. */
  reason: string;
  /** Commit the edit is based on; it is refused when a touched file is another one by now. */
  expectedSha?: string;
}

export interface CommitRequest {
  message: string;
  /** Default: the agent. */
  author?: Identity;
  /** A person's own doing: read-only files may be changed. */
  ownerMayOverride?: boolean;
  expectedSha?: string;
}

export interface AgentMemory {
  readonly agent: { id: string; name: string };
  readonly places: MemoryPaths;
  /** Of the agent's own commits. */
  readonly identity: Identity;
  /** Whether there is a repository. */
  exists(): boolean;
  /** Commit that HEAD names; makes the repository when there is none. */
  head(): Promise<string>;
  /** The repository; made and seeded when there is none, also by several processes at once. */
  ensure(): Promise<GitRepository>;
  /** Files of a commit. Default: HEAD. */
  files(revision?: string): Promise<MemoryFiles>;

  create(file: { file: string; description: string; text: string }, options: EditOptions): Promise<MemoryCommit>;
  strReplace(
    edit: { file: string; oldString: string; newString: string; replaceAll: boolean },
    options: EditOptions,
  ): Promise<MemoryCommit>;
  insert(edit: { file: string; line: number; text: string }, options: EditOptions): Promise<MemoryCommit>;
  delete(file: string, options: EditOptions): Promise<MemoryCommit>;
  rename(names: { from: string; to: string }, options: EditOptions): Promise<MemoryCommit>;
  updateDescription(edit: { file: string; description: string }, options: EditOptions): Promise<MemoryCommit>;
  applyPatch(input: string, options: EditOptions): Promise<MemoryCommit>;
  /** Any change of a draft, checked and committed as the edits are. */
  edit(change: (draft: Draft) => Promise<void>, request: CommitRequest): Promise<MemoryCommit>;
  /** What committing this now would have to be told. `changes` come from wherever. */
  validate(changes: readonly MemoryChange[], options?: Pick<CommitRequest, "ownerMayOverride">): Promise<Problem[]>;
}

/** How often an edit is worked out anew because another process committed meanwhile. */
const MAX_ATTEMPTS = 20;
export const MEMORY_BRANCH = "main";

export function openMemory(options: MemoryOptions): AgentMemory {
  return new Memory(options);
}

class Memory implements AgentMemory {
  readonly agent: { id: string; name: string };
  readonly places: MemoryPaths;
  readonly identity: Identity;
  #repository: Promise<GitRepository> | undefined;

  constructor(private readonly options: MemoryOptions) {
    this.agent = options.agent;
    const own = memoryPaths(options.paths, options.agent.id);
    this.places = options.dir === undefined ? own : { ...own, memory: options.dir, lock: `${options.dir}.lock` };
    this.identity = agentIdentity(options.agent);
  }

  exists(): boolean {
    return existsSync(`${this.places.memory}/.git`);
  }

  async head(): Promise<string> {
    const head = await (await this.ensure()).resolve("HEAD");
    if (head === null) throw new LettaError("invalid_data", `${this.places.memory} has lost its last commit`);
    return head;
  }

  ensure(): Promise<GitRepository> {
    this.#repository ??= this.#open().catch((error: unknown) => {
      this.#repository = undefined;
      throw error;
    });
    return this.#repository;
  }

  async files(revision = "HEAD"): Promise<MemoryFiles> {
    const repository = await this.ensure();
    const oid = await repository.resolve(revision);
    if (oid === null) throw new LettaError("not_found", `The memory of ${this.agent.name} has no commit ${revision}`);
    return filesOf(repository, oid);
  }

  create(file: Parameters<AgentMemory["create"]>[0], options: EditOptions): Promise<MemoryCommit> {
    return this.#edit((draft) => createFile(draft, file), options);
  }
  strReplace(edit: Parameters<AgentMemory["strReplace"]>[0], options: EditOptions): Promise<MemoryCommit> {
    return this.#edit((draft) => replaceText(draft, edit), options);
  }
  insert(edit: Parameters<AgentMemory["insert"]>[0], options: EditOptions): Promise<MemoryCommit> {
    return this.#edit((draft) => insertText(draft, edit), options);
  }
  delete(file: string, options: EditOptions): Promise<MemoryCommit> {
    return this.#edit((draft) => deletePath(draft, file), options);
  }
  rename(names: { from: string; to: string }, options: EditOptions): Promise<MemoryCommit> {
    return this.#edit((draft) => renamePath(draft, names), options);
  }
  updateDescription(edit: { file: string; description: string }, options: EditOptions): Promise<MemoryCommit> {
    return this.#edit((draft) => describeFile(draft, edit), options);
  }
  applyPatch(input: string, options: EditOptions): Promise<MemoryCommit> {
    return this.#edit((draft) => applyMemoryPatch(draft, input), options);
  }

  async edit(change: (draft: Draft) => Promise<void>, request: CommitRequest): Promise<MemoryCommit> {
    const message = request.message.trim();
    if (message === "") throw new LettaError("usage", "A change of memory needs a reason");
    this.#assertNoSecret(message);
    const repository = await this.ensure();
    for (let attempt = 1; ; attempt++) {
      const head = await repository.resolve("HEAD");
      const files = head === null ? NO_FILES : await filesOf(repository, head);
      const draft = new Draft(this.places.memory, files);
      await change(draft);
      const changes = await draft.changes();
      if (changes.length === 0) throw new LettaError("usage", "This changes nothing in memory");
      if (request.expectedSha) await assertSame(repository, request.expectedSha, changes);
      await this.#assertNoOperation(repository);
      const problems = await this.#check(files, changes, request);
      const commit = { message, author: request.author ?? this.identity, expectedHead: head, refuseLocal };
      const oid = await commitOnce(repository, changes, commit);
      if (oid !== null)
        return { oid, paths: changes.map(({ path }) => path), problems, notes: formatProblems(problems) };
      // Somebody else committed: the edit is worked out again on what there is now.
      if (attempt === MAX_ATTEMPTS) {
        throw new LettaError("busy", "Others keep changing this memory: the edit was not made");
      }
    }
  }

  async validate(
    changes: readonly MemoryChange[],
    options: Pick<CommitRequest, "ownerMayOverride"> = {},
  ): Promise<Problem[]> {
    const repository = await this.ensure();
    const head = await repository.resolve("HEAD");
    return this.#problems(head === null ? NO_FILES : await filesOf(repository, head), changes, options);
  }

  /** A reason is history for ever, and shown wherever the memory is. */
  #assertNoSecret(message: string): void {
    const { redact = createRedactor([], { patterns: true }).redact } = this.options;
    if (redact(message) === message) return;
    throw new LettaError("invalid_data", "Nothing was changed in memory: the reason holds what looks like a secret", {
      hint: "Say it without the value. `letta secret set NAME` keeps one.",
    });
  }

  #edit(change: (draft: Draft) => Promise<void>, { reason, expectedSha }: EditOptions): Promise<MemoryCommit> {
    return this.edit(change, { message: reason, ...(expectedSha && { expectedSha }) });
  }

  #problems(
    files: MemoryFiles,
    changes: readonly MemoryChange[],
    { ownerMayOverride = false }: Pick<CommitRequest, "ownerMayOverride">,
  ): Promise<Problem[]> {
    return validateChanges({
      changes,
      paths: files.paths,
      read: (path) => files.read(path),
      ownerMayOverride,
      ...(this.options.redact && { redact: this.options.redact }),
    });
  }

  async #check(files: MemoryFiles, changes: readonly MemoryChange[], request: CommitRequest): Promise<Problem[]> {
    const problems = await this.#problems(files, changes, request);
    if (!hasErrors(problems)) return problems;
    const errors = problems.filter(({ severity }) => severity === "error");
    throw new LettaError("invalid_data", `Nothing was changed in memory:\n${formatProblems(errors)}`);
  }

  async #assertNoOperation(repository: GitRepository): Promise<void> {
    const operation = await repository.operation();
    if (!operation) return;
    throw new LettaError("conflict", `A ${operation} is half done in ${this.places.memory}`, {
      hint: "Finish or abort it with git first.",
    });
  }

  async #open(): Promise<GitRepository> {
    const engine = await this.options.git();
    const { memory } = this.places;
    if (this.exists()) {
      const repository = await engine.openRepository(memory);
      if ((await repository.resolve("HEAD")) !== null) {
        await this.#renew(repository);
        return repository;
      }
    }
    const repository = await engine.initRepository(memory, {
      branch: MEMORY_BRANCH,
      config: {
        "letta.agentId": this.agent.id,
        "user.name": this.identity.name,
        "user.email": this.identity.email,
        "commit.gpgsign": "false",
      },
      hooks: MEMORY_HOOKS,
    });
    if ((await repository.resolve("HEAD")) === null) {
      this.#assertNew();
      await this.#seed(repository);
    }
    return repository;
  }

  /** A branch that had commits and has no tip was damaged: a new beginning would bury what there was. */
  #assertNew(): void {
    const { memory } = this.places;
    if (!existsSync(`${memory}/.git/logs/refs/heads/${MEMORY_BRANCH}`)) return;
    throw new LettaError("invalid_data", `${memory} has lost the tip of its branch ${MEMORY_BRANCH}`, {
      hint: "letta memory fsck --repair looks for it in the branch's own log. Nothing was changed.",
    });
  }

  /** Commits that a person makes there with git carry the agent's name, which may be another one by now. */
  async #renew(repository: GitRepository): Promise<void> {
    if (repository.getConfig("user.name") === this.identity.name) return;
    try {
      await repository.setConfig({ "user.name": this.identity.name, "user.email": this.identity.email });
    } catch {
      // Whoever only reads need not be able to write there.
    }
  }

  /** The first commit: what was in the folder already, and the seeds that are not. */
  async #seed(repository: GitRepository): Promise<void> {
    const present = (await readdir(this.places.memory)).some((name) => name !== ".git");
    const seed = (await this.options.seed?.()) ?? {};
    const changes = Object.entries(seed)
      .filter(([path]) => !present || !existsSync(`${this.places.memory}/${path}`))
      .map(([path, text]) => ({ path, content: Buffer.from(text) }));
    const isEmpty = changes.length === 0 && !present;
    const commit: CommitOptions = {
      message: isEmpty ? "chore: initialize empty local memory" : "chore: initialize local memory",
      author: HARNESS_IDENTITY,
      expectedHead: null,
    };
    try {
      if (isEmpty) {
        await repository.commitTree(await repository.objects.writeTree([]), { ...commit, parents: [] });
        return;
      }
      if (changes.length > 0) await repository.commitChanges(changes, commit);
      if (present) {
        const { expectedHead: _, ...rest } = commit;
        await repository.commitPaths([], { ...rest, message: "chore: initialize local memory" });
      }
    } catch (error) {
      // Another process made the first commit.
      if (codeOf(error) !== "conflict" || (await repository.resolve("HEAD")) === null) throw error;
    }
  }
}

const NO_FILES: MemoryFiles = { paths: [], read: async () => null };

async function filesOf(repository: GitRepository, oid: string): Promise<MemoryFiles> {
  const entries = new Map((await repository.listFiles(oid)).map((entry) => [entry.path, entry]));
  const contents = new Map<string, Promise<Uint8Array>>();
  return {
    paths: [...entries.keys()],
    read(path) {
      const entry = entries.get(path);
      if (!entry) return Promise.resolve(null);
      let content = contents.get(path);
      if (!content) {
        content = repository.objects.readBlob(entry.oid);
        contents.set(path, content);
      }
      return content;
    },
  };
}

/** Only what the edit touches: unrelated unfinished work must not stop it. */
function refuseLocal(files: readonly FileStatus[]): LettaError {
  const names = files.map(({ path, state }) => `${path} (${state})`).join(", ");
  return new LettaError("conflict", `Nothing was changed: there are changes that nobody committed yet: ${names}`, {
    hint: "Look at them with `letta memory diff`, keep them with `letta memory commit -m …`, or drop them with `letta memory restore <path>`; then try again.",
  });
}

/** Null: HEAD is another one by now. */
async function commitOnce(
  repository: GitRepository,
  changes: MemoryChange[],
  options: ChangeOptions & { expectedHead: string | null },
): Promise<string | null> {
  try {
    const outcome = await repository.commitChanges(changes, options);
    if (outcome.status === "unchanged") throw new LettaError("usage", "This changes nothing in memory");
    return outcome.oid;
  } catch (error) {
    const moved = codeOf(error) === "conflict" && (await repository.resolve("HEAD")) !== options.expectedHead;
    if (moved) return null;
    throw error;
  }
}

async function assertSame(repository: GitRepository, sha: string, changes: readonly MemoryChange[]): Promise<void> {
  if ((await repository.resolve(sha)) === null) {
    throw new LettaError("usage", `expected_sha ${sha} is no commit of this memory`);
  }
  for (const { path } of changes) {
    const [then, now] = await Promise.all([repository.readFile(sha, path), repository.readFile("HEAD", path)]);
    const isSame = then === null || now === null ? then === now : Buffer.compare(then, now) === 0;
    if (!isSame) {
      throw new LettaError("conflict", `Nothing was changed: ${path} is not what it was in ${sha.slice(0, 7)}`, {
        hint: "Read the file as it is now and make the edit again.",
      });
    }
  }
}
