import { expect, test } from "bun:test";
import { type Node, renderBash, renderFish, renderZsh, runCompletion } from "@/commands/completion.ts";
import { recordingIo } from "./support.ts";

const flag = (spelling: string, help: string) => ({ spellings: [spelling], help, values: null, file: false });

const TREE: Node = {
  name: "letta",
  help: "",
  options: [
    flag("--help", "Show it's text"),
    { spellings: ["--model", "-m"], help: "Model", values: [], file: false },
    { spellings: ["--output-format"], help: "Format", values: ["text", "json"], file: false },
  ],
  children: [
    {
      name: "agents",
      help: "Agents: all of them",
      options: [],
      children: [
        { name: "list", help: "List", options: [flag("--json", "Envelope")], children: [] },
        { name: "delete", help: "Delete", options: [flag("--yes", "Do not ask")], children: [] },
      ],
    },
  ],
};

/** What bash offers with the cursor after the last word. */
async function complete(words: string[], script = renderBash(TREE)): Promise<string[]> {
  const array = words.map((word) => `'${word}'`).join(" ");
  const call = `COMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _letta; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const child = Bun.spawn(["bash", "--norc", "-c", `${script}\n${call}`], { stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect(err).toBe("");
  return out.split("\n").filter(Boolean);
}

test.each([
  [["letta", "ag"], ["agents"]],
  [
    ["letta", "--"],
    ["--help", "--model", "--output-format"],
  ],
  [
    ["letta", "agents", ""],
    ["list", "delete"],
  ],
  [["letta", "agents", "list", ""], ["--json"]],
  [["letta", "agents", "delete", "-"], ["--yes"]],
  [
    ["letta", "--output-format", ""],
    ["text", "json"],
  ],
  [["letta", "-m", "x", "ag"], ["agents"]],
  [["letta", "--model", ""], []],
] as const)("bash: %j offers %j", async (words, offered) => {
  expect(await complete([...words])).toEqual([...offered]);
});

test("zsh describes words, with colons and quotes escaped", () => {
  const script = renderZsh(TREE);
  expect(script).toContain("'agents:Agents: all of them'");
  expect(script).toContain("'--help:Show it'\\''s text'");
  expect(script).toContain("'letta:--output-format') compadd -- 'text' 'json'; return ;;");
});

test("fish conditions every word on where it stands", () => {
  const script = renderFish(TREE);
  expect(script).toContain("complete -c letta -n '__letta_at letta agents' -f -a 'list' -d 'List'");
  expect(script).toContain("complete -c letta -n '__letta_at letta' -l model -s m -x -d 'Model'");
});

test.each(["bash", "zsh", "fish"])("the real %s script names commands and flags that exist", async (shell) => {
  const io = recordingIo();
  expect(await runCompletion({ shell }, io)).toBe(0);
  for (const word of ["agents", "permission-mode", "rename"]) expect(io.out).toContain(word);
});

test("bash accepts the real script", async () => {
  const io = recordingIo();
  await runCompletion({ shell: "bash" }, io);
  expect(await complete(["letta", "agents", "ren"], io.out)).toEqual(["rename"]);
});
