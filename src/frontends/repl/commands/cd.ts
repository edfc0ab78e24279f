import { statSync } from "node:fs";
import { resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { expandHome } from "@/permissions/places.ts";
import type { ReplCommand } from "./command.ts";

export const cd: ReplCommand = {
  name: "cd",
  aliases: ["chdir"],
  args: "DIRECTORY",
  summary: "Change the working directory",
  run(args, session) {
    const { app } = session;
    if (!args) return session.say(app.cwd);
    const target = resolve(app.cwd, expandHome(args, app.paths.home));
    if (!statSync(target, { throwIfNoEntry: false })?.isDirectory())
      throw new LettaError("not_found", `There is no directory ${target}`);
    app.cwd = target;
    session.say(target);
  },
};
