// Agents and conversations as commands print them: settings of a model may hold keys.

import type { ModelSettings } from "@/backend/wire.ts";
import { redactSecrets } from "@/lib/redact.ts";

export function withoutKeys<T extends { model_settings: ModelSettings | null }>(item: T): T {
  return { ...item, model_settings: redactSecrets(item.model_settings) };
}
