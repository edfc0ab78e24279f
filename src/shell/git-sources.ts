// Where does what git prints come from? A `.git` of an unpacked archive may lead into other repositories of this machine:
// by its name, by links, or by borrowed objects. And addresses of remotes may hold passwords.

import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { findRepository, type GitRepository, readSmall } from "@/store/git-root.ts";

/** The root of the repository of a directory, if there is one; null when it holds contents of others. */
export function findSources(cwd: string): string[] | null {
  const found = findRepository(cwd);
  if (found === null || found === "none") return found && [];
  return isClosed(found) ? [found.root] : null;
}

/** Nothing in it is a link, and what lies outside knows of it. */
function isClosed({ root, gitDir, commonDir }: GitRepository): boolean {
  if (gitDir !== join(root, ".git") || commonDir !== gitDir) {
    const back = readSmall(join(gitDir, "gitdir"))?.trim();
    if (back === undefined || !isSame(resolve(gitDir, back), join(root, ".git"))) return false;
    if (!isSame(dirname(gitDir), join(commonDir, "worktrees"))) return false;
  }
  const parts = ["HEAD", "packed-refs", "refs", "refs/heads", "refs/tags", "refs/remotes", "objects/info", "logs"];
  return (
    [gitDir, commonDir].every(
      (base) => kind(base) === "folder" && parts.every((part) => kind(join(base, part)) !== "link"),
    ) &&
    kind(join(commonDir, "objects/info/alternates")) === "none" &&
    !holdsLinks(join(commonDir, "objects"))
  );
}

function isSame(left: string, right: string): boolean {
  try {
    return realpathSync(left) === realpathSync(right);
  } catch {
    return false; // One of them is not there.
  }
}

function kind(path: string): "none" | "link" | "folder" | "other" {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined ? "none" : stat.isSymbolicLink() ? "link" : stat.isDirectory() ? "folder" : "other";
  } catch {
    return "other"; // Not ours to look at.
  }
}

function holdsLinks(folder: string): boolean {
  if (kind(folder) !== "folder") return kind(folder) !== "none";
  try {
    return readdirSync(folder, { withFileTypes: true }).some((entry) => !entry.isDirectory());
  } catch {
    return true; // Not ours to look into.
  }
}

/** A password in an address, or a name that may be a token. */
const CREDENTIAL = /https?:\/\/[^\s/]+@|:\/\/[^\s/@:]+:[^\s/@]+@/i;
/** Files that include each other. */
const MAX_INCLUDES = 16;

/** Would remotes be shown with credentials? Rewriting of addresses in the user's own files counts. */
export function showsCredentials(cwd: string, home: string): boolean {
  const files = ["/etc/gitconfig", join(home, ".gitconfig"), join(home, ".config/git/config")];
  const found = findRepository(cwd);
  if (found === null) return true;
  if (found !== "none") files.push(join(found.commonDir, "config"), join(found.gitDir, "config.worktree"));
  for (let at = 0; at < files.length; at++) {
    if (at > MAX_INCLUDES + 5) return true;
    const file = files[at]!;
    const text = readText(file);
    if (text === null) continue;
    // Quotes and line breaks may stand anywhere in a value.
    const plain = text.replace(/\\\r?\n/g, "").replace(/["\\]/g, "");
    if (CREDENTIAL.test(plain)) return true;
    for (const [, path = ""] of plain.matchAll(/^\s*path\s*=\s*(\S.*?)\s*$/gim))
      files.push(
        resolve(
          dirname(file),
          path.replace(/^~(?=\/)/, () => home),
        ),
      );
  }
  return false;
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null; // Git does without it, too.
  }
}
