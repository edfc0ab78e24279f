// A tool under another family's name and schema: its arguments are translated, everything else is the tool it stands
// for, so that both do, ask and show the same.

import type { GenericSchema, InferOutput } from "valibot";
import { defineTool, type Tool, type ToolSpec } from "./define-tool.ts";

export interface AdaptedSpec<Schema extends GenericSchema, Args>
  extends Pick<ToolSpec<Schema>, "name" | "also" | "toolsets" | "args"> {
  /** Default: the original's. */
  description?: string;
  toArgs(args: InferOutput<Schema>): Args;
}

export function adaptTool<Schema extends GenericSchema, Args>(
  original: Tool<Args>,
  { toArgs, description = original.description, ...spec }: AdaptedSpec<Schema, Args>,
): Tool<InferOutput<Schema>> {
  const { preview } = original;
  return defineTool({
    ...spec,
    description,
    targets: (args, context) => original.targets(toArgs(args), context),
    resource: (args, context) => original.resource(toArgs(args), context),
    title: (args, cwd) => original.title(toArgs(args), cwd),
    ...(preview && { preview: (args, context) => preview(toArgs(args), context) }),
    run: (args, context) => original.run(toArgs(args), context),
  });
}
