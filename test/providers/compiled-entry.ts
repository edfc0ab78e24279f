// Compiled by compiled.test.ts: one call per argument, events as JSON lines. Only a compiled executable shows what the
// bundler dropped.

import { createModelAdapter } from "@/providers/adapter.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSecrets } from "@/store/secrets.ts";
import { request } from "./support.ts";

const [handle = "", abortAfterText] = process.argv.slice(2);
const env = readEnv();
const secrets = openSecrets({ env, paths: resolvePaths(env), keychain: null });
const adapter = createModelAdapter({ env, secrets, settings: { user: {} } });
const abort = new AbortController();
for await (const event of adapter.stream(request(handle), abort.signal)) {
  const shown =
    event.type === "error" ? { ...event, error: { code: event.error.code, message: event.error.message } } : event;
  console.log(JSON.stringify({ ...shown, at: Date.now() }));
  if (event.type === "text" && abortAfterText !== undefined) abort.abort();
}
