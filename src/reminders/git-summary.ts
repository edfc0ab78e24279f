// A few facts about the repository around a directory. The branch is read from files. `git` is asked for the rest, if it
// is installed, within half a second, and only where the repository's own configuration cannot make it run programs.

import { delimiter, isAbsolute } from "node:path";
import { createGitConfigCheck } from "@/shell/git-config.ts";
import { GIT_ENV } from "@/shell/hardened-env.ts";
import type { Env } from "@/store/env.ts";
import { findGitDirectories, findGitRoot, gitPlace, readSmall } from "@/store/git-root.ts";

export interface GitSummary {
  /** Null when no branch is checked out. */
  branch: string | null;
  user: string | null;
  /** `hash subject (author)`, newest first. */
  commits: string[];
  /** Lines of `git status --short`; null when unknown. */
  status: string[] | null;
}

const TIMEOUT_MS = 500;
const MAX_STATUS_LINES = 20;
const MAX_OUTPUT_CHARS = 20_000;

/** Null outside a repository. */
export async function summariseGit(cwd: string, env: Env, { commits = 3 } = {}): Promise<GitSummary | null> {
  const root = findGitRoot(cwd);
  if (root === null) return null;
  const directories = findGitDirectories(root);
  const branch = directories && parseHead(readSmall(`${directories.gitDir}/HEAD`));
  const repository = createGitConfigCheck()(cwd);
  const git = repository === null ? null : findGit(env, root);
  if (repository === null || git === null) return { branch, user: null, commits: [], status: null };
  const run = createRunner([git, "--no-pager"], cwd, env, gitPlace(repository));
  const [user, log, status] = await Promise.all([
    run(["config", "--get", "user.name"]),
    run(["log", `-${commits}`, "--no-show-signature", "--format=%h %s (%an)"]),
    run(["status", "--short", "--untracked-files=normal", "--ignore-submodules=all"]),
  ]);
  return {
    branch,
    user: user?.trim() || null,
    commits: toLines(log),
    status: status === null ? null : toLines(status),
  };
}

/** For the model, one fact per line. */
export function describeGit(git: GitSummary | null): string[] {
  if (!git) return ["- Git repository: no"];
  return [
    `- Git repository: yes, ${git.branch === null ? "no branch checked out" : `on branch ${git.branch}`}`,
    ...(git.user ? [`- Git user: ${git.user}`] : []),
    ...(git.commits.length > 0 ? ["- Last commits:", ...git.commits.map((line) => `    ${line}`)] : []),
    ...describeStatus(git.status),
  ];
}

function describeStatus(status: GitSummary["status"]): string[] {
  if (status === null) return [];
  if (status.length === 0) return ["- Git status: clean"];
  const shown = status.slice(0, MAX_STATUS_LINES).map((line) => `    ${line}`);
  const rest = status.length - shown.length;
  return ["- Git status:", ...shown, ...(rest > 0 ? [`    … and ${rest} more`] : [])];
}

function parseHead(text: string | null): string | null {
  return /^ref: refs\/heads\/(.+?)\s*$/.exec(text ?? "")?.[1] ?? null;
}

/** Never a `git` that the repository brings along through a relative or inner PATH entry. */
function findGit(env: Env, root: string): string | null {
  const path = (env.all.PATH ?? "")
    .split(delimiter)
    .filter((entry) => isAbsolute(entry) && entry !== root && !entry.startsWith(`${root}/`))
    .join(delimiter);
  return Bun.which("git", { PATH: path });
}

function createRunner(command: string[], cwd: string, env: Env, place: Record<string, string>) {
  const childEnv = {
    ...Object.fromEntries(
      ["HOME", "PATH", "USER", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "SYSTEMROOT"].flatMap((name) =>
        env.all[name] === undefined ? [] : [[name, env.all[name]]],
      ),
    ),
    ...GIT_ENV,
    ...place,
    GIT_CONFIG_NOSYSTEM: "1",
  };
  /** Null when git fails or takes too long. */
  return async (args: string[]): Promise<string | null> => {
    const child = Bun.spawn([...command, ...args], {
      cwd,
      env: childEnv,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    return Promise.race([readAnswer(child), afterTimeout()]);
  };
}

async function readAnswer(child: Bun.Subprocess<"ignore", "pipe", "ignore">): Promise<string | null> {
  const text = await readCapped(child.stdout);
  if (text.length > MAX_OUTPUT_CHARS) child.kill("SIGKILL");
  const code = await child.exited;
  return code === 0 || text.length > MAX_OUTPUT_CHARS ? text.slice(0, MAX_OUTPUT_CHARS) : null;
}

/** Also when a child of git keeps the pipe open after git was killed. */
function afterTimeout(): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS, null).unref());
}

/** Stops reading soon after the limit: a huge working tree must not fill memory. */
async function readCapped(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_OUTPUT_CHARS) break;
  }
  return text;
}

function toLines(text: string | null): string[] {
  return (text ?? "").split("\n").filter((line) => line.trim() !== "");
}
