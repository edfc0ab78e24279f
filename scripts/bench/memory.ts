// How long the memory's part of the prompt takes for a memory of many files.

import { planMemory, renderMemory, treeLimits } from "@/memory/render.ts";

const FILES = 2_000;
/** Under `system/`, of 4 KB each: more than is good for a prompt. */
const SYSTEM_FILES = 50;

/** Milliseconds of the first time, which is the only one in a process that runs one prompt. */
export function measureRender(): number {
  const body = "- One thing worth knowing, with its reason and when it was learned.\n".repeat(60);
  const files = new Map<string, string>();
  for (let at = 0; at < FILES; at++) {
    const folder = at < SYSTEM_FILES ? `system/area${at % 20}` : `reference/topic${at % 40}`;
    const text = `---\ndescription: Note ${at}, on: something\n---\n${body}`;
    // As it is when it comes from a file: one piece.
    files.set(`${folder}/note${at}.md`, Buffer.from(text).toString());
  }
  Bun.gc(true);
  const startedAt = performance.now();
  renderMemory(planMemory([...files.keys()], treeLimits()), (path) => files.get(path)!);
  return performance.now() - startedAt;
}
