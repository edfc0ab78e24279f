// JSON of our own rows. We wrote it, so its shape is trusted; the disk is not.

import { LettaError } from "@/lib/errors.ts";

export function parseStored<T>(json: string, messageId: string): T {
  try {
    return JSON.parse(json) as T;
  } catch (error) {
    throw new LettaError("invalid_data", `The stored message ${messageId} is damaged and cannot be read`, {
      cause: error,
      hint: "`letta doctor` shows what is damaged and can repair it.",
    });
  }
}
