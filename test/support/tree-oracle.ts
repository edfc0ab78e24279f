// Another parser of shell text as oracle: tree-sitter's grammar of bash. It knows nothing of ours.

import { Language, type Node, Parser } from "web-tree-sitter";

export interface TreeReading {
  /** Words of every simple command, in the order of the text. */
  commands: string[][];
  /** What stands in the text besides simple commands, lists, pipes and redirects; errors, too. */
  other: string[];
}

export async function createTreeOracle(): Promise<(text: string) => TreeReading> {
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(
    await Language.load(Bun.fileURLToPath(import.meta.resolve("tree-sitter-bash/tree-sitter-bash.wasm"))),
  );
  return (text) => {
    const tree = parser.parse(text);
    if (!tree) throw new Error("tree-sitter gave up");
    try {
      const reading: TreeReading = { commands: [], other: tree.rootNode.hasError ? ["an error"] : [] };
      addStatement(tree.rootNode, reading);
      return reading;
    } finally {
      tree.delete();
    }
  };
}

const JOINTS = new Set(["&&", "||", ";", "\n", "|"]);

function addStatement(node: Node, reading: TreeReading): void {
  switch (node.type) {
    case "program":
    case "list":
    case "pipeline":
    case "redirected_statement":
      for (const child of node.children) if (child && !JOINTS.has(child.type)) addStatement(child, reading);
      return;
    case "command":
      reading.commands.push(addWords(node, reading));
      return;
    case "test_command":
      // Its operands are expressions there and words here.
      reading.commands.push(node.text.split(/\s+/).map((word) => word.replace(/^(['"])(.*)\1$/, "$2")));
      return;
    case "file_redirect":
    case "herestring_redirect":
      // What follows the file stands there, too.
      reading.commands.at(-1)?.push(...addWords(node, reading).slice(1));
      return;
    default:
      reading.other.push(`${node.type}: ${node.text}`);
  }
}

function addWords(node: Node, reading: TreeReading): string[] {
  const words: string[] = [];
  for (const child of node.children) {
    if (!child) continue;
    if (child.type === "command_name") words.push(...addWords(child, reading));
    else if (/_redirect$/.test(child.type)) addStatement(child, reading);
    else if (child.isNamed && child.type !== "file_descriptor") words.push(argumentOf(child, reading));
    else if (!child.isNamed && node.type === "command") reading.other.push(`a token: ${child.text}`);
  }
  return words;
}

/** The argument a program gets. */
function argumentOf(node: Node, reading: TreeReading): string {
  switch (node.type) {
    case "word":
      return node.text.replace(/\\\n/g, "").replace(/\\([\s\S])/g, "$1");
    case "number":
    case "extglob_pattern":
      return node.text;
    case "raw_string":
      return node.text.slice(1, -1);
    case "string": {
      const strange = node.children.find((child) => child && !/^(?:string_content|")$/.test(child.type));
      if (strange) reading.other.push(`${strange.type}: ${strange.text}`);
      return node.text.slice(1, -1).replace(/\\([$`"\\\n])/g, (_, char: string) => (char === "\n" ? "" : char));
    }
    case "concatenation":
      return node.children.map((child) => (child ? argumentOf(child, reading) : "")).join("");
    default:
      if (node.isNamed) reading.other.push(`${node.type}: ${node.text}`);
      return node.text;
  }
}
