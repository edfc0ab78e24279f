// What the agent may do without being asked, so that it plans with it instead of running into denials.

import type { PermissionMode } from "@/permissions/types.ts";
import type { Reminder } from "./registry.ts";

const MEANING: Record<PermissionMode, string> = {
  unrestricted: "tools run without asking, except for what deny rules and safety checks stop.",
  acceptEdits: "file edits inside the project run without asking; other changes ask first.",
  standard: "reading inside the project runs without asking; edits and commands that change something ask first.",
  strict: "nothing runs without asking unless a rule allows it.",
  plan: "nothing may be changed: read, search and propose a plan; edits and other commands are refused.",
};

export const permissionMode: Reminder = {
  id: "permission-mode",
  async build({ permissions: { mode } }, previous) {
    const change = previous === undefined || previous === mode ? "is" : "has changed to";
    return { text: `The permission mode ${change} \`${mode}\`: ${MEANING[mode]}`, fingerprint: mode };
  },
};
