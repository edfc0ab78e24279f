// Takes secrets out of values that are shown or exported.

const SECRET_NAME =
  /(api_?key|secret|passw|authorization|credential|private_?key|(^|_)token$|refresh_?token|access_?token)/i;

/** A copy in which every non-empty string under a secret-looking name is `[redacted]`. `max_tokens` and the like stay. */
export function redactSecrets<T>(value: T, name = ""): T {
  return withoutSecrets(value, name) as T; // Strings stay strings, and everything keeps its shape.
}

function withoutSecrets(value: unknown, name: string): unknown {
  if (typeof value === "string") return value !== "" && SECRET_NAME.test(name) ? "[redacted]" : value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSecrets(item, key)]));
}
