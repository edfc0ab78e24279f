import { LettaError } from "@/lib/errors.ts";
import type { PermissionMode } from "@/permissions/types.ts";
import { MODES } from "../mode.ts";
import type { ReplCommand } from "./command.ts";

export const mode: ReplCommand = {
  name: "mode",
  args: "[name]",
  summary: "Permission mode (Shift-Tab goes through them)",
  whileBusy: true,
  async run(args, session) {
    const { permissions } = session.app;
    const names = Object.keys(MODES) as PermissionMode[];
    const wanted = args ? names.find((name) => name.toLowerCase() === args.toLowerCase()) : await pick(session, names);
    if (!wanted) {
      if (args) throw new LettaError("usage", `There is no mode "${args}"; choose ${offer(session, names).join(", ")}`);
      return;
    }
    if (wanted === "unrestricted" && permissions.mode !== "unrestricted") {
      throw new LettaError("usage", "Unrestricted is chosen when letta starts", {
        hint: "letta --yolo, or permissions.mode in ~/.letta/settings.json",
      });
    }
    permissions.setMode(wanted);
    session.say(`Mode: ${wanted} (${MODES[wanted]})`);
  },
};

type Session = Parameters<ReplCommand["run"]>[1];

/** Unrestricted only where it is on already. */
function offer({ app }: Session, names: PermissionMode[]): PermissionMode[] {
  return names.filter((name) => name !== "unrestricted" || app.permissions.mode === name);
}

async function pick(session: Session, names: PermissionMode[]) {
  const { ui, app } = session;
  const offered = offer(session, names);
  const answer = await ui.choose({
    title: [ui.theme.bold("Permission mode")],
    initial: Math.max(0, offered.indexOf(app.permissions.mode)),
    items: offered.map((name) => ({ value: name, label: name, hint: MODES[name] })),
  });
  return answer?.values[0];
}
