// The environment of commands that run without a question. They were allowed because they only read; variables must not
// turn them into something else (`LESSOPEN`, `GIT_EXTERNAL_DIFF`, `RIPGREP_CONFIG_PATH`, `LD_PRELOAD`, exported
// functions), and their names must mean programs of the system, not files of the workspace.

import { realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute } from "node:path";

/** Where things are, and which language and daemon a person chose. */
const KEPT =
  /^(?:HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ|TMPDIR|PWD|USER_CWD|XDG_[A-Z_]+|(?:LETTA_)?AGENT_ID|(?:LETTA_)?CONVERSATION_ID|AGENT_NAME|(?:LETTA_)?MEMORY_DIR|LETTA_HOME|LETTA_LOCAL_BACKEND_DIR|DOCKER_(?:HOST|CONTEXT|CERT_PATH|TLS_VERIFY)|SystemRoot|APPDATA|LOCALAPPDATA)$/;

/** Settings that win over those of a repository; system and user settings stay. */
const GIT_SETTINGS: readonly (readonly [string, string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["safe.bareRepository", "explicit"],
  ["protocol.allow", "never"],
  ["protocol.ext.allow", "never"],
  // Submodules are repositories of their own, which nobody looked at.
  ["status.submoduleSummary", "false"],
  ["diff.submodule", "short"],
  ["diff.ignoreSubmodules", "all"],
  ["submodule.recurse", "false"],
  ["log.showSignature", "false"],
  // Several threads may start at places of the index that git-index.ts does not read as entries.
  ["index.threads", "1"],
];

/** For every git that runs without a question. */
export const GIT_ENV: Readonly<Record<string, string>> = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_CONFIG_COUNT: String(GIT_SETTINGS.length),
  ...Object.fromEntries(
    GIT_SETTINGS.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
};

const FIXED: Record<string, string> = {
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  // No update checks, no other version of the program because a project asks for it.
  npm_config_offline: "true",
  npm_config_update_notifier: "false",
  // Where logs and the cache go a project may say.
  npm_config_logs_max: "0",
  npm_config_logs_dir: "/dev/null",
  npm_config_timing: "false",
  // It is made before anything else, wherever a project wants it; nothing needs one.
  npm_config_cache: "/dev/null",
  // A program that npm 6 loads. It passes over an empty value; later versions warn about the name.
  npm_config_onload_script: "null",
  npm_config_loglevel: "error",
  COREPACK_ENABLE_NETWORK: "0",
  COREPACK_ENABLE_PROJECT_SPEC: "0",
  GOTOOLCHAIN: "local",
  GH_NO_UPDATE_NOTIFIER: "1",
};

export function hardenEnv(
  env: Readonly<Record<string, string>>,
  closedRoots: readonly string[],
): Record<string, string> {
  const isClosed = (path: string) => !isAbsolute(path) || closedRoots.some((root) => isBelow(path, root));
  // Where configuration lies may not be where the agent writes.
  const kept = Object.entries(env).filter(
    ([name, value]) => KEPT.test(name) && !(/^XDG_/.test(name) && value.startsWith("/") && isClosed(value)),
  );
  const kubeconfig = env.KUBECONFIG ?? "";
  return {
    ...Object.fromEntries(kept),
    ...FIXED,
    ...GIT_ENV,
    // Another cluster than the one a person chose would be worse than none.
    ...(kubeconfig !== "" && { KUBECONFIG: kubeconfig.split(delimiter).some(isClosed) ? "/dev/null" : kubeconfig }),
    PATH: safePath(env.PATH ?? "/usr/local/bin:/usr/bin:/bin", closedRoots),
  };
}

/** Stand-ins of version managers: a file of the project says which program they start. */
const SHIMS = /[/\\](?:shims|\.volta[/\\]bin)[/\\]?$/;

/** Without what is relative, below a root the agent may write, writable for everyone, or full of stand-ins. */
function safePath(path: string, closedRoots: readonly string[]): string {
  return path
    .split(delimiter)
    .filter((directory) => isAbsolute(directory) && !SHIMS.test(directory))
    .filter((directory) => isSafe(directory, closedRoots))
    .join(delimiter);
}

function isBelow(path: string, root: string): boolean {
  return root !== "/" && (path === root || path.startsWith(`${root}/`));
}

function isSafe(directory: string, closedRoots: readonly string[]): boolean {
  try {
    const places = [directory, realpathSync(directory)];
    return (
      !closedRoots.some((root) => places.some((place) => isBelow(place, root))) &&
      (statSync(directory).mode & 0o002) === 0
    );
  } catch {
    return false; // Not there, or not ours to look at.
  }
}
