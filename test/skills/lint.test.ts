import { expect, test } from "bun:test";
import { collectFiles } from "@/skills/install/skill-files.ts";
import { lintSkill } from "@/skills/lint.ts";

const HEAD = "---\nname: kit\ndescription: Does it.\n---\n";

async function lint(files: Record<string, string | Uint8Array>, name = "kit"): Promise<string[]> {
  const entries = Object.entries(files).map(([path, data]) => {
    const content = Buffer.from(data as Uint8Array);
    return { path, kind: "file" as const, size: content.length, executable: false, read: () => content };
  });
  return lintSkill(await collectFiles(entries), { name, place: "kit" }).map(
    ({ file, line, problem, level }) => `${level} ${file}${line === null ? "" : `:${line}`} ${problem}`,
  );
}

test.each([
  [{ "SKILL.md": `${HEAD}Go.\n` }],
  [{ "SKILL.md": `\ufeff${HEAD}Go.\n`.replaceAll("\n", "\r\n") }],
  [{ "SKILL.md": `${HEAD}[more](references/a.md#top) <SKILL_DIR>/scripts\n`, "references/a.md": "", "scripts/x": "" }],
])("nothing is wrong with %j", async (files) => expect(await lint(files)).toEqual([]));

test.each<[Record<string, string | Uint8Array>, string[]]>([
  [{ "README.md": "x" }, ["error kit there is no SKILL.md"]],
  [{ "SKILL.md": Buffer.from("\xe4", "latin1") }, ["error kit/SKILL.md it is no UTF-8 text"]],
  [{ "SKILL.md": HEAD }, ["error kit/SKILL.md it says nothing below its head"]],
  [
    { "SKILL.md": "---\ndescription: Does it.\n---\nGo.\n" },
    ["error kit/SKILL.md:1 there is no name (it should be kit)"],
  ],
  [{ "SKILL.md": `${HEAD.replace("kit", "other")}Go.\n` }, ["error kit/SKILL.md:2 name should be the folder's: kit"]],
  [
    { "SKILL.md": `${HEAD}\n<SKILL_DIR>/scripts/a.sh and [b](./assets/b.png)\n` },
    ["warning kit/SKILL.md:6 there is no assets/b.png", "warning kit/SKILL.md:6 there is no scripts/a.sh"],
  ],
  [
    { "SKILL.md": `${HEAD}${"line\n".repeat(600)}` },
    ["warning kit/SKILL.md it is long (601 lines): move details to files beside it"],
  ],
  [{ "skill.md": `${HEAD}Go.\n` }, ["warning kit/skill.md other programs want it to be called SKILL.md"]],
  [
    { "SKILL.md": `${HEAD}Go.\n`, "aux.md": "x" },
    ["error kit This skill cannot be installed: aux.md: the name is a device on some systems"],
  ],
])("%#: what is wrong, where, and how much", async (files, expected) => expect(await lint(files)).toEqual(expected));
