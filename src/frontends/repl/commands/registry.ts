// All slash commands. Help, completion and the "did you mean" come from this list.

import { findNearest } from "@/lib/nearest.ts";
import { agents } from "./agents.ts";
import { cd } from "./cd.ts";
import { clear } from "./clear.ts";
import type { ReplCommand } from "./command.ts";
import { compact } from "./compact.ts";
import { connect } from "./connect.ts";
import { context } from "./context.ts";
import { dreams } from "./dreams.ts";
import { exit } from "./exit.ts";
import { fork } from "./fork.ts";
import { help } from "./help.ts";
import { hooks } from "./hooks.ts";
import { memfs } from "./memfs.ts";
import { memory, palace } from "./memory.ts";
import { doctor, init, remember } from "./memory-prompts.ts";
import { memoryRepository } from "./memory-repository.ts";
import { mode } from "./mode.ts";
import { model } from "./model.ts";
import { newConversation } from "./new.ts";
import { permissions } from "./permissions.ts";
import { personality } from "./personality.ts";
import { pin, unpin } from "./pin.ts";
import { queue } from "./queue.ts";
import { recompile } from "./recompile.ts";
import { reflect } from "./reflect.ts";
import { rename } from "./rename.ts";
import { resume } from "./resume.ts";
import { search } from "./search.ts";
import { secret } from "./secret.ts";
import { sleeptime } from "./sleeptime.ts";
import { steer } from "./steer.ts";
import { toolset } from "./toolset.ts";
import { undo } from "./undo.ts";
import { usage } from "./usage.ts";

export const COMMANDS: readonly ReplCommand[] = [
  help,
  newConversation,
  clear,
  resume,
  fork,
  agents,
  rename,
  personality,
  memory,
  palace,
  init,
  remember,
  doctor,
  memfs,
  memoryRepository,
  recompile,
  pin,
  unpin,
  model,
  toolset,
  connect,
  context,
  compact,
  usage,
  search,
  reflect,
  sleeptime,
  dreams,
  permissions,
  mode,
  hooks,
  secret,
  queue,
  steer,
  undo,
  cd,
  exit,
];

/** By whole name or alias. */
export function findCommand(name: string): ReplCommand | undefined {
  const wanted = name.toLowerCase();
  return COMMANDS.find((command) => command.name === wanted || command.aliases?.includes(wanted));
}

export function nearestCommand(name: string): string | undefined {
  return findNearest(
    name,
    COMMANDS.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
  );
}
