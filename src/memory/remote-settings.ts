// The remote as the repository's own settings name it, so that real git in a person's hands sees the same one.

import { parseRemoteUrl } from "@/store/git/remote.ts";
import type { GitRepository, Identity } from "@/store/git/types.ts";
import { CONFLICTS, DIVERGED, TRACKING } from "./sync.ts";

/** `remote.origin.url`; for `chooseRemote`. */
export function originOf(repo: GitRepository): string | null {
  return repo.getConfig("remote.origin.url");
}

/** Null takes the remote away. What was known of another one is forgotten: its branch says nothing about the new one.
 *  Throws `usage` for an address we do not talk to. */
export async function setOrigin(repo: GitRepository, url: string | null, by: Identity): Promise<void> {
  if (url !== null) parseRemoteUrl(url);
  const current = originOf(repo);
  const isSet = url !== null;
  await repo.setConfig({
    "remote.origin.url": url,
    "remote.origin.pushurl": null,
    "remote.origin.fetch": isSet ? "+refs/heads/*:refs/remotes/origin/*" : null,
    "branch.main.remote": isSet ? "origin" : null,
    "branch.main.merge": isSet ? "refs/heads/main" : null,
  });
  if (current === url) return;
  const conflicts = (await repo.listRefs(CONFLICTS)).map(({ ref }) => ref);
  for (const ref of [TRACKING, DIVERGED, ...conflicts]) {
    const from = await repo.resolve(ref);
    if (from !== null) await repo.updateRef(ref, { from, to: null, reason: "another remote", by });
  }
}
