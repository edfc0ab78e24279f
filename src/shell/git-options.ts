// Options between `git` and its subcommand.

const VALUED = /^(?:-[Cc]|--(?:git-dir|work-tree|namespace|super-prefix|config-env|exec-path|attr-source|list-cmds))$/;

/** The same without them: `git -C x push` is `git push` for a rule. */
export function withoutGitOptions([git = "", ...args]: readonly string[]): string[] {
  let at = 0;
  while (args[at]?.startsWith("-")) at += VALUED.test(args[at]!) && args[at] !== "--exec-path" ? 2 : 1;
  return [git, ...args.slice(at)];
}
