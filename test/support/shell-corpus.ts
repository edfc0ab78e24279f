// The corpus of shell commands (test/fixtures/shell) and the project its verdicts are about.

import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { PermissionWorld, WorldFiles } from "./permission-world.ts";

export interface CorpusLine {
  expected: string;
  command: string;
  why: string;
  rules: { effect: "allow" | "deny" | "ask" | "alwaysAsk"; rule: string }[];
}

const FIXTURES = join(import.meta.dir, "../fixtures/shell");

export function readCorpus(): CorpusLine[] {
  return readLines("corpus.txt").map((line) => {
    const [expected = "", command = "", why = "", rules = ""] = line.split(" ¦ ");
    const parsed = rules.split("; ").filter(Boolean);
    return {
      expected: expected.trim(),
      command: decode(command),
      why,
      rules: parsed.map((text) => {
        const [effect, rule] = [text.slice(0, text.indexOf(" ")), text.slice(text.indexOf(" ") + 1)];
        return { effect: effect as CorpusLine["rules"][number]["effect"], rule };
      }),
    };
  });
}

/** Commands of every day: what passes stands alone, what asks says why. */
export function readEveryday(): Pick<CorpusLine, "expected" | "command" | "why">[] {
  return readLines("everyday.txt").map((line) => {
    const [expected = "", command, why = ""] = line.split(" ¦ ");
    return command === undefined ? { expected: "allow", command: line, why: "harmless" } : { expected, command, why };
  });
}

function readLines(name: string): string[] {
  const text = readFileSync(join(FIXTURES, name), "utf8");
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

function decode(command: string): string {
  return command
    .replaceAll("␤", "\n")
    .replaceAll("␍", "\r")
    .replaceAll("␀", "\u0000")
    .replace(/⟨([0-9a-f]+)⟩/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Files of the project; `furnish` adds what is no file. */
export const CORPUS_FILES: WorldFiles["files"] = {
  "project/a.txt": "foo\nbar\n",
  "project/b.txt": "b\n",
  "project/a.json": '{"a":[]}\n',
  "project/package.json": '{"name":"x","version":"1.0.0","scripts":{"t":"true"}}\n',
  "project/README.md": "# x\n",
  "project/.env": "KEY=1\n",
  "project/keys/id_ed25519": "k\n",
  "project/keys/server.pem": "k\n",
  "project/odd/-o": "",
  "project/odd/f": "",
  "project/src/main.ts": "import foo from 'x';\nexport function needle() {}\n// TODO error\n",
  "project/src/app.ts": "y\n",
  "project/test/a": "foo\n",
  "project/docs/a": "foo\n",
  "project/bare/HEAD": "ref: refs/heads/main\n",
  "project/bare/objects/x": "",
  "project/bare/refs/x": "",
  "project/bare/config": "[core]\n\tfsmonitor = ./evil\n",
  "project-secret/a": "s\n",
  "project-evil/x": "s\n",
  "outside/a": "o\n",
  "home/.letta/agents/x": "",
};

export function furnish({ root, project }: PermissionWorld): void {
  mkdirSync(join(project, "links"), { recursive: true });
  symlinkSync(join(root, "outside"), join(project, "out"));
  symlinkSync(".env", join(project, "link-to-env"));
}

export function placeNames(command: string, { project, home }: PermissionWorld): string {
  return command.replaceAll("PROJECT", project).replaceAll(/\bHOME(?=\/)/g, home);
}
