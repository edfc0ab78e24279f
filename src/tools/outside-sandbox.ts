// How a model asks for a run without the sandbox: an argument of every shell tool, and a question to a person.

import * as v from "valibot";
import type { ToolServices } from "./services.ts";

export const OutsideSandbox = v.optional(
  v.pipe(v.boolean(), v.description("Ask for a run without the sandbox, after it blocked what is needed")),
);

/** Part of a shell target. Where there is no sandbox there is nothing to leave. */
export function leaving(
  asked: boolean | undefined,
  { sandbox }: Pick<ToolServices, "sandbox">,
): { unconfined?: boolean } {
  return asked && sandbox.status.profile !== "off" ? { unconfined: true } : {};
}
