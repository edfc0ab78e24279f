// A process that writes 40 keys of its own into the user settings, for tests of concurrent writers.
// Arguments: home, cwd, name.

import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSettings } from "@/store/settings.ts";

const [home = "", cwd = "", name = ""] = process.argv.slice(-3);
const settings = await openSettings({ paths: resolvePaths(readEnv({ HOME: home })), cwd });
for (let index = 0; index < 40; index++)
  await settings.updateUser((user) => {
    user.sessionsByServer = { ...user.sessionsByServer, [name + index]: { agentId: "a", conversationId: name } };
  });
