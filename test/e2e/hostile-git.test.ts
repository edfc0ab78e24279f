// Repositories that make git run their programs when git looks for them itself, or reads more of them than we do. Each
// is built with real git, and proven to be dangerous by running git in it.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TempDir, type TempHome, tempDir, tempHome } from "../support/binary.ts";
import { callTools } from "../support/protocols.ts";

/** In `$REPO`, with `$EVIL` a program that leaves a mark. */
const PRELUDE = `set -e
repo() { mkdir -p "$1"; (cd "$1"; git init -q .; echo hi >a.txt; git add a.txt; git commit -qm x); }
evil() { git config -f "$1/config" filter.x.clean "$EVIL"; }
filtered() { echo '* filter=x' >.gitattributes; echo hI >a.txt; }
cd "$REPO"
`;

interface Attack {
  build: string;
  command: string;
  /** Settings of the user. */
  user?: string;
}

const ATTACKS: Record<string, Attack> = {
  "a .git file that ends in a blank": {
    build: `repo .; mv .git gd; cp -r gd 'gd '; printf 'gitdir: gd \\n' >.git; evil 'gd '; filtered`,
    command: "git status",
  },
  "a .git file that climbs out of a link": {
    build: `repo .; mkdir -p evil/x; cp -r .git evil/gd; evil evil/gd; mv .git gd; ln -s evil/x link
      printf 'gitdir: link/../gd\\n' >.git; filtered`,
    command: "git status",
  },
  "commondir is a link": {
    build: `repo .; cp -r .git other; evil other; echo ../other >cd.txt; ln -s ../cd.txt .git/commondir; filtered`,
    command: "git status",
  },
  "commondir is padded": {
    build: `repo .; cp -r .git other; evil other; filtered
      (echo ../other; head -c 1100000 /dev/zero | tr '\\0' '\\n') >.git/commondir`,
    command: "git status",
  },
  "commondir ends in a blank": {
    build: `repo .; cp -r .git other; cp -r .git 'other '; evil 'other '; printf '../other \\n' >.git/commondir; filtered`,
    command: "git status",
  },
  "commondir climbs out of a link": {
    build: `repo .; mkdir -p evil/x; cp -r .git evil/cg; evil evil/cg; cp -r .git cg; ln -s evil/x link
      echo ../link/../cg >.git/commondir; filtered`,
    command: "git status",
  },
  "a link into a repository inside": {
    build: `repo .; repo evil; mkdir evil/x; evil evil/.git; (cd evil; filtered); ln -s evil/x link`,
    command: "git -C link status",
  },
  "a summary of submodules": {
    build: `git init -q .; git init -q sub; cd sub; echo s >s; git add s; git commit -qm one
      printf '#!/bin/sh\\ncat >/dev/null; echo "[GNUPG:] SIG_CREATED " >&2; printf -- "-----BEGIN PGP SIGNATURE-----\\\\nx\\\\n-----END PGP SIGNATURE-----\\\\n"\\n' >../sign; chmod +x ../sign
      git -c gpg.program="$REPO/sign" commit -q -S --allow-empty -m signed; commit=$(git rev-parse HEAD)
      git config log.showSignature true; git config gpg.program "$EVIL"; cd ..
      git update-index --add --cacheinfo 160000,$commit,sub; git commit -qm withsub; git rm -q --cached sub
      git update-index --add --cacheinfo 100644,$(echo x | git hash-object -w --stdin),sub
      git config status.submoduleSummary true`,
    command: "git status",
  },
  "the user's long form of submodules": {
    build: `git init -q .; git init -q sub; cd sub; for n in 1 2; do echo $n >s; git add s; git commit -qm $n; done
      old=$(git rev-parse HEAD~1); new=$(git rev-parse HEAD); git config diff.external "$EVIL"; cd ..
      for c in $old $new; do git update-index --add --cacheinfo 160000,$c,sub; git commit -qm $c; done
      git rm -q --cached sub; git commit -qm gone; printf '[submodule "sub"]\\n\\tpath = sub\\n\\turl = x\\n' >.gitmodules`,
    user: "[diff]\n\tsubmodule = diff\n",
    command: "git log -p",
  },
  "a folder of the index that hides a submodule": {
    build: `git init -q .; git init -q d/sub; cd d/sub; echo 1 >f; git add f; git commit -qm s; commit=$(git rev-parse HEAD)
      git config filter.x.clean "$EVIL"; echo '* filter=x' >.gitattributes; echo 2 >f; cd ../..
      git update-index --add --cacheinfo 160000,$commit,d/sub; echo a >a.txt; git add a.txt; git commit -qm x
      git config core.sparseCheckout true; git config core.sparseCheckoutCone true; mkdir -p .git/info
      printf '/*\\n!/*/\\n' >.git/info/sparse-checkout
      git config index.sparse true; git -c submodule.recurse=false read-tree HEAD`,
    command: "git status",
  },
};

/** `d/` as one entry, which git itself does not write where there is a submodule in it. */
function collapse(repo: string, tree: string): void {
  const name = Buffer.from("d/");
  const entry = Buffer.alloc(72);
  entry.writeUInt32BE(0o040000, 24);
  Buffer.from(tree, "hex").copy(entry, 40);
  entry.writeUInt16BE(0x4000 | name.length, 60);
  entry.writeUInt16BE(0x4000, 62);
  name.copy(entry, 64);
  const head = Buffer.from("DIRC\0\0\0\u0003\0\0\0\u0001", "latin1");
  const body = Buffer.concat([head, entry, Buffer.from("sdir\0\0\0\0", "latin1")]);
  const sum = new Bun.CryptoHasher("sha1").update(body).digest();
  writeFileSync(join(repo, ".git/index"), Buffer.concat([body, sum]));
}

interface Trap extends Disposable {
  repo: string;
  home: TempHome;
  /** Forgets what happened before. */
  arm(): void;
  sprung(): boolean;
  plainGit(command: string): void;
}

function setTrap({ build, user = "" }: Attack): Trap {
  const folder: TempDir = tempDir("letta-trap-");
  const repo = tempDir("letta-trap-repo-");
  const home = tempHome();
  const [program, mark] = [join(folder.path, "evil"), join(folder.path, "mark")];
  writeFileSync(program, `#!/bin/sh\necho >>'${mark}'\ncat\n`);
  chmodSync(program, 0o755);
  writeFileSync(join(home.path, ".gitconfig"), user);
  const author = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@example.com" };
  const env = {
    ...{ ...author, GIT_COMMITTER_NAME: "A", GIT_COMMITTER_EMAIL: "a@example.com" },
    ...{ PATH: process.env.PATH, HOME: home.path, REPO: repo.path, EVIL: program, GIT_CONFIG_NOSYSTEM: "1" },
  };
  const run = (script: string) =>
    Bun.spawnSync(["bash", "-c", script], { cwd: repo.path, env, stdin: "ignore", stderr: "pipe" });
  const built = run(PRELUDE + build);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  if (build.includes("index.sparse")) collapse(repo.path, run("git rev-parse HEAD:d").stdout.toString().trim());
  return {
    repo: repo.path,
    home,
    // Otherwise git sees in the index that nothing has changed, and does not look.
    arm: () => {
      run("find . -name a.txt -not -path './.git/*' -exec touch {} +");
      rmSync(mark, { force: true });
    },
    sprung: () => existsSync(mark),
    plainGit: (command) => void run(command),
    [Symbol.dispose]: () => {
      for (const made of [folder, repo, home]) made[Symbol.dispose]();
    },
  };
}

describe("nothing of a hostile repository runs without a question", () => {
  test.each(Object.entries(ATTACKS))("%s", async (_, attack) => {
    using trap = setTrap(attack);
    const { command } = attack;
    const args = ["--permission-mode", "standard", "--sandbox", "off"];
    trap.arm();
    // Starting alone tells the model about the repository.
    const { results, exitCode } = await callTools([{ id: "a", name: "Bash", args: { command } }], {
      args,
      home: trap.home,
      cwd: trap.repo,
    });
    expect([exitCode, results.length, trap.sprung()]).toEqual([0, 1, false]);
    trap.arm();
    trap.plainGit(command);
    expect(trap.sprung()).toBe(true);
  });
});

test("an ordinary repository, its subfolders and its linked worktrees look as they do to git", async () => {
  using trap = setTrap({
    build: `repo .; mkdir -p src/deep; echo 1 >src/b.txt; git add .; git commit -qm two; echo 2 >src/b.txt; echo 3 >src/deep/new
      git worktree add -q tree; echo 4 >tree/a.txt`,
    command: "",
  });
  const commands = [
    ...["status --short", "status", "diff", "log --oneline", "log --stat", "ls-files", "ls-files -o", "branch -a"],
    ...["rev-parse --show-toplevel", "rev-parse --show-prefix", "rev-parse HEAD", "worktree list"],
    ...["show --stat", "diff -- .", "log --oneline -- .", "show HEAD:./b.txt", "config user.name"],
  ];
  for (const folder of [".", "src", "src/deep", "tree", "tree/src"]) {
    const cwd = join(trap.repo, folder);
    const run = (args: string) => Bun.spawnSync(["bash", "-c", `git ${args}`], { cwd, env: plainEnv(trap.home) });
    const expected = commands.map((args) => {
      const { stdout, stderr } = run(args);
      return [args, (stdout.toString() + stderr.toString()).trimEnd()];
    });
    const calls = commands.map((args, at) => ({ id: `c${at}`, name: "Bash", args: { command: `git ${args}` } }));
    const { results } = await callTools(calls, {
      args: ["--permission-mode", "standard", "--sandbox", "off"],
      home: trap.home,
      cwd,
    });
    const shown = results.map((text, at) => [
      commands[at],
      text.replace(/^Exit code: \d+\n?/, "").replace("(Command completed with no output)", ""),
    ]);
    expect([folder, shown]).toEqual([folder, expected]);
  }
  expect(readFileSync(join(trap.repo, "a.txt"), "utf8")).toBe("hi\n");
});

function plainEnv(home: TempHome): Record<string, string | undefined> {
  return { PATH: process.env.PATH, HOME: home.path, GIT_PAGER: "cat" };
}
