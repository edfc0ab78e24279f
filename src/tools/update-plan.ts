// The plan of a Codex model, shown to people.

import * as v from "valibot";
import { defineTool } from "./define-tool.ts";
import description from "./update-plan.md" with { type: "text" };

export const updatePlanTool = defineTool({
  name: "UpdatePlan",
  toolsets: { codex: "UpdatePlan", codex_snake: "update_plan" },
  description,
  args: v.strictObject({
    explanation: v.optional(v.string()),
    plan: v.array(v.strictObject({ step: v.string(), status: v.picklist(["pending", "in_progress", "completed"]) })),
  }),
  targets: () => [{ kind: "none" }],
  resource: () => ({ kind: "read" }),
  title: ({ plan }) => `${plan.filter((item) => item.status === "completed").length}/${plan.length} done`,
  run: async ({ plan }) => ({
    status: "success",
    output: "Plan updated",
    summary: plan.find((item) => item.status === "in_progress")?.step ?? `${plan.length} steps`,
  }),
});
