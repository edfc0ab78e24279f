// `letta completion bash|zsh|fish`: a script for the shell, derived from the flag table and the command definitions, so
// that it never names a flag that does not exist. The scripts are static: pressing Tab starts no process.

import type { ArgsDef } from "citty";
import { defineCommand } from "citty";
import { LettaError } from "@/lib/errors.ts";
import { shellQuote } from "@/lib/text.ts";
import { commandContext } from "./context.ts";
import { FLAGS, type FlagDef } from "./flags.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";
import { COMMANDS, loadCommand } from "./registry.ts";
import { type AnyCommand, argsOf, commandsOf, metaOf } from "./run-command.ts";

export const command = defineCommand({
  args: {
    shell: { type: "positional", required: true, description: "bash, zsh or fish" },
    ...outputArgs,
  },
  run: ({ args, data }) => runCompletion(args, commandContext(data).io),
});

export interface Option {
  /** With dashes: `--model`, `-m`. */
  spellings: string[];
  help: string;
  /** Null: it takes no value. Empty: any value. */
  values: string[] | null;
  /** The value is a path. */
  file: boolean;
}

/** One word of the command line and what may follow it. */
export interface Node {
  name: string;
  help: string;
  options: Option[];
  children: Node[];
}

const SHELLS = { bash: renderBash, zsh: renderZsh, fish: renderFish };

export async function runCompletion(args: { shell: string } & OutputArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const render = Object.hasOwn(SHELLS, args.shell) ? SHELLS[args.shell as keyof typeof SHELLS] : undefined;
      if (!render)
        throw new LettaError("usage", `no completion for "${args.shell}"`, { hint: "Shells: bash, zsh, fish." });
      return { shell: args.shell, script: render(await commandTree()) };
    },
    { text: ({ script }) => script },
  );
}

/** The whole command line as a tree; loads every command. */
async function commandTree(): Promise<Node> {
  const commands = Object.entries(COMMANDS).map(async ([name, entry]) => ({
    ...(await toNode(name, await loadCommand({ name, entry }))),
    help: entry.summary,
  }));
  return { name: "letta", help: "", options: globalOptions(), children: await Promise.all(commands) };
}

export function renderBash(root: Node): string {
  const cases = flatten(root).map(({ path, node }) => {
    const words = [...node.children.map((child) => child.name), ...node.options.flatMap((option) => option.spellings)];
    return `    ${shellQuote(path)}) words=${shellQuote(words.join(" "))} ;;`;
  });
  return `# bash completion for letta. Put it into ~/.bashrc: eval "$(letta completion bash)"
_letta() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path=letta words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$path \${COMP_WORDS[index]}" in
      ${pathPatterns(root)}) path="$path \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$path:$prev" in
${valueCases(root, (path, spelling) => shellQuote(`${path}:${spelling}`))}
  esac
  case $path in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _letta letta
`;
}

export function renderZsh(root: Node): string {
  const cases = flatten(root).map(({ path, node }) => {
    const entry = (word: string, help: string) => shellQuote(`${word.replaceAll(":", "\\:")}:${help}`);
    const words = [
      ...node.children.map((child) => entry(child.name, child.help)),
      ...node.options.flatMap((option) => option.spellings.map((spelling) => entry(spelling, option.help))),
    ];
    return `    ${shellQuote(path)}) words_here=(${words.join(" ")}) ;;`;
  });
  return `#compdef letta
# zsh completion for letta. Put it into ~/.zshrc after compinit: eval "$(letta completion zsh)"
_letta() {
  local where=letta index prev=\${words[CURRENT-1]}
  local -a words_here
  for ((index = 2; index < CURRENT; index++)); do
    case "$where \${words[index]}" in
      ${pathPatterns(root)}) where="$where \${words[index]}" ;;
    esac
  done
  case "$where:$prev" in
${zshValueCases(root)}
  esac
  case $where in
${cases.join("\n")}
  esac
  _describe letta words_here || _files
}
compdef _letta letta
`;
}

export function renderFish(root: Node): string {
  const lines = flatten(root).flatMap(({ path, node }) => {
    const here = `-n ${shellQuote(`__letta_at ${path}`)}`;
    const children = node.children.map(
      (child) => `complete -c letta ${here} -f -a ${shellQuote(child.name)} -d ${shellQuote(child.help)}`,
    );
    const options = node.options.map((option) => {
      const names = option.spellings.map((spelling) =>
        spelling.startsWith("--") ? `-l ${spelling.slice(2)}` : `-s ${spelling.slice(1)}`,
      );
      const value =
        option.values === null
          ? ""
          : option.file
            ? " -r -F"
            : ` -x${option.values.length > 0 ? ` -a ${shellQuote(option.values.join(" "))}` : ""}`;
      return `complete -c letta ${here} ${names.join(" ")}${value} -d ${shellQuote(option.help)}`;
    });
    return [...children, ...options];
  });
  const known = flatten(root).map(({ path }) => shellQuote(path));
  return `# fish completion for letta. Save it as ~/.config/fish/completions/letta.fish
function __letta_at
  set -l path letta
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" ${known.slice(1).join(" ")}
      set path "$path $word"
    end
  end
  test "$path" = "$argv"
end
${lines.join("\n")}
`;
}

async function toNode(name: string, loaded: AnyCommand): Promise<Node> {
  const [subCommands, args, meta] = [await commandsOf(loaded), await argsOf(loaded), await metaOf(loaded, name)];
  const children = [...subCommands].map(([childName, child]) => toNode(childName, child));
  return { name, help: meta.description ?? "", options: commandOptions(args), children: await Promise.all(children) };
}

function commandOptions(args: ArgsDef): Option[] {
  return Object.entries(args)
    .filter(([, def]) => def.type !== "positional")
    .map(([name, def]) => ({
      spellings: [`--${name}`, ...letters("alias" in def ? def.alias : undefined)],
      help: def.description ?? "",
      values: def.type === "boolean" || def.type === undefined ? null : def.type === "enum" ? (def.options ?? []) : [],
      file: def.valueHint === "FILE" || def.valueHint === "PATH",
    }));
}

function globalOptions(): Option[] {
  const flags = Object.entries(FLAGS) as [string, FlagDef][];
  return flags
    .filter(([, flag]) => !flag.hidden && !flag.missing)
    .map(([name, flag]) => ({
      spellings: [`--${name}`, ...letters(flag.alias)],
      help: flag.help,
      values: flag.type === "boolean" ? null : [...(flag.values ?? [])],
      file: flag.hint === "FILE" || flag.hint === "PATH",
    }));
}

function letters(alias: string | string[] | undefined): string[] {
  return [alias ?? []].flat().flatMap((name) => (name.length === 1 ? [`-${name}`] : []));
}

/** Every node with the words that lead to it, the root first. */
function flatten(node: Node, prefix = ""): { path: string; node: Node }[] {
  const path = prefix === "" ? node.name : `${prefix} ${node.name}`;
  return [{ path, node }, ...node.children.flatMap((child) => flatten(child, path))];
}

/** `"letta agents"|"letta agents list"`, or a pattern that never matches when there are no commands. */
function pathPatterns(root: Node): string {
  const paths = flatten(root)
    .slice(1)
    .map(({ path }) => shellQuote(path));
  return paths.length > 0 ? paths.join("|") : shellQuote(" ");
}

/** What follows an option that takes a value: its values, files, or nothing we could know. */
function valueOptions(root: Node): { path: string; spelling: string; option: Option }[] {
  return flatten(root).flatMap(({ path, node }) =>
    node.options.flatMap((option) =>
      option.values === null ? [] : option.spellings.map((spelling) => ({ path, spelling, option })),
    ),
  );
}

function valueCases(root: Node, pattern: (path: string, spelling: string) => string): string {
  return valueOptions(root)
    .map(({ path, spelling, option }) => {
      if (option.file) return `    ${pattern(path, spelling)}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`;
      return `    ${pattern(path, spelling)}) COMPREPLY=($(compgen -W ${shellQuote(option.values!.join(" "))} -- "$cur")); return ;;`;
    })
    .join("\n");
}

function zshValueCases(root: Node): string {
  return valueOptions(root)
    .map(({ path, spelling, option }) => {
      const action = option.file
        ? "_files"
        : option.values!.length > 0
          ? `compadd -- ${option.values!.map(shellQuote).join(" ")}`
          : "";
      return `    ${shellQuote(`${path}:${spelling}`)}) ${action ? `${action}; ` : ""}return ;;`;
    })
    .join("\n");
}
