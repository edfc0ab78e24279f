import { expect, test } from "bun:test";
import { runAgentsDelete } from "@/commands/agents.ts";
import { runSecretList, runSecretSet, runSecretUnset } from "@/commands/secret.ts";
import { recordingIo, tempApp } from "./support.ts";

async function appWithAgent() {
  const app = await tempApp();
  const agent = await app.backend.createAgent({ name: "Ada", model: "scripted/x" });
  return { app, agent };
}

test("set from standard input or a hidden question, list, unset; values are never printed", async () => {
  const { app, agent } = await appWithAgent();
  const io = Object.assign(recordingIo(), { readStdin: async () => "value one\n" });
  expect(await runSecretSet(app, { name: "ONE" }, io)).toBe(0);
  const asking = Object.assign(io, { askSecret: async () => "value two" });
  expect(await runSecretSet(app, { name: "TWO", agent: agent.id }, asking)).toBe(0);
  expect(await app.agentSecrets.find(agent.id, "ONE")).toBe("value one");
  expect(await app.agentSecrets.find(agent.id, "TWO")).toBe("value two");
  expect(io.out + io.err).not.toMatch(/value (one|two)/);
  const listed = recordingIo();
  await runSecretList(app, {}, listed);
  expect(listed.out).toBe("ONE\nTWO\n");
  expect(await runSecretUnset(app, { name: "ONE" }, listed)).toBe(0);
  await expect(runSecretUnset(app, { name: "ONE" }, listed)).rejects.toMatchObject({ code: "not_found" });
  expect(app.agentSecrets.names(agent.id)).toEqual(["TWO"]);
});

test("an agent's secrets go with it", async () => {
  const { app, agent } = await appWithAgent();
  await app.agentSecrets.set(agent.id, "ONE", "value one");
  await app.agentSecrets.set("agent-other", "ONE", "value two");
  expect(await runAgentsDelete(app, { id: agent.id, yes: true }, recordingIo())).toBe(0);
  expect((await app.agentSecrets.list()).map(({ value }) => value)).toEqual(["value two"]);
});
