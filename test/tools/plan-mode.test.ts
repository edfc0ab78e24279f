import { expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { enterPlanModeTool, exitPlanModeTool } from "@/tools/plan-mode.ts";
import type { PlanMode } from "@/tools/services.ts";
import { openWorkbench } from "./support.ts";

function planMode(): PlanMode {
  let on = false;
  return {
    isOn: () => on,
    enter: () => {
      on = true;
    },
    leave: () => {
      on = false;
      return "standard";
    },
  };
}

test("enter, then leave with a plan that is kept", async () => {
  await using bench = openWorkbench();
  const services = { ...bench.services, planMode: planMode() };
  const context = { ...bench.context(), services };
  expect(() => exitPlanModeTool.targets({ plan: "x" }, context)).toThrow("Plan mode is not on");
  expect((await bench.call(enterPlanModeTool, {}, context)).output).toContain("nothing can be changed");
  await expect(bench.call(enterPlanModeTool, {}, context)).rejects.toThrow("on already");
  const plan = "# Fix prices\n\n1. Read\n2. Fix";
  expect(exitPlanModeTool.targets({ plan }, context)).toEqual([{ kind: "tool", name: "ExitPlanMode", args: { plan } }]);
  expect(exitPlanModeTool.title({ plan }, bench.cwd)).toBe("Fix prices");
  const { output } = await bench.call(exitPlanModeTool, { plan }, context);
  const file = join(services.paths.root, "plans/conv-1.md");
  expect(output).toBe(
    `The user agreed to the plan. Plan mode has ended; the permission mode is standard. The plan is kept in ${file}. Carry it out.`,
  );
  expect(readFileSync(file, "utf8")).toBe(`${plan}\n`);
  rmSync(file);
  expect(services.planMode.isOn()).toBe(false);
});
