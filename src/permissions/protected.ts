// Places where one write means that code runs later or that the rules themselves change, and places that look like
// secrets. Names only: it does not matter whether a file exists yet. Compared without regard to case, because some
// volumes do not distinguish it.

import { SECRET_NAMES } from "@/shell/secret-names.ts";
import { comparable, type Place, type Places } from "./places.ts";

/** Writing here asks a person, in every mode. `/**` at the end: the directory and all below it. */
const PROTECTED_ANYWHERE = below("anywhere", [
  // Configuration, hooks, attributes, and in a worktree or submodule the file that says where those are.
  ".git/**",
  ".letta/settings*.json",
  ".letta/mods/**",
  ".letta/hooks/**",
  ".mcp.json",
  ".vscode/{settings,tasks,launch}.json",
  ".idea/**",
  ".envrc",
  ".github/workflows/**",
  ".gitlab-ci.yml",
  ".circleci/**",
  ".husky/**",
  ".ssh/**",
]);
const PROTECTED_IN_HOME = below("root", [
  ".{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,profile,inputrc}",
  ".{zshrc,zshenv,zprofile,zlogin,zlogout}",
  ".{gitconfig,npmrc,netrc,curlrc,wgetrc,gnupg,aws,kube}/**",
  ".config/{fish,git,autostart,systemd,environment.d}/**",
  ".local/bin/**",
  "library/launchagents/**",
]);
const PROTECTED_IN_LETTA = below("root", ["settings*.json", "trust.json", "{mods,bin,commands,skills,local}/**"]);
const PROTECTED_IN_SYSTEM = below("root", [
  "{dev,proc,sys}/**",
  "etc/{passwd,shadow,sudoers,sudoers.d,crontab,cron.*,profile,profile.d,ld.so.preload}/**",
  "var/spool/cron/**",
]);
/** Devices everybody writes to. */
const HARMLESS_DEVICES = /^\/dev\/(?:null|zero|full|u?random|stdout|stderr|tty|shm\/.+|fd\/\d+)$/;

const SECRET_ANYWHERE = below("anywhere", SECRET_NAMES);
const SECRET_IN_LETTA = below("root", ["settings*.json", "local/{providers,secrets}/**"]);
const SECRET_IN_SYSTEM = below("root", ["etc/{shadow,gshadow,sudoers}", "proc/*/environ"]);
/** Templates that are checked in on purpose, and public halves of keys. */
const NOT_SECRET = /(?:^|\/)\.env\.(?:example|sample|template|dist)$|\.pub$/;

export function isProtected(place: Place, places: Places): boolean {
  return [place.lexical, place.real]
    .map(comparable)
    .some(
      (path) =>
        !HARMLESS_DEVICES.test(path) &&
        (places.guarded.has(path) ||
          PROTECTED_ANYWHERE.test(path) ||
          PROTECTED_IN_SYSTEM.test(path) ||
          PROTECTED_IN_HOME.test(relativeTo(places.homes, path)) ||
          PROTECTED_IN_LETTA.test(relativeTo(places.lettaRoots, path))),
    );
}

export function isSecret(place: Place, places: Places): boolean {
  return [place.lexical, place.real].some(
    (path) => isSecretPath(path) || SECRET_IN_LETTA.test(relativeTo(places.lettaRoots, comparable(path))),
  );
}

/** Also for tools that walk folders: what they leave out of their results. */
export function isSecretPath(path: string): boolean {
  const folded = comparable(path);
  return !NOT_SECRET.test(folded) && (SECRET_ANYWHERE.test(folded) || SECRET_IN_SYSTEM.test(folded));
}

/** What follows the first of the (comparable) directories that holds the path, with its slash; "" when none does. */
function relativeTo(directories: string[], path: string): string {
  const base = directories.find((directory) => path.startsWith(`${directory}/`));
  return base === undefined ? "" : path.slice(base.length);
}

/** One expression for a list of globs. */
function below(start: "root" | "anywhere", patterns: readonly string[]): RegExp {
  const sources = patterns.map((pattern) =>
    pattern
      .replace(/\/\*\*$/, "")
      .replace(/[.+^$()|[\]\\]/g, "\\$&")
      .replaceAll("*", "[^/]*")
      .replace(/\{([^}]*)\}/g, (_, options: string) => `(?:${options.replaceAll(",", "|")})`),
  );
  return new RegExp(`${start === "root" ? "^" : ""}/(?:${sources.join("|")})(?:/|$)`);
}
