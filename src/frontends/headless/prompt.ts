// The first user message of a one-shot run: prompt, then attached files, then what was piped in, each labelled.

import { open } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import type { ContentPart, ImagePart } from "@/backend/wire.ts";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import type { HeadlessOptions } from "./options.ts";
import { MAX_STDIN_BYTES, type PipedInput, STDIN_SILENCE_MS } from "./stdin.ts";

/** Larger text files are refused: the agent can read a part of them with its tools. */
const MAX_ATTACHED_TEXT_BYTES = 1024 * 1024;
const MAX_ATTACHED_IMAGE_BYTES = 10 * 1024 * 1024;
const READ_BYTES = 64 * 1024;

const IMAGE_TYPES: Record<string, string> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

export interface PromptSources extends Pick<HeadlessOptions, "prompt" | "promptFile" | "files"> {
  cwd: string;
  /** Called only when needed. */
  readStdin: () => Promise<PipedInput>;
  /** For people, on stderr. */
  note: (text: string) => void;
}

/** Throws `usage` when there is nothing to send, `not_found` for a missing file. */
export async function buildPrompt(sources: PromptSources): Promise<string | ContentPart[]> {
  const files = await Promise.all(sources.files.map((path) => loadAttachment(sources.cwd, path)));
  const fromFile =
    sources.promptFile === undefined || sources.promptFile === "-"
      ? ""
      : await loadText(resolve(sources.cwd, sources.promptFile), sources.promptFile);
  const prompt = (sources.prompt || fromFile).trim();
  const piped = await sources.readStdin();
  noteStdin(piped, prompt !== "", sources.note);
  const parts: ContentPart[] = [];
  const texts: string[] = [];
  if (prompt) texts.push(prompt);
  else if (piped.text.trim()) texts.push(piped.text.trim());
  else if (sources.files.length === 0) throw noPrompt(piped);
  for (const file of files) {
    if (typeof file === "string") texts.push(file);
    else parts.push(file);
  }
  if (prompt && piped.text.trim()) texts.push(stdinBlock(piped));
  const text = texts.join("\n\n");
  if (parts.length === 0) return text;
  return [...(text ? [{ type: "text" as const, text }] : []), ...parts];
}

/** A fence longer than any inside, so that the block ends where it should. */
export function fencedBlock(label: string, text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${label}\n${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function stdinBlock(piped: PipedInput): string {
  const notice = piped.truncated
    ? ` (cut after ${MAX_STDIN_BYTES / 1024} KB)`
    : piped.abandoned
      ? " (what had arrived; the pipe was still open)"
      : "";
  return fencedBlock(`From stdin${notice}:`, piped.text);
}

function noteStdin(piped: PipedInput, hasPrompt: boolean, note: (text: string) => void): void {
  const seconds = STDIN_SILENCE_MS / 1000;
  if (piped.truncated) note(`stdin is longer than ${MAX_STDIN_BYTES / 1024} KB; the rest was left out`);
  if (!piped.abandoned) return;
  if (piped.text) note(`stdin was silent for ${seconds} s and is still open; sending what had arrived (--stdin waits)`);
  else if (hasPrompt) note(`nothing arrived on stdin for ${seconds} s; going on without it (--stdin waits)`);
}

async function loadAttachment(cwd: string, path: string): Promise<string | ImagePart> {
  const absolute = resolve(cwd, path);
  const mediaType = IMAGE_TYPES[extname(absolute).toLowerCase()];
  if (!mediaType) return fencedBlock(`File ${path}:`, await loadText(absolute, path));
  const bytes = await loadBytes(absolute, path, MAX_ATTACHED_IMAGE_BYTES);
  const data = Buffer.from(bytes).toString("base64");
  return { type: "image", source: { type: "base64", media_type: mediaType, data } };
}

async function loadText(absolute: string, shown: string): Promise<string> {
  const bytes = await loadBytes(absolute, shown, MAX_ATTACHED_TEXT_BYTES);
  try {
    if (bytes.includes(0)) throw new TypeError("it contains zero bytes");
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new LettaError("usage", `${shown} is not UTF-8 text`, { cause });
  }
}

/** Pipes (`<(…)`) and devices have no size to ask for, and some never end. */
async function loadBytes(absolute: string, shown: string, maxBytes: number): Promise<Uint8Array> {
  try {
    await using file = await open(absolute);
    const chunks: Uint8Array[] = [];
    let size = (await file.stat()).size;
    for (let read = 0; size <= maxBytes; size = Math.max(size, read)) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(READ_BYTES), 0, READ_BYTES, null);
      if (bytesRead === 0) return Buffer.concat(chunks);
      chunks.push(buffer.subarray(0, bytesRead));
      read += bytesRead;
    }
    throw tooLarge(absolute, shown, maxBytes);
  } catch (cause) {
    if (cause instanceof LettaError) throw cause;
    const code = systemErrorCode(cause) === "ENOENT" ? "not_found" : "usage";
    throw new LettaError(code, `cannot read ${shown}: ${systemReason(cause)}`, { cause });
  }
}

function tooLarge(absolute: string, shown: string, maxBytes: number): LettaError {
  const limit = `${maxBytes / 1024} KB`;
  return new LettaError("usage", `${shown} is too large to attach (more than ${limit})`, {
    hint: `Name ${basename(absolute)} in the prompt and the agent reads what it needs.`,
  });
}

function noPrompt(piped: PipedInput): LettaError {
  const hint = piped.abandoned
    ? `Nothing arrived on stdin for ${STDIN_SILENCE_MS / 1000} s; --stdin waits for it.`
    : 'Give one: letta -p "…", or pipe it in.';
  return new LettaError("usage", "No prompt provided", { hint });
}
