// valibot schema → the JSON Schema a model sees. Only the form providers understand is kept: no `$schema`, and defaults
// do not make a key required.

import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

export function jsonSchemaOf(schema: GenericSchema): Record<string, unknown> {
  const { $schema: _, ...rest } = toJsonSchema(schema, { typeMode: "input", errorMode: "ignore" });
  return rest;
}
