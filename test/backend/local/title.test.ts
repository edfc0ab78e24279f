// Titles taken from the first words.

import { expect, test } from "bun:test";
import { titleOf } from "@/backend/local/title.ts";
import { say } from "../../support/fake-model.ts";
import { user } from "../contract.ts";
import { setup } from "./setup.ts";

const LONG = "Please find out why the tests of the billing module fail on Fridays and mend them";

test.each([
  ["Fix the tests", "Fix the tests"],
  ["\n  Fix\tthe   tests \nand the docs", "Fix the tests"],
  ["<system-reminder>\nIt is Monday\n</system-reminder>\n\nhello", "hello"],
  [LONG, "Please find out why the tests of the billing module fail…"],
  ["价".repeat(100), `${"价".repeat(59)}…`],
  ["😀".repeat(50), null],
  [`a${"😀".repeat(50)}`, `a${"😀".repeat(29)}…`],
  ["```\ncode\n```", "code"],
  ["# Rules\nUse tabs", "Rules"],
  ["--verbose is broken", "--verbose is broken"],
  ["", null],
])("%j", (content, title) => {
  expect(titleOf({ role: "user", content, timestamp: 0 })).toBe(title);
});

test("text beside reminders and images", () => {
  const content = [
    { type: "text" as const, text: "<system-reminder>\nnote\n</system-reminder>" },
    { type: "image" as const, data: "", mimeType: "image/png" },
    { type: "text" as const, text: "What is this?" },
  ];
  expect(titleOf({ role: "user", content, timestamp: 0 })).toBe("What is this?");
});

test("the first words name a conversation; a given title stays", async () => {
  const { backend, model, ref, send } = await setup();
  model.add(say("hi"), say("hi"), say("hi"));
  await send(user("Fix the tests"));
  await send(user("and the docs"));
  expect((await backend.retrieveConversation(ref.conversationId)).summary).toBe("Fix the tests");
  await backend.updateConversation(ref, { summary: "Mine" });
  await send(user("more"));
  expect((await backend.retrieveConversation(ref.conversationId)).summary).toBe("Mine");
});
