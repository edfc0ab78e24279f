// Texts of skills in a conversation: they stay whole while anything else can be made shorter, and are nobody's words.

import { expect, test } from "bun:test";
import type { ContentPart } from "@/backend/wire.ts";
import { FakeModel, say } from "../../support/fake-model.ts";
import { user } from "../contract.ts";
import { type Setup, setup } from "./setup.ts";

const small = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };
const words = (tokens: number): string => "word".repeat(tokens);
const skill = (name: string, tokens: number): ContentPart => ({
  type: "text",
  text: `<${name}>\n${"rule".repeat(tokens)}\n</${name}>`,
  keep: true,
});
const withSkill = (part: ContentPart, text?: string) => ({
  ...user(""),
  content: [part, ...(text ? [{ type: "text" as const, text }] : [])],
});

/** Window of 10,000 tokens: compaction above 8,000. */
const tight = (): Promise<Setup> => setup({}, new FakeModel([], { max_context_window: 10_000 }));

async function talk({ model, send }: Setup, turns: number, tokens = 700): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    model.add(say(`answer ${turn} ${words(tokens)}`, small));
    await send(user(`question ${turn} ${words(tokens)}`));
  }
}

const firstTexts = ({ model }: Setup): string[] => {
  const content = model.requests.at(-1)?.messages[0]?.content;
  return typeof content === "string"
    ? [content]
    : (content ?? []).map((part) => (part.type === "text" ? part.text : part.type));
};

test("a text from before the cut goes whole behind the summary, again and again, and into no summary", async () => {
  const s = await tight();
  s.model.add(say("loaded", small));
  await s.send(withSkill(skill("deploy", 900), "ship it"));
  for (let round = 1; round <= 2; round++) {
    await talk(s, 3);
    s.model.add(say(`SUMMARY ${round}`, small), say("fine", small));
    await s.backend.compactConversation(s.ref);
    await s.send(user("next"));
    const [alert, skills] = firstTexts(s);
    expect(JSON.parse(alert!).message).toEndWith(`SUMMARY ${round}`);
    expect(skills).toBe(
      `Skills loaded earlier in this conversation, word for word:\n\n<deploy>\n${"rule".repeat(900)}\n</deploy>`,
    );
    expect(JSON.stringify(s.model.requests.at(-2)?.messages)).not.toContain("rulerule");
    expect(JSON.stringify(s.model.requests.at(-2)?.messages)).toContain(round === 1 ? "ship it" : "SUMMARY 1");
  }
});

test("of the same skill the newer text counts; what has no room is named", async () => {
  const s = await tight();
  s.model.add(say("1", small), say("2", small), say("3", small));
  await s.send(withSkill(skill("big", 2_600)));
  await s.send(withSkill(skill("deploy", 300)));
  await s.send(withSkill(skill("deploy", 400)));
  await talk(s, 4);
  s.model.add(say("SUMMARY", small), say("fine", small));
  await s.send(user("next"));
  expect(firstTexts(s)[1]).toBe(
    [
      "Skills loaded earlier in this conversation, word for word:",
      `<deploy>\n${"rule".repeat(400)}\n</deploy>`,
      "No longer here, to be loaded again when needed: <big>",
    ].join("\n\n"),
  );
});

test("a text that takes much of the window is clipped last", async () => {
  const s = await tight();
  await talk(s, 1, 3_000);
  s.model.add(say("SUMMARY", small), say("fine", small));
  await s.send(withSkill(skill("deploy", 4_000), words(2_000)));
  const seen = JSON.stringify(s.model.requests.at(-1)?.messages);
  expect(seen).toContain(`<deploy>\\n${"rule".repeat(4_000)}\\n</deploy>`);
});

test("people, titles and searches see what was said, not what was loaded", async () => {
  const s = await setup();
  s.model.add(say("done", small));
  await s.send(withSkill(skill("deploy", 10), "ship the blue one"));
  const { items } = await s.backend.listMessages(s.ref, { order: "asc" });
  expect(items[0]).toMatchObject({
    message_type: "user_message",
    content: [
      { type: "text", keep: true },
      { type: "text", text: "ship the blue one" },
    ],
  });
  expect((await s.backend.retrieveConversation(s.ref.conversationId, s.ref.agentId)).summary).toBe("ship the blue one");
  expect(await s.backend.searchMessages({ query: "rulerule" })).toEqual([]);
  expect(await s.backend.searchMessages({ query: "blue" })).toHaveLength(1);
});
