// Planning before changing: EnterPlanMode switches to the permission mode in which nothing can be changed, ExitPlanMode
// shows the plan to a person and, when they agree, goes back. The plan that was agreed on is kept as a file.

import { join } from "node:path";
import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { writeFileAtomic } from "@/store/atomic-file.ts";
import { defineTool, type ToolContext } from "./define-tool.ts";

const everywhere = (name: string) => ({ default: name, codex: name, gemini: name });

export const enterPlanModeTool = defineTool({
  name: "EnterPlanMode",
  toolsets: everywhere("EnterPlanMode"),
  description:
    "Switches to plan mode, in which nothing can be changed, for work whose approach the user should agree to first. Read and search, then present the plan with ExitPlanMode.",
  args: v.strictObject({}),
  title: () => "",
  interactive: true,
  run: async (_, { services: { planMode } }) => {
    if (planMode.isOn()) throw new ToolError("Plan mode is on already. Present the plan with ExitPlanMode.");
    planMode.enter();
    return "Plan mode is on: nothing can be changed. Read and search; when the approach is clear, call ExitPlanMode with the plan.";
  },
});

export const exitPlanModeTool = defineTool({
  name: "ExitPlanMode",
  toolsets: everywhere("ExitPlanMode"),
  description:
    "In plan mode: shows the user your plan (Markdown) and, when they agree, ends plan mode. When they do not, change the plan as they say.",
  args: v.strictObject({ plan: v.pipe(v.string(), v.nonEmpty("must not be empty")) }),
  targets: ({ plan }, { services }) => {
    // Before anybody is asked about a plan that ends nothing.
    if (!services.planMode.isOn()) throw new ToolError("Plan mode is not on: there is nothing to leave. Go on.");
    return [{ kind: "tool", name: "ExitPlanMode", args: { plan } }];
  },
  title: ({ plan }) =>
    plan
      .trim()
      .split("\n", 1)[0]!
      .replace(/^#+\s*/, ""),
  alwaysAsk: true,
  interactive: true,
  suggestions: [
    { rule: "Edit(**)", scope: "session", description: "editing files of this project" },
    { rule: "Write(**)", scope: "session", description: "writing files of this project" },
  ],
  run: async ({ plan }, context) => {
    const mode = context.services.planMode.leave();
    const file = savePlan(plan, context);
    return {
      status: "success",
      output: `The user agreed to the plan. Plan mode has ended; the permission mode is ${mode}. The plan is kept in ${file}. Carry it out.`,
      summary: "agreed",
    };
  },
});

function savePlan(plan: string, { services, agentId, conversationId }: ToolContext): string {
  const name = conversationId === "default" ? (agentId ?? conversationId) : conversationId;
  const file = join(services.paths.root, "plans", `${name.replace(/[^\w.-]/g, "_")}.md`);
  writeFileAtomic(file, Buffer.from(plan.endsWith("\n") ? plan : `${plan}\n`), { mode: 0o600 });
  return file;
}
