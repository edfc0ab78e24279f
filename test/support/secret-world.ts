// A project whose every secret holds a marker: tracked, changed, staged, renamed, copied, deleted, in history only, in a
// stash, untracked, in other letter cases, behind links. What runs without a question must not print it.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PermissionWorld, WorldFiles } from "./permission-world.ts";

export const MARKER = "MARKER-7f3a";
/** In what only rules hide. */
export const RULED_MARKER = "RULED-52c1";

const SECRETS = [
  ".env",
  ".Env",
  ".env.local",
  "src/.ENV",
  "src/.env.production",
  ".config/gh/hosts.yml",
  ".Config/GH/hosts.yml",
  ".local/share/keyrings/login.keyring",
  ".docker/config.json",
  ".ssh/id_rsa",
  ".ssh/config",
  "keys/id_ed25519",
  "keys/SERVER.PEM",
  ".aws/credentials",
  ".netrc",
  ".npmrc",
  "src/credentials.json",
];

/** `private` and what lies in it are secret by a rule only. */
export const RULED = ["private/a.txt", "src/deep/private/b.txt", "src/notes.hidden"];

const TWENTY_LINES = Array.from({ length: 20 }, (_, line) => `line ${line}\n`).join("");

export const SECRET_FILES: WorldFiles["files"] = {
  ...Object.fromEntries(SECRETS.map((name) => [`project/${name}`, `KEY=${MARKER}\n`])),
  ...Object.fromEntries(RULED.map((name) => [`project/${name}`, `KEY=${RULED_MARKER}\n`])),
  "project/a.txt": "foo\nbar\n",
  "project/b.txt": "b\n",
  "project/a.json": '{"a":[]}\n',
  "project/package.json": '{"name":"x","version":"1.0.0"}\n',
  "project/README.md": "# x\n",
  "project/src/main.ts": "import foo from 'x';\nexport function needle() {}\n// TODO error\n",
  "project/src/app.ts": "y\n",
  "project/test/a": "foo\n",
  "project/docs/a": "foo\n",
  "project/plain.txt": TWENTY_LINES,
  "project/.env.big": `${TWENTY_LINES}KEY=${MARKER}\n`,
  "home/private/a": `${RULED_MARKER}\n`,
};

/** Puts the project under git and takes its secrets through everything that can happen to a file. */
export function commitSecrets({ project, home }: PermissionWorld): void {
  const script = `set -e; rm -rf .git; git init -q -b main; git config user.name A; git config user.email a@example.com
    echo 'untracked*' > .gitignore; git add .; git commit -qm one; git tag v1
    git mv plain.txt .env.moved; printf 'KEY=${MARKER}\\n' >> .env.moved
    git mv .env.local .env.older; git rm -q keys/id_ed25519
    printf '${MARKER}\\n' > x.key; git add .; git commit -qm two
    git rm -q x.key; head -20 .env.big > copy.txt; git add .; git commit -qm three
    git checkout -q -b side HEAD~1; printf '${MARKER}\\n' >> .netrc; echo s > s.txt; git add .; git commit -qm side
    git checkout -q main; git merge -q -m merge side
    git tag -a v2 -m two
    for file in .env src/.ENV .config/gh/hosts.yml; do printf '${MARKER}\\n' >> "$file"; done
    for file in ${RULED.join(" ")}; do printf '${RULED_MARKER}\\n' >> "$file"; done
    echo changed >> a.txt; git stash -q
    for file in .env src/.ENV .config/gh/hosts.yml; do printf '${MARKER} two\\n' >> "$file"; done
    for file in ${RULED.join(" ")}; do printf '${RULED_MARKER} two\\n' >> "$file"; done
    echo more >> a.txt; git add .env a.txt; printf '${MARKER}\\n' >> .env; echo again >> a.txt
    printf '${MARKER}\\n' > .env.untracked; rm .aws/credentials; git branch other HEAD~1
    ln -s .env link-to-env; ln -s .config link-to-config; ln -s keys/SERVER.PEM src/link`;
  const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-c", script], { cwd: project, env });
  if (exitCode !== 0) throw new Error(stderr.toString());
  writeFileSync(join(project, "evil"), `#!/bin/sh\ntouch ${project}/ran\n`);
  chmodSync(join(project, "evil"), 0o755);
}
