// Shows a file to the person in whatever their desktop opens it with.

import { withoutBunSwitches } from "./self.ts";

/** Why nothing would be seen by whoever sits there; null when it can be tried. */
export function whyNotShown(vars: Readonly<Record<string, string | undefined>>): string | null {
  if (vars.SSH_CONNECTION || vars.SSH_TTY || vars.SSH_CLIENT) return "over ssh";
  if (vars.TMUX) return "in tmux";
  const hasDesktop = process.platform !== "linux" || Boolean(vars.DISPLAY || vars.WAYLAND_DISPLAY);
  return hasDesktop ? null : "without a desktop";
}

/** False when there is nothing to open it with. The program goes on by itself. */
export function openFile(path: string, vars: Readonly<Record<string, string | undefined>>): boolean {
  const argv =
    process.platform === "darwin"
      ? ["open", path]
      : process.platform === "win32"
        ? ["explorer.exe", path]
        : ["xdg-open", path];
  try {
    const env = withoutBunSwitches(vars);
    Bun.spawn(argv, { env, stdin: "ignore", stdout: "ignore", stderr: "ignore", detached: true }).unref();
    return true;
  } catch {
    return false; // No such program.
  }
}
