// A temporary home with real settings, paths and database for command tests, and an Io that remembers what was said.

import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Core } from "@/app.ts";
import type { Io } from "@/commands/io.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import type { Secrets } from "@/store/secrets.ts";
import { openSettings } from "@/store/settings.ts";

export interface RecordedIo extends Io {
  out: string;
  err: string;
  questions: string[];
}

export interface IoOptions {
  isTty?: boolean;
  width?: number;
  /** The answer of the person; nobody is there when it is missing. */
  answer?: boolean;
}

export function recordingIo({ isTty = false, width = 80, answer }: IoOptions = {}): RecordedIo {
  const io: RecordedIo = {
    out: "",
    err: "",
    questions: [],
    isTty,
    width,
    color: false,
    closed: false,
    stdout(text) {
      io.out += text;
    },
    stderr(text) {
      io.err += text;
    },
  };
  if (answer !== undefined) {
    io.confirm = async (question) => {
      io.questions.push(question);
      return answer;
    };
  }
  return io;
}

/** A user without any keys. */
export const NO_SECRETS: Secrets = {
  location: "nowhere",
  listProviders: async () => [],
  saveProvider: async () => {},
  findKey: async () => null,
  removeProvider: async () => false,
};

export async function tempCore(vars: Record<string, string> = {}): Promise<Core> {
  const home = await realpath(await mkdtemp(join(tmpdir(), "letta-command-")));
  const cwd = join(home, "project");
  await Bun.write(join(cwd, ".git", "HEAD"), "ref: refs/heads/main\n");
  const env = readEnv({ HOME: home, PATH: process.env.PATH, ...vars });
  const paths = resolvePaths(env);
  return { env, paths, cwd, settings: await openSettings({ paths, cwd }), secrets: NO_SECRETS };
}
