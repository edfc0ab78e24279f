// `letta backend [api|local]`: shows or saves where agents live when neither a flag nor the environment says so.

import { defineCommand } from "citty";
import { type BackendKind, chooseBackend, parseBackendKind } from "@/agent/choose-backend.ts";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

export const command = defineCommand({
  meta: { description: "Show or save where agents live: api (a Letta server) or local (this machine)" },
  args: {
    mode: { type: "positional", required: false, description: "api (also: cloud) or local" },
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runBackend(core, args, io)),
});

export async function runBackend(core: Core, args: { mode?: string } & OutputArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      if (args.mode !== undefined) {
        const mode = parseMode(args.mode);
        await core.settings.updateUser((settings) => {
          settings.preferredBackendMode = mode;
        });
      }
      return {
        ...inForce(core),
        saved: core.settings.user.preferredBackendMode ?? null,
        changed: args.mode !== undefined,
      };
    },
    {
      value: ({ backend, source, saved }) => ({ backend, source, saved }),
      text: ({ backend, source, saved, changed }) => {
        if (!changed) return `${backend} (${source})\n`;
        if (backend === saved) return `Backend saved: ${saved}\n`;
        return `Backend saved: ${saved}. ${backend} stays in force here: ${source}.\n`;
      },
    },
  );
}

function parseMode(text: string): BackendKind {
  const kind = parseBackendKind(text);
  if (kind) return kind;
  throw new LettaError("usage", `no backend "${text}"`, { hint: "Backends are: api (also called cloud), local." });
}

/** What a command without flags uses now. */
function inForce({ env, settings }: Core): { backend: BackendKind; source: string } {
  const { kind, source } = chooseBackend({ env, settings: settings.user });
  return { backend: kind, source };
}
