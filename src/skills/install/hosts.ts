// Where skills are fetched from by name. A mirror on this machine can stand for all of them.

import { LettaError } from "@/lib/errors.ts";

export interface SkillHosts {
  /** Repositories and their lists of refs. */
  github: string;
  /** Their archives. */
  archives: string;
  clawhub: string;
}

const PUBLIC: SkillHosts = {
  github: "https://github.com",
  archives: "https://codeload.github.com",
  clawhub: "https://clawhub.ai",
};

/** `mirror` has a folder for each host: `/github.com`, `/codeload.github.com`, `/clawhub.ai`. Anybody else's machine in
 *  their place would be believed to be them. */
export function skillHosts(mirror: string | undefined): SkillHosts {
  if (mirror === undefined) return PUBLIC;
  const url = URL.parse(mirror);
  if (!url || !/^https?:$/.test(url.protocol) || !isLoopback(url)) {
    throw new LettaError("usage", `LETTA_SKILL_MIRROR must be on this machine, not ${mirror}`, {
      hint: "For example http://127.0.0.1:8080",
    });
  }
  const base = url.href.replace(/\/+$/, "");
  return {
    github: `${base}/github.com`,
    archives: `${base}/codeload.github.com`,
    clawhub: `${base}/clawhub.ai`,
  };
}

export function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
