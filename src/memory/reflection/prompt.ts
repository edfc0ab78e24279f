// The first message of a dream: where the transcript is, what the person wants, what happened to the last attempt, and a
// copy of the memory, as much of it as fits. Pure.

import { plural, takeHead } from "@/lib/text.ts";
import { CHARS_PER_TOKEN, SNAPSHOT_CHARS, SNAPSHOT_MIN_CHARS, STARTUP_TOKENS } from "./limits.ts";

export interface MemoryText {
  /** Relative, with `/`. */
  path: string;
  content: string;
}

export interface DreamPrompt {
  /** Absolute. */
  transcriptPath: string;
  memoryDir: string;
  /** Several conversations: the file is a manifest. */
  isManifest: boolean;
  /** What the person wants looked at. */
  instruction?: string;
  /** An attempt whose result waits: what it wanted, and why it did not come through. */
  earlier?: { id: string; reason: string; summary: string; diff: string };
  /** The tree of files outside `system/`, with their descriptions. */
  tree: string;
  system: MemoryText[];
}

const CUT_NOTE = `What you see of the memory was shortened, because the first message may have ${STARTUP_TOKENS} tokens. Read the files below $MEMORY_DIR yourself before you change anything.`;

/** Together with the persona it stays within the budget for a start: the copy of the memory gives way first. */
export function renderDreamPrompt(persona: string, prompt: DreamPrompt): string {
  const head = renderHead(prompt);
  const sections = [
    renderSnapshot(prompt.tree, prompt.system),
    `<parent_memory>\n${renderTree(prompt.tree)}\n${CUT_NOTE}\n</parent_memory>`,
    `<parent_memory>\n${CUT_NOTE}\n</parent_memory>`,
  ];
  const room = STARTUP_TOKENS * CHARS_PER_TOKEN - persona.length - 1;
  for (const section of sections) {
    const whole = `${head}\n\n${section}\n`;
    if (whole.length <= room) return whole;
  }
  const note = `\n\n${CUT_NOTE}\n`;
  return takeHead(head, Math.max(0, room - note.length)) + note;
}

/** The tree, then every file under `system/`: whole, cut, left out, or only counted. */
export function renderSnapshot(tree: string, system: readonly MemoryText[], maxChars = SNAPSHOT_CHARS): string {
  const budget = Math.max(SNAPSHOT_MIN_CHARS, maxChars);
  const parts = [renderTree(tree)];
  let used = parts[0]!.length;
  let uncounted = 0;
  for (const { path, content } of system) {
    const render = (text: string) => `<memory>\n<path>$MEMORY_DIR/${path}</path>\n${text}\n</memory>`;
    const whole = render(content.trimEnd());
    const omitted = render("[left out: read the file]");
    const room = budget - used;
    const cutNote = `\n[cut here, ${plural(content.length, "character")} in all: read the file]`;
    const cutRoom = room - render(cutNote).length;
    const part =
      whole.length <= room
        ? whole
        : cutRoom >= SNAPSHOT_MIN_CHARS
          ? render(takeHead(content, cutRoom) + cutNote)
          : omitted.length <= room
            ? omitted
            : null;
    if (part === null) uncounted += 1;
    else {
      parts.push(part);
      used += part.length;
    }
  }
  if (uncounted > 0) parts.push(`[${plural(uncounted, "more file")} under $MEMORY_DIR/system]`);
  return `<parent_memory>\n${parts.join("\n")}\n</parent_memory>`;
}

function renderTree(tree: string): string {
  return `<memory_filesystem>\n${takeHead(tree.trimEnd(), SNAPSHOT_CHARS / 2)}\n</memory_filesystem>`;
}

function renderHead({ transcriptPath, memoryDir, isManifest, instruction, earlier }: DreamPrompt): string {
  const what = isManifest ? "a manifest of several conversations" : "a conversation";
  const paragraphs = [
    `Look back on ${what} and update the memory.`,
    `Transcript: ${transcriptPath} (in the shell: $TRANSCRIPT_PATH)\nMemory: ${memoryDir} (in the shell: $MEMORY_DIR)`,
  ];
  if (instruction?.trim()) {
    paragraphs.push(
      `The person asked for this reflection and wants you to attend to the following first:\n<focus>\n${instruction.trim()}\n</focus>`,
    );
  }
  if (earlier) {
    paragraphs.push(
      [
        `An earlier reflection on this (${earlier.id}) did not reach the memory: ${earlier.reason}. What it wanted to change is below. Keep what is still right, on top of the memory as it is now, and avoid what stopped it.`,
        `<earlier_attempt>\n${earlier.summary.trim()}\n\n${earlier.diff.trim()}\n</earlier_attempt>`,
      ].join("\n"),
    );
  }
  return paragraphs.join("\n\n");
}

/** What the dreamer is told when the check of its files found something; it has one more turn. */
export function renderRepairPrompt(problems: readonly string[]): string {
  return [
    "The harness looked at your files and cannot take them as they are:",
    problems.map((problem) => `- ${problem}`).join("\n"),
    "Mend exactly this, in the files below $MEMORY_DIR. Nothing else needs to change. Then end with your report, as before.",
  ].join("\n\n");
}
