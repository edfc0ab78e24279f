// Shows an image to the model.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { defineTool } from "./define-tool.ts";
import { imageType } from "./image.ts";
import { contextPath, contextPlace, displayPath } from "./paths.ts";
import { readImage, readSeen } from "./read.ts";

export const viewImageTool = defineTool({
  name: "ViewImage",
  toolsets: { codex: "ViewImage", codex_snake: "view_image" },
  description: "Shows an image file (PNG, JPEG, GIF, WebP).",
  args: v.strictObject({ path: v.string() }),
  targets: ({ path }, context) => [{ kind: "file", family: "Read", path: contextPath(path, context) }],
  resource: ({ path }, context) => ({ kind: "read", path: contextPath(path, context) }),
  title: ({ path }, cwd) => displayPath(path, cwd),
  run: async (args, context) => {
    const place = contextPlace(args.path, context);
    const { bytes } = await readSeen(place, context);
    const type = imageType(bytes);
    if (type === undefined) throw new ToolError(`This is not an image: ${place.lexical}.`);
    return readImage(place.lexical, bytes, type);
  },
});
