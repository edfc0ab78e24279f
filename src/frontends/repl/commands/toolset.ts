import { findSavedToolset, saveToolset } from "@/agent/toolset.ts";
import { LettaError } from "@/lib/errors.ts";
import { resolveToolset, TOOLSET_CHOICES, type ToolsetChoice } from "@/tools/toolsets.ts";
import type { ReplCommand } from "./command.ts";

const HINTS: Record<ToolsetChoice, string> = {
  auto: "what fits the model",
  default: "Bash, Read, Edit, …",
  codex: "exec_command, ApplyPatch, …",
  codex_snake: "exec_command, apply_patch, …",
  gemini: "RunShellCommand, Replace, …",
  gemini_snake: "run_shell_command, replace, …",
  none: "no built-in tools",
};

export const toolset: ReplCommand = {
  name: "toolset",
  args: "[name]",
  summary: "Tools the model is offered in this conversation",
  async run(args, session) {
    const wanted = args ? TOOLSET_CHOICES.find((choice) => choice === args.toLowerCase()) : await pick(session);
    if (!wanted) {
      if (args) throw new LettaError("usage", `There is no toolset "${args}"; choose ${TOOLSET_CHOICES.join(", ")}`);
      return;
    }
    await saveToolset(session.app, session.ref, wanted);
    const used = wanted === "auto" ? `auto (${resolveToolset(session.model, [])} for this model)` : wanted;
    session.say(`Toolset: ${used}`);
  },
};

async function pick({ ui, app, ref }: Parameters<ReplCommand["run"]>[1]): Promise<ToolsetChoice | undefined> {
  const current = findSavedToolset(app.settings.user, app.serverKey, ref) ?? "auto";
  const answer = await ui.choose({
    title: [ui.theme.bold("Toolset")],
    initial: TOOLSET_CHOICES.indexOf(current),
    items: TOOLSET_CHOICES.map((name) => ({ value: name, label: name, hint: HINTS[name] })),
  });
  return answer?.values[0];
}
