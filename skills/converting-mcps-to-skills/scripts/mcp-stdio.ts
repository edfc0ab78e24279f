// Uses the tools of an MCP server that is a program on this machine: starts it, asks, ends it.

import { expand, readAction, readCommandLine, readTimeout, runProgram } from "./command-line.ts";
import { type Action, answerServer, Failure, type Message, perform, record, type Transport } from "./session.ts";

const HELP = `
Use the tools of an MCP server that is a program (stdio).

  mcp-stdio.ts tools [options] -- COMMAND ARGS...             names and what they do
  mcp-stdio.ts tool NAME [options] -- COMMAND ARGS...         one tool with its parameters
  mcp-stdio.ts call NAME [JSON|@FILE|-] [options] -- COMMAND ARGS...

Options:
  --env NAME=VALUE  For the server; may be repeated. $NAME in the value is read from the environment
  --cwd DIR         Where the server runs
  --timeout TIME    For each answer, like 90s or 2m (default 60s)
  --json            The server's whole answer
  --out DIR         Write images and sounds there

Exit codes: 0 done, 1 the server or the tool failed, 2 wrong usage
`;

const OPTIONS = { env: "list", cwd: "string", timeout: "string", json: "flag", out: "string" } as const;
/** What a program needs to run at all. Everything else of ours is none of a server's business. */
const PASSED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TMPDIR|TEMP|TMP|SYSTEMROOT|APPDATA|LOCALAPPDATA|\w+_proxy)$/i;
const STDERR_TAIL = 2000;

await runProgram(HELP, async (argv) => {
  const split = argv.indexOf("--");
  const command = split === -1 ? [] : argv.slice(split + 1);
  const line = readCommandLine(split === -1 ? argv : argv.slice(0, split), OPTIONS);
  const action: Action = readAction(line.words);
  if (command.length === 0) throw new Failure("the server's command is missing: put it after --", 2);
  const env = serverEnv(line.list("env"));
  const server = startServer({ command, env, cwd: line.text("cwd"), timeoutMs: readTimeout(line.text("timeout")) });
  return perform(server, action, { json: line.flag("json"), out: line.text("out") });
});

function serverEnv(given: string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env))
    if (value !== undefined && PASSED.test(name)) env[name] = value;
  for (const pair of given) {
    const equals = pair.indexOf("=");
    if (equals < 1) throw new Failure(`--env must be NAME=VALUE, not "${pair}"`, 2);
    env[pair.slice(0, equals)] = expand(pair.slice(equals + 1));
  }
  return env;
}

interface ServerCommand {
  command: string[];
  env: Record<string, string>;
  cwd: string | undefined;
  timeoutMs: number;
}

function startServer({ command, env, cwd, timeoutMs }: ServerCommand): Transport {
  let child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  try {
    child = Bun.spawn(command, { env, cwd, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  } catch (error) {
    throw new Failure(`${command[0]} cannot be started: ${(error as Error).message}`);
  }
  const waiting = new Map<unknown, (message: Message) => void>();
  let ended: Failure | undefined;
  let rejectAll: (reason: Failure) => void = () => {};
  const end = new Promise<never>((_, reject) => (rejectAll = reject));
  end.catch(() => {
    /* whoever waits hears of it */
  });
  const write = (message: Message): void => {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    child.stdin.flush();
  };
  const diagnosis = keepTail(child.stderr);
  void (async () => {
    for await (const message of messages(child.stdout)) {
      const reply = answerServer(message);
      if (reply) write(reply);
      else waiting.get(message.id)?.(message);
    }
    const code = await child.exited;
    ended = new Failure(`the server ended (exit code ${code})${indent(await diagnosis)}`);
    rejectAll(ended);
  })();

  return {
    async send(message) {
      if (ended) throw ended;
      const { promise, resolve, reject } = Promise.withResolvers<Message>();
      if (message.id !== undefined) waiting.set(message.id, resolve);
      write(message);
      if (message.id === undefined) return undefined;
      const timer = setTimeout(
        () => reject(new Failure(`no answer to ${message.method} in time; --timeout allows more`)),
        timeoutMs,
      );
      try {
        return await Promise.race([promise, end]);
      } finally {
        clearTimeout(timer);
        waiting.delete(message.id);
      }
    },
    /** As the protocol wants it: no more input, then a signal, then an end. */
    async close() {
      await Promise.resolve(child.stdin.end()).catch(() => {
        /* it is gone already */
      });
      for (const signal of [null, "SIGTERM", "SIGKILL"] as const) {
        if (signal !== null) child.kill(signal);
        const timer = Promise.withResolvers<"late">();
        const handle = setTimeout(() => timer.resolve("late"), 2000);
        const outcome = await Promise.race([child.exited, timer.promise]);
        clearTimeout(handle);
        if (outcome !== "late") return;
      }
    },
  };
}

/** Lines that are no messages are a server's chatter. */
async function* messages(stream: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      try {
        const value: unknown = JSON.parse(line);
        for (const message of Array.isArray(value) ? value : [value])
          if (record(message).jsonrpc === "2.0") yield message as Message;
      } catch {
        /* chatter */
      }
    }
  }
}

async function keepTail(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let tail = "";
  for await (const chunk of stream) tail = (tail + decoder.decode(chunk, { stream: true })).slice(-STDERR_TAIL);
  return tail.trim();
}

function indent(text: string): string {
  return text === "" ? "" : `\n${text.replace(/^/gm, "  ")}`;
}
