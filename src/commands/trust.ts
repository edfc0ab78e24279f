// `letta trust`: whether what this folder brings along (allow rules, modes, hooks, …) may take effect.

import { defineCommand } from "citty";
import type { App } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present, requireConsent } from "./output.ts";

export const command = defineCommand({
  args: {
    show: { type: "boolean", description: "Only show what would take effect" },
    revoke: { type: "boolean", description: "Take the trust back" },
    yes: { type: "boolean", alias: "y", description: "Do not ask" },
    ...outputArgs,
  },
  // Works whatever the backend is: nothing of it is opened.
  run: ({ args, data }) =>
    withCore(data, async (core, io) => {
      const [{ openTrust }, { projectSkills }] = await Promise.all([
        import("@/store/trust.ts"),
        import("@/skills/service.ts"),
      ]);
      const { paths, cwd, settings } = core;
      const { projectRoot } = settings;
      const otherPrograms = settings.user.skills?.otherPrograms ?? true;
      const others = projectSkills({ paths, projectRoot, cwd: () => cwd, sources: ["project"], others: otherPrograms });
      return runTrust({ ...core, trust: await openTrust({ ...core, others }) }, args, io);
    }),
});

export interface TrustArgs extends OutputArgs {
  show?: boolean;
  revoke?: boolean;
  yes?: boolean;
}

type TrustApp = Pick<App, "trust" | "settings" | "cwd">;

export async function runTrust(app: TrustApp, args: TrustArgs, io: Io): Promise<number> {
  const folder = app.settings.projectRoot ?? app.cwd;
  return present(
    io,
    args,
    async () => {
      if (args.show && args.revoke) throw new LettaError("usage", "--show does not go with --revoke");
      const { trust } = app;
      if (args.revoke) await trust.revoke();
      else if (!args.show && (trust.status === "untrusted" || trust.status === "changed")) {
        if (io.confirm && !args.yes) io.stderr(describe(trust.items));
        await requireConsent(io, args, `Trust ${folder}?`);
        await trust.grant();
      }
      return { folder, status: trust.status, items: trust.items };
    },
    {
      text: ({ status, items }) => `${escapeDeceptive(folder)}: ${STATUS_TEXT[status]}\n${describe(items)}`,
    },
  );
}

const STATUS_TEXT: Record<App["trust"]["status"], string> = {
  trusted: "trusted",
  untrusted: "not trusted",
  changed: "was trusted, but what it brings along has changed since",
  nothing: "brings nothing along that would need trust",
};

function describe(items: App["trust"]["items"]): string {
  return items.map((item) => `  ${escapeDeceptive(item.file)}: ${escapeDeceptive(item.description)}\n`).join("");
}
