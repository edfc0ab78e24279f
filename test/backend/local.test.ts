import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import { openDatabase } from "@/store/db.ts";
import { describeBackend } from "./contract.ts";

describeBackend("local backend", async (model) => {
  const dir = mkdtempSync(join(tmpdir(), "letta-local-"));
  const db = openDatabase(join(dir, "letta.db"));
  const backend = createLocalBackend({ db, models: model });
  return {
    backend,
    close: async () => {
      await backend.close();
      db.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
});
