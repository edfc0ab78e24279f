// A repository's history as one file that `git clone` and `git fetch` read: git's own bundle format, version 2.

import { LettaError } from "@/lib/errors.ts";
import { parseCommit, parseTree } from "./object-format.ts";
import { packBytes } from "./pack-write.ts";
import type { GitRepository, Oid } from "./types.ts";

/** Everything the branch leads to. Throws `not_found` for a branch without a commit. */
export async function createBundle(repository: GitRepository, branch: string): Promise<Uint8Array> {
  const tip = await repository.resolve(branch);
  if (tip === null) throw new LettaError("not_found", `${repository.dir} has no commit on ${branch}`);
  const oids = [...reachable(repository, tip)];
  const head = `# v2 git bundle\n${tip} ${branch}\n${tip} HEAD\n\n`;
  const { parts } = packBytes(oids, (oid) => repository.objects.read(oid));
  return Buffer.concat([Buffer.from(head), ...parts]);
}

function* reachable({ objects }: GitRepository, tip: Oid): Generator<Oid> {
  const seen = new Set<Oid>();
  const waiting: Oid[] = [tip];
  for (let oid = waiting.pop(); oid !== undefined; oid = waiting.pop()) {
    if (seen.has(oid)) continue;
    seen.add(oid);
    yield oid;
    const { type, content } = objects.read(oid);
    if (type === "commit") {
      const commit = parseCommit(oid, content);
      waiting.push(commit.tree, ...commit.parents);
    }
    if (type === "tree") for (const item of parseTree(oid, content)) if (item.mode !== "160000") waiting.push(item.oid);
  }
}
