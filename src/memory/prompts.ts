// What the agent is told when a person asks for something about its memory by a command: the wording is ours, the facts
// are filled in.

import doctor from "./prompts/doctor.md" with { type: "text" };
import init from "./prompts/init.md" with { type: "text" };
import remember from "./prompts/remember.md" with { type: "text" };

export function initPrompt(facts: { memoryDir: string; cwd: string; git: string[] }): string {
  return fill(init, { MEMORY_DIR: facts.memoryDir, CWD: facts.cwd, GIT: facts.git.join("\n") });
}

/** `text`: what the person wants kept; empty when they did not say. */
export function rememberPrompt({ memoryDir, text }: { memoryDir: string; text: string }): string {
  const what =
    text === ""
      ? "They did not say what: take it from the conversation, usually from what was said last. If nothing stands out, ask."
      : "It is in their message below.";
  return fill(remember, { MEMORY_DIR: memoryDir, WHAT: what });
}

export function doctorPrompt({ memoryDir, findings }: { memoryDir: string; findings: string[] }): string {
  return fill(doctor, { MEMORY_DIR: memoryDir, FINDINGS: findings.map((line) => `- ${line}`).join("\n") });
}

/** One pass: what is filled in is not looked at again. */
function fill(text: string, values: Record<string, string>): string {
  return text.replace(/\{([A-Z_]+)\}/g, (token, name: string) => values[name] ?? token).trim();
}
