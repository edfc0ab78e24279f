// `letta unpin`: the opposite of `letta pin`.

import { defineCommand } from "citty";
import { withStore } from "./context.ts";
import { pinArgs, runPin } from "./pin.ts";

export const command = defineCommand({
  args: pinArgs,
  run: ({ args, data }) => withStore(data, (app, io) => runPin(app, args, io, false)),
});
