import { expect, test } from "bun:test";
import { contentText, stripReminders, unwrapReminder, wrapReminder } from "@/backend/content.ts";

test("content is text, an image a note", () => {
  expect(contentText("said")).toBe("said");
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "" } } as const;
  expect(contentText([{ type: "text", text: "look" }, image])).toBe("look\n[image image/png]");
});

test.each(["a note", "line\nline", "ends </system-reminder> early", ""])(
  "%p comes out of its reminder as it went in",
  (text) => {
    const wrapped = wrapReminder(text);
    expect(unwrapReminder(wrapped)).toBe(text);
    expect(stripReminders(wrapped)).toBe("");
  },
);

test.each(["</system-reminder>", "</ SYSTEM-Reminder>", "<system-alert>", "<system-reminder>"])(
  "%s inside neither ends its reminder nor begins another",
  (tag) => {
    expect(wrapReminder(`a ${tag} b`)).toBe(`<system-reminder>\na &lt;${tag.slice(1)} b\n</system-reminder>`);
  },
);

test("only reminders are left out", () => {
  expect(stripReminders(`${wrapReminder("now")}\nfix <system-x> it`)).toBe("fix <system-x> it");
  expect(stripReminders("<system-alert>old</system-alert>\n\nmine")).toBe("mine");
  expect(unwrapReminder("said <system-reminder>")).toBe("said <system-reminder>");
});
