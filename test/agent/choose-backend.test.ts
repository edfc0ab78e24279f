import { expect, test } from "bun:test";
import { chooseBackend } from "@/agent/choose-backend.ts";

test.each([
  ["a virgin machine", {}, {}, {}, "local", "default"],
  [
    "a flag beats everything",
    { flag: "local" },
    { apiKey: "k", baseUrl: "u" },
    { preferredBackendMode: "api" },
    "local",
    "--backend",
  ],
  ["a local agent's id", { agentId: "agent-local-1" }, { apiKey: "k" }, {}, "local", "the agent's id"],
  ["the variable", {}, { localBackend: true, apiKey: "k" }, {}, "local", "LETTA_LOCAL_BACKEND_EXPERIMENTAL"],
  ["the variable, off", {}, { localBackend: false }, {}, "api", "LETTA_LOCAL_BACKEND_EXPERIMENTAL"],
  ["saved local beats a key", {}, { apiKey: "k" }, { preferredBackendMode: "local" }, "local", "saved preference"],
  [
    "a server's URL beats saved local",
    {},
    { baseUrl: "u" },
    { preferredBackendMode: "local" },
    "api",
    "LETTA_BASE_URL",
  ],
  ["a URL in settings", {}, {}, { env: { LETTA_BASE_URL: "u" } }, "api", "LETTA_BASE_URL"],
  ["saved api", {}, {}, { preferredBackendMode: "api" }, "api", "saved preference"],
  ["a key", {}, { apiKey: "k" }, {}, "api", "LETTA_API_KEY"],
] as const)("%s", (_, given, env, settings, kind, source) => {
  expect(chooseBackend({ ...given, env, settings })).toEqual({ kind, source });
});
