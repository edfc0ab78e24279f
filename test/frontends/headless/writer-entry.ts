// A process whose only output is the writer's: argv says how many bytes to write and in pieces of which size.

import { openWriter } from "@/frontends/headless/writer.ts";

const [total = 0, piece = 1] = process.argv.slice(2).map(Number);
const writer = openWriter(1);
for (let sent = 0; sent < total; sent += piece) await writer.write("x".repeat(Math.min(piece, total - sent)));
await writer.drain();
console.error(
  JSON.stringify({
    closed: writer.closed.aborted,
    failure: writer.failure?.message ?? null,
    rssMb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
  }),
);
