// A store with a short conversation, one exchange, and a long one. The long one is the same exchange, copied in the database: sending
// ten thousand messages would take minutes.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { childEnv, type TempHome } from "../../test/support/binary.ts";
import { startModelServer } from "../../test/support/model-server.ts";
import { headless } from "../../test/support/protocols.ts";

export interface Seeded {
  shortId: string;
  longId: string;
  env: Record<string, string>;
}

export async function seedConversation(letta: string, home: TempHome, messages: number): Promise<Seeded> {
  await using server = await startModelServer(() => ({
    text: "An answer of ordinary length, as models give them. ".repeat(8),
  }));
  const { args, env } = headless(server.url, ["--output-format", "json", "A question."]);
  const ids: string[] = [];
  for (let run = 0; run < 2; run++) {
    const child = Bun.spawn([letta, ...args], { cwd: home.workdir, env: childEnv(home, env), stdout: "pipe" });
    ids.push(JSON.parse(await child.stdout.text()).conversation_id);
  }
  const [shortId, longId] = ids as [string, string];
  const db = new Database(join(home.path, ".letta/local/letta.db"));
  db.run(
    `WITH RECURSIVE copy(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < ?)
     INSERT INTO messages (id, conversation_key, kind, role, interrupted, run_id, otid, body, meta, created_at)
     SELECT 'message-' || lower(hex(randomblob(16))), conversation_key, kind, role, interrupted, NULL, NULL, body, meta,
       created_at
     FROM copy, messages WHERE conversation_key = ?`,
    [messages / 2 - 1, longId],
  );
  db.close();
  return { shortId, longId, env };
}
