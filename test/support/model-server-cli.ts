// `bun test/support/model-server-cli.ts script.json [options.json]`: a scripted model server for checks from the shell.
// Prints its URL on the first line of stdout, then one JSON line per model call; ends on a signal, at the latest
// after ten minutes. The script is a JSON array of replies (see `ScriptedReply`); `-` for none.

import { startModelServer } from "./model-server.ts";

const [scriptFile = "-", optionsFile] = process.argv.slice(2);
const replies = scriptFile === "-" ? [] : await Bun.file(scriptFile).json();
const options = optionsFile === undefined ? {} : await Bun.file(optionsFile).json();

await using server = await startModelServer((request, index) => {
  console.log(JSON.stringify({ index, path: request.path, headers: request.headers, body: request.body }));
  return replies[index] ?? { text: "(script ended)" };
}, options);
console.log(server.url);
await new Promise<void>((resolve) => {
  process.once("SIGTERM", resolve).once("SIGINT", resolve);
  setTimeout(resolve, 600_000);
});
